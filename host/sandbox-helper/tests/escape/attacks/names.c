/* Creates names that must not appear: by every system call that creates one, and by changing a path
   after it was checked. */
#include "attack.h"
#include "filter.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int bind_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    if (sock < 0)
        return -1;
    int result = bind(sock, (struct sockaddr *)&address, sizeof address);
    close(sock);
    return result;
}

static int by_tmpfile(const char *path) {
    int fd = open("own", O_TMPFILE | O_WRONLY, 0644);
    if (fd < 0)
        return -1;
    char from[64];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    int result = linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
    if (result < 0)
        result = linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH);
    close(fd);
    return result;
}

/* Tries each way to create a name at PATH, relative to the working directory. */
static void each(const char *path) {
    int here = open(".", O_PATH | O_DIRECTORY), up = open("own", O_RDONLY | O_DIRECTORY);
    char above[4096];
    snprintf(above, sizeof above, "../%s", path);
    int flags[] = {O_CREAT, O_CREAT | O_EXCL | O_WRONLY, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC,
                   O_CREAT | O_WRONLY | O_NOFOLLOW | O_APPEND, O_CREAT | O_NONBLOCK};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        MUST_FAIL("openat", openat(here, path, flags[i], 0644));
        MUST_FAIL("openat by another folder", openat(up, above, flags[i], 0644));
#ifdef SYS_open
        MUST_FAIL("open", syscall(SYS_open, path, flags[i], 0644));
#endif
    }
    struct { unsigned long long flags, mode, resolve; } how = {O_CREAT | O_WRONLY, 0644, 0};
    MUST_FAIL("openat2", syscall(437, AT_FDCWD, path, &how, sizeof how));
    MUST_BE_UNKNOWN("io_uring_setup", syscall(425, 8, path));
    MUST_FAIL("mkdirat", mkdirat(here, path, 0755));
    MUST_FAIL("mkdirat by another folder", mkdirat(up, above, 0755));
    MUST_FAIL("mknodat of a file", mknodat(here, path, S_IFREG | 0644, 0));
    MUST_FAIL("mknodat of a pipe", mknodat(here, path, S_IFIFO | 0644, 0));
    MUST_FAIL("mknodat of a socket", mknodat(here, path, S_IFSOCK | 0644, 0));
    MUST_FAIL("mknodat of a device", mknodat(here, path, S_IFCHR | 0644, 0x103));
    MUST_FAIL("symlinkat", symlinkat("own/file", here, path));
    MUST_FAIL("linkat", linkat(here, "own/file", here, path, 0));
    MUST_FAIL("linkat of a descriptor's file", by_tmpfile(path));
    MUST_FAIL("renameat", renameat(here, "own/file", here, path));
    MUST_FAIL("renameat of a folder", renameat(here, "own/folder", here, path));
    MUST_FAIL("renameat2", syscall(SYS_renameat2, here, "own/file", here, path, 1));
    MUST_FAIL("an exchange", syscall(SYS_renameat2, here, "own/file", here, path, 2));
    MUST_FAIL("a whiteout", syscall(SYS_renameat2, here, "own/file", here, path, 4));
    MUST_FAIL("bind", bind_to(path));
#ifdef SYS_mkdir
    MUST_FAIL("creat", syscall(SYS_creat, path, 0644));
    MUST_FAIL("mkdir", syscall(SYS_mkdir, path, 0755));
    MUST_FAIL("mknod", syscall(SYS_mknod, path, S_IFREG | 0644, 0));
    MUST_FAIL("symlink", syscall(SYS_symlink, "own/file", path));
    MUST_FAIL("link", syscall(SYS_link, "own/file", path));
    MUST_FAIL("rename", syscall(SYS_rename, "own/file", path));
#endif
    struct stat found;
    MUST_HOLD("it is absent", lstat(path, &found) == -1 && errno == ENOENT);
}

static char shared_path[64];
static const char *harmless, *wanted;
static atomic_int over;

