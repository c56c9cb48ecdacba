/* Asks the supervisor of a command, which creates names on its behalf, for files that only the
   supervisor itself can reach. Also checks that it does what the kernel would have done.

   Outside of the sandbox: `deputy lend FOLDER` is another process of the same user. */
#include "attack.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a process without capabilities in a directory, with an open file that has no name. */
static int lend(const char *folder) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    static const char secret[] = "the-secret-of-the-host\n";
    if (syscall(SYS_capset, &head, none) || chdir(folder))
        return 1;
    int fd = open(".", O_TMPFILE | O_RDWR, 0600);
    if (fd < 0 || write(fd, secret, sizeof secret - 1) < 0)
        return 1;
    printf("%d %d\n", getpid(), fd);
    fflush(stdout);
    return getchar() != EOF;
}

/* Tries to use the open files and the working directory of another process. */
static void take(const char *process, const char *number) {
    char path[128];
    int top = open("/", O_PATH);
    snprintf(path, sizeof path, "/proc/%s/fd/%s", process, number);
    MUST_FAIL("reading it", open(path, O_RDONLY));
    MUST_FAIL("a name for it", linkat(AT_FDCWD, path, AT_FDCWD, "stolen", AT_SYMLINK_FOLLOW));
    MUST_FAIL("a name for it, from the top", linkat(top, path + 1, AT_FDCWD, "stolen", AT_SYMLINK_FOLLOW));
    symlink(path, "own/way");
    MUST_FAIL("a name by a link", linkat(AT_FDCWD, "own/way", AT_FDCWD, "stolen", AT_SYMLINK_FOLLOW));
    for (int root = 0; root < 2; root++) {
        snprintf(path, sizeof path, "/proc/%s/%s/made", process, root ? "root" : "cwd");
        MUST_FAIL("a file by its folder", open(path, O_CREAT | O_WRONLY, 0644));
        MUST_FAIL("a folder by its folder", mkdir(path, 0755));
    }
    snprintf(path, sizeof path, "/proc/%s/root%s/made", process, told("WORKSPACE"));
    MUST_FAIL("a file by its root", open(path, O_CREAT | O_WRONLY, 0644));
    int own = open("own", O_TMPFILE | O_RDWR, 0600);
    snprintf(path, sizeof path, "/proc/self/fd/%d", own);
    MUST_HOLD("its own file gets a name", linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW) == 0);
}

/* Creates and opens a file while another process removes it: no open may fail. */
static void lock(const char *path) {
    pid_t other = fork();
    if (other == 0)
        for (;;)
            unlink(path);
    int failed = 0, reason = 0;
    for (int i = 0; i < 10000; i++) {
        int fd = open(path, O_CREAT | O_WRONLY, 0644);
        if (fd < 0)
            failed++, reason = errno;
        else
            close(fd);
    }
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    unlink(path);
    if (failed)
        printf("%d of 10000: %s\n", failed, strerror(reason));
    MUST_HOLD("each open succeeds", failed == 0);
}

static void *nothing(void *unused) { return unused; }

/* Creates resources one at a time, which must never reach a limit. */
static void turns(const char *count) {
    int sockets = 0, threads = 0;
    for (int i = 0; i < atoi(count); i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0), pair[2];
        if (fd >= 0)
            close(fd);
        else if (errno == ENOSYS && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)
            close(pair[0]), close(pair[1]);
        else
            sockets++;
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL) == 0)
            pthread_join(thread, NULL);
        else
            threads++;
    }
    printf("refused: %d sockets, %d threads\n", sockets, threads);
    MUST_HOLD("none is refused", sockets == 0 && threads == 0);
}

/* Queues data in connections that are not accepted, until no more can be created. Prints
   mebibytes. */
static void queue(const char *listeners) {
    static char block[64 * 1024];
    long held = 0;
    for (int i = 0; i < atoi(listeners); i++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        socklen_t length = sizeof(sa_family_t) + 1 + snprintf(address.sun_path + 1, 32, "queue-%d", i);
        int listener = socket(AF_UNIX, SOCK_STREAM, 0);
        if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) || listen(listener, 4096))
            break;
        /* There may be room a moment after a failure. */
        for (int refused = 0; refused < 20;) {
            int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
            if (fd < 0 || connect(fd, (struct sockaddr *)&address, length)) {
                close(fd);
                usleep(5000);
                refused++;
                continue;
            }
            refused = 0;
            for (long sent; (sent = send(fd, block, sizeof block, MSG_NOSIGNAL)) > 0;)
                held += sent;
            close(fd);
        }
    }
    printf("%ld MiB in queues\n", held >> 20);
}

/* Sends data to a TCP connection that is not read. Prints kibibytes. */
static void unread(void) {
    static char block[64 * 1024];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0), end;
    long held = 0;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &length) ||
        connect(fd, (struct sockaddr *)&address, length) || (end = accept(listener, NULL, NULL)) < 0) {
        puts("0 KiB unread");
        return;
    }
    /* The buffer grows during the wait. */
    for (int refused = 0; refused < 20;) {
        long sent = send(fd, block, sizeof block, MSG_DONTWAIT);
        if (sent > 0) {
            held += sent;
        } else {
            usleep(5000);
            refused++;
        }
    }
    printf("%ld KiB unread\n", held >> 10);
    close(end), close(fd), close(listener);
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "lend") == 0)
        return lend(words[2]);
    if (count == 4 && strcmp(words[1], "take") == 0)
        take(words[2], words[3]);
    else if (count == 3 && strcmp(words[1], "lock") == 0)
        lock(words[2]);
    else if (count == 3 && strcmp(words[1], "turns") == 0)
        turns(words[2]);
    else if (count == 3 && strcmp(words[1], "queue") == 0)
        unread(), queue(words[2]);
    else
        return 1;
    return finished();
}
