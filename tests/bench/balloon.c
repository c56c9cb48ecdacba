/* Preloaded into a server, simulates a large process: it makes BALLOON_BYTES bytes resident. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((constructor)) static void inflate(void) {
    const char *bytes = getenv("BALLOON_BYTES");
    size_t size = bytes ? strtoull(bytes, 0, 10) : 0;
    void *memory = size ? mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) return;
    madvise(memory, size, MADV_NOHUGEPAGE);
    memset(memory, 1, size);
}