/* Writes both paths to the same memory in turn. */
static void *flip_text(void *unused) {
    (void)unused;
    while (!over) {
        memcpy(shared_path, wanted, strlen(wanted) + 1);
        for (volatile int i = 0; i < 200; i++) {}
        memcpy(shared_path, harmless, strlen(harmless) + 1);
        for (volatile int i = 0; i < 200; i++) {}
    }
    return NULL;
}

/* Swaps the target of a link. */
static void *flip_link(void *unused) {
    (void)unused;
    while (!over) {
        unlink("own/turn.a");
        unlink("own/turn.b");
        if (symlink("..", "own/turn.a") == 0)
            rename("own/turn.a", "own/turn");
        if (symlink("folder", "own/turn.b") == 0)
            rename("own/turn.b", "own/turn");
    }
    return NULL;
}

/* Returns whether the name exists. Sockets do not count: they are bound by their owner and removed
   in the end. */
static int has_name(const char *name) {
    struct stat found;
    return lstat(name, &found) == 0 && !S_ISSOCK(found.st_mode);
}

static long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Races for a second, while the test checks from outside. */
static void race(const char *name) {
    pthread_t threads[2];
    char through[128];
    wanted = name;
    harmless = "own/harmless";
    snprintf(through, sizeof through, "own/turn/%s", name);
    pthread_create(&threads[0], NULL, flip_text, NULL);
    pthread_create(&threads[1], NULL, flip_link, NULL);
    long end = milliseconds() + 1000, tries = 0;
    /* On a busy machine, a round takes long. */
    while (milliseconds() < end || tries <= 20) {
        for (int i = 0; i < 20; i++, tries++) {
            const char *path = i % 2 ? shared_path : through;
            /* The name may be a pipe without a reader. */
            int fd = open(path, O_CREAT | O_WRONLY | O_NONBLOCK, 0644);
            if (fd >= 0)
                close(fd);
            mkdir(path, 0755);
            symlink("file", path);
            link("own/file", path);
            mkfifo(path, 0644);
            rename("own/spare", path);
            unlink("own/harmless"), rmdir("own/harmless");
            bind_to(path);
            mknod(path, S_IFSOCK | 0644, 0);
            unlink("own/harmless");
            if (has_name(name)) {
                printf("ESCAPED by a race: %s is there\n", name);
                over = 1;
            }
        }
    }
    over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    MUST_HOLD("many tries", tries > 20);
}

/* A process that hides its memory cannot be inspected, so it must not create anything protected. */
static void hidden(const char *path) {
    prctl(PR_SET_DUMPABLE, 0);
    MUST_FAIL("open", open(path, O_CREAT | O_WRONLY, 0644));
    MUST_FAIL("mkdir", mkdir(path, 0755));
    MUST_FAIL("mknod of a socket", mknod(path, S_IFSOCK | 0644, 0));
    MUST_HOLD("a file of its own elsewhere", open(told("ELSEWHERE"), O_CREAT | O_WRONLY, 0644) >= 0);
}

/* Allocates as much of a resource as possible and keeps it. Prints the amount. */
static void hoard(const char *what) {
    int made = 0, pair[2];
    for (;; made++) {
        if (strcmp(what, "sockets") == 0) {
            char block[64 * 1024] = {0};
            int size = 64 << 20;
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
                break;
            setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
            long held = 0, sent;
            while ((sent = send(pair[0], block, sizeof block, MSG_DONTWAIT)) > 0)
                held += sent;
            if (held > 1024 * 1024)
                puts("ESCAPED a socket holds more than it should");
        } else if (syscall(strcmp(what, "waiters") == 0 ? SYS_epoll_create1 : SYS_inotify_init1, 0) < 0) {
            break;
        }
    }
    printf("%d %s\n", made, what);
    fflush(stdout);
    /* Waits until the test has received all amounts. */
    while (getchar() != EOF) {}
}

int main(int count, char **words) {
    for (int i = 2; i < count; i++) {
        if (strcmp(words[1], "each") == 0)
            each(words[i]);
        else if (strcmp(words[1], "race") == 0)
            race(words[i]);
        else if (strcmp(words[1], "hidden") == 0)
            hidden(words[i]);
        else
            hoard(words[i]);
    }
    return finished();
}
