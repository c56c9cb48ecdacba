/* Ways out through sockets. The first argument selects the attack: "reach" tries the addresses of
   listeners outside, "swap" exchanges the arguments of a call while it is decided, "swap until reached"
   goes on with that until it succeeds, "kinds" creates sockets of every kind, "own" talks to itself,
   "interrupt" waits for a full listener, "block" makes a call wait that was not to wait. */
#include "attack.h"
#include "filter.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A Unix datagram would block if the listener does not read. */
#define AT_ONCE(to) (((to)->to.any.sa_family == AF_UNIX ? MSG_DONTWAIT : 0) | MSG_NOSIGNAL)

typedef struct {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un path;
    } to;
    socklen_t size;
} address;

static address v4(const char *host, const char *port) {
    address made = {.size = sizeof made.to.v4};
    made.to.v4.sin_family = AF_INET;
    made.to.v4.sin_port = htons(atoi(told(port)));
    inet_pton(AF_INET, host, &made.to.v4.sin_addr);
    return made;
}

static address v6(const char *host, const char *port) {
    address made = {.size = sizeof made.to.v6};
    made.to.v6.sin6_family = AF_INET6;
    made.to.v6.sin6_port = htons(atoi(told(port)));
    inet_pton(AF_INET6, host, &made.to.v6.sin6_addr);
    return made;
}

static address named(const char *name, int is_abstract) {
    address made = {0};
    made.to.path.sun_family = AF_UNIX;
    strncpy(made.to.path.sun_path + is_abstract, name, sizeof made.to.path.sun_path - 2);
    made.size = offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1;
    return made;
}

static int connected(int kind, const address *to) {
    int fd = socket(to->to.any.sa_family, kind, 0);
    if (fd < 0)
        return -1;
    int result = connect(fd, &to->to.any, to->size);
    if (result == 0)
        result = send(fd, "knock", 5, AT_ONCE(to)) < 0 ? -1 : 0;
    close(fd);
    return result;
}

/* Sends with each call that takes an address. */
static int sent(int kind, const address *to, int flags) {
    int fd = socket(to->to.any.sa_family, kind, 0);
    struct iovec text = {"knock", 5};
    struct mmsghdr many = {.msg_hdr = {.msg_name = (void *)&to->to, .msg_namelen = to->size,
                                       .msg_iov = &text, .msg_iovlen = 1}};
    int result = -1;
    flags |= AT_ONCE(to);
    if (sendto(fd, "knock", 5, flags, &to->to.any, to->size) >= 0)
        result = 0;
    if (sendmsg(fd, &many.msg_hdr, flags) >= 0)
        result = 0;
    if (sendmmsg(fd, &many, 1, flags) >= 0)
        result = 0;
    close(fd);
    return result;
}

/* Sends datagrams. They are not answered, so only the listener knows whether they arrived. */
static void throw_datagrams(const address *to) {
    int went = connected(SOCK_DGRAM, to) == 0;
    went |= sent(SOCK_DGRAM, to, 0) == 0;
    printf("datagrams %s\n", went ? "went somewhere" : "were refused");
}

static void reach_network(void) {
    address tcp[] = {v4("127.0.0.1", "TCP4"), v4("0.0.0.0", "TCP4"), v4("127.3.2.1", "TCP4"),
                     v4(told("HOST_ADDRESS"), "TCP4"), v6("::1", "TCP6"), v6("::", "TCP6"),
                     v6("::ffff:127.0.0.1", "TCP4")};
    address udp[] = {v4("127.0.0.1", "UDP4"), v4("0.0.0.0", "UDP4"), v4("127.255.255.255", "UDP4"),
                     v4(told("HOST_ADDRESS"), "UDP4"), v6("::1", "UDP6"),
                     v6("::ffff:127.0.0.1", "UDP4")};
    for (size_t at = 0; at < sizeof tcp / sizeof *tcp; at++) {
        MUST_FAIL("connect TCP", connected(SOCK_STREAM, &tcp[at]));
        MUST_FAIL("send TCP without connecting", sent(SOCK_STREAM, &tcp[at], MSG_FASTOPEN));
    }
    for (size_t at = 0; at < sizeof udp / sizeof *udp; at++)
        throw_datagrams(&udp[at]);
    for (int kind = SOCK_DGRAM; kind <= SOCK_RAW; kind++) {
        int fd = socket(AF_INET, kind, IPPROTO_ICMP);
        int is_known = strcmp(told("HOST_ADDRESS"), "127.0.0.1") != 0;
        address host = v4(is_known ? told("HOST_ADDRESS") : "192.0.2.1", "UDP4");
        MUST_FAIL("ping", sendto(fd, "\10\0\367\377\0\0\0\0", 8, 0, &host.to.any, host.size));
        close(fd);
    }
}

/* Sends or connects existing pairs to another address. */
static void redirect_pair(int kind, const address *to) {
    int pair[2];
    if (socketpair(AF_UNIX, kind, 0, pair) < 0)
        return;
    struct iovec text = {"knock", 5};
    struct msghdr message = {
        .msg_name = (void *)&to->to, .msg_namelen = to->size, .msg_iov = &text, .msg_iovlen = 1};
    MUST_FAIL("connect a pair elsewhere", connect(pair[0], &to->to.any, to->size));
    int to_name = sendto(pair[0], "knock", 5, AT_ONCE(to), &to->to.any, to->size) < 0;
    to_name |= sendmsg(pair[0], &message, AT_ONCE(to)) < 0;
    printf("a pair %s\n", to_name ? "cannot be sent elsewhere" : "ignores other addresses");
    close(pair[0]);
    close(pair[1]);
}

static void reach_name(const char *name, int is_abstract) {
    const int kinds[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW};
    address to = named(name, is_abstract);
    for (size_t at = 0; at < sizeof kinds / sizeof *kinds; at++) {
        MUST_FAIL("connect by name", connected(kinds[at], &to));
        MUST_FAIL("send by name", sent(kinds[at], &to, 0));
        redirect_pair(kinds[at], &to);
    }
}

static void each_word(const char *words, int is_abstract) {
    char *copy = strdup(words);
    for (char *word = strtok(copy, ":"); word; word = strtok(NULL, ":"))
        reach_name(word, is_abstract);
    free(copy);
}

static void reach(void) {
    reach_network();
    each_word(told("PATHS"), 0);
    each_word(told("ABSTRACT"), 1);
}

/* Exchanges the path in an address, and the socket behind a descriptor, until it is told to stop. */
static struct {
    address to, own, other;
    int fd, unix_fd, inet_fd;
    volatile int stops;
} swapped;

static void *swap(void *unused) {
    while (!swapped.stops) {
        memcpy(&swapped.to, &swapped.other, sizeof swapped.to);
        dup2(swapped.unix_fd, swapped.fd);
        memcpy(&swapped.to, &swapped.own, sizeof swapped.to);
        dup2(swapped.inet_fd, swapped.fd);
    }
    return unused;
}

/* Connects a descriptor that changes its socket to an address that changes its path: at least 3,000 times,
   or, where nothing confines the attack, until it succeeds. Only the listener outside knows whether it was
   reached. */
static void race(const char *path, int is_confined) {
    pthread_t thread;
    time_t latest = time(NULL) + 60;
    swapped.other = named(path, 0);
    setenv("ANY", "9", 1);
    swapped.own = v4("127.0.0.1", "ANY");
    swapped.fd = dup(0);
    pthread_create(&thread, NULL, swap, NULL);
    for (int at = 0, is_connected = 0; is_confined ? at < 3000 : !is_connected && time(NULL) < latest; at++) {
        int unix_fd = socket(AF_UNIX, SOCK_STREAM, 0), inet_fd = socket(AF_INET, SOCK_STREAM, 0);
        swapped.unix_fd = unix_fd, swapped.inet_fd = inet_fd;
        is_connected = connect(swapped.fd, &swapped.to.to.any, swapped.other.size) == 0;
        close(unix_fd), close(inet_fd);
    }
    swapped.stops = 1;
    pthread_join(thread, NULL);
}

static void ring(int number) { (void)number; }

/* A call that waits for a listener with a full queue ends with a signal. */
static void interrupt(void) {
    address path = named("/tmp/full", 0);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), status = 1;
    MUST_HOLD("a listener", bind(listener, &path.to.any, path.size) == 0 && listen(listener, 0) == 0);
    int first = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
    MUST_HOLD("the first has room", connect(first, &path.to.any, path.size) == 0);
    int third = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int refused = connect(third, &path.to.any, path.size) < 0 && errno == EAGAIN;
    MUST_HOLD("another one does not wait", refused);
    pid_t child = fork();
    if (child == 0) {
        struct sigaction action = {.sa_handler = ring};
        sigaction(SIGALRM, &action, NULL);
        ualarm(200000, 0);
        _exit(connect(second, &path.to.any, path.size) < 0 && errno == EINTR ? 0 : 1);
    }
    waitpid(child, &status, 0);
    MUST_HOLD("a signal interrupts", status == 0);
    /* Once there is room, a waiting call goes on. */
    child = fork();
    if (child == 0)
        _exit(connect(socket(AF_UNIX, SOCK_STREAM, 0), &path.to.any, path.size) == 0 ? 0 : 1);
    while (waitpid(child, &status, WNOHANG) == 0)
        close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
    MUST_HOLD("room lets it go on", status == 0);
}

static int blocked = -1;

static void *change_flags(void *unused) {
    for (;;) {
        fcntl(blocked, F_SETFL, 0);
        fcntl(blocked, F_SETFL, O_NONBLOCK);
    }
    return unused;
}

static void *connect_again(void *to) {
    address *path = to;
    for (;;)
        connect(blocked, &path->to.any, path->size);
    return NULL;
}

/* A call on a socket that changes its flags meanwhile keeps no other call from its answer. */
static void block(void) {
    static address path;
    path = named("/tmp/full", 0);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), first = socket(AF_UNIX, SOCK_STREAM, 0);
    MUST_HOLD("a listener", bind(listener, &path.to.any, path.size) == 0 && listen(listener, 0) == 0);
    MUST_HOLD("the first has room", connect(first, &path.to.any, path.size) == 0);
    blocked = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, change_flags, NULL);
    pthread_create(&threads[1], NULL, connect_again, &path);
    time_t end = time(NULL) + 3;
    while (time(NULL) < end) {
        int made = open("made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        MUST_HOLD("a file", made >= 0 && close(made) == 0 && unlink("made") == 0);
    }
}

/* Only the kinds of sockets that programs need may be created. */
static void kinds(void) {
    for (int family = 0; family < 64; family++) {
        if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
            continue;
        char what[40];
        snprintf(what, sizeof what, "socket family %d", family);
        for (int kind = 1; kind <= 10; kind++)
            MUST_BE_UNKNOWN(what, socket(family, kind, 0));
        MUST_BE_UNKNOWN(what, socketpair(family, SOCK_STREAM, 0, (int[2]){0}));
        MUST_BE_UNKNOWN(what, syscall(SYS_socket, 0x100000000L | family, SOCK_RAW | SOCK_CLOEXEC, 3));
    }
    const int inet[] = {AF_INET, AF_INET6}, raw[] = {SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, 6, SOCK_PACKET};
    for (int family = 0; family < 2; family++)
        for (int kind = 0; kind < 5; kind++)
            for (int protocol = 0; protocol < 256; protocol += 17)
                MUST_BE_UNKNOWN("raw socket", socket(inet[family], raw[kind], protocol));
    for (int protocol = 1; protocol < 32; protocol++)
        MUST_BE_UNKNOWN("netlink", socket(AF_NETLINK, SOCK_RAW, protocol));
    MUST_BE_UNKNOWN("io_uring_setup", syscall(SYS_io_uring_setup, 4, (char[256]){0}));
    MUST_BE_UNKNOWN("io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, 0, 0));
    MUST_BE_UNKNOWN("io_uring_register", syscall(SYS_io_uring_register, -1, 0, 0, 0));
}

/* Lists the host's interfaces; NULL means that they cannot be queried. */
static void interfaces(void) {
    struct if_nameindex *all = if_nameindex();
    for (struct if_nameindex *at = all; at && at->if_index; at++)
        MUST_HOLD(at->if_name, strcmp(at->if_name, "lo") == 0);
}

/* Sends a descriptor through a pair: it must arrive, or the pair must refuse it. */
static void pair(int kind, const char *name) {
    int both[2];
    char got[8] = "";
    if (socketpair(AF_UNIX, kind, 0, both) < 0) {
        printf("no pair of %s\n", name);
        return;
    }
    int heard = write(both[0], "hello", 5) == 5 && read(both[1], got, 8) == 5;
    MUST_HOLD(name, heard && !memcmp(got, "hello", 5));
    char space[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec text = {got, 1};
    struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = space,
                             .msg_controllen = sizeof space};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &both[0], sizeof(int));
    int arrived = sendmsg(both[0], &message, 0) == 1 && recvmsg(both[1], &message, 0) == 1;
    printf("a descriptor %s\n", arrived ? "arrived" : "was refused");
    close(both[0]);
    close(both[1]);
}

/* Connects two processes of the command. */
static int talks(int family, const address *at) {
    address bound = *at;
    int listener = socket(family, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, &bound.to.any, bound.size) < 0 || listen(listener, 1) < 0)
        return 0;
    getsockname(listener, &bound.to.any, &bound.size);
    pid_t child = fork();
    if (child == 0)
        _exit(connected(SOCK_STREAM, &bound) == 0 ? 0 : 1);
    char got[8] = "";
    int peer = accept(listener, NULL, NULL), status = 1;
    int heard = read(peer, got, sizeof got) == 5 && memcmp(got, "knock", 5) == 0;
    waitpid(child, &status, 0);
    return heard && status == 0;
}

static void own(void) {
    pair(SOCK_STREAM, "stream");
    pair(SOCK_SEQPACKET, "seqpacket");
    pair(SOCK_DGRAM, "dgram");
    setenv("ANY", "0", 1);
    address any4 = v4("127.0.0.1", "ANY"), any6 = v6("::1", "ANY");
    address path = named("/tmp/own-socket", 0), name = named("own-socket", 1);
    printf("over TCP: %s\n", talks(AF_INET, &any4) ? "talks" : "silence");
    printf("over TCP 6: %s\n", talks(AF_INET6, &any6) ? "talks" : "silence");
    printf("over a path: %s\n", talks(AF_UNIX, &path) ? "talks" : "silence");
    printf("over a name: %s\n", talks(AF_UNIX, &name) ? "talks" : "silence");
}

int main(int count, char **arguments) {
    const char *which = count > 1 ? arguments[1] : "";
    alarm(30);
    if (!strcmp(which, "reach"))
        reach();
    else if (!strcmp(which, "kinds"))
        kinds(), interfaces();
    else if (!strcmp(which, "own"))
        own();
    else if (!strcmp(which, "swap"))
        race(told("PATHS"), 1);
    else if (!strcmp(which, "swap until reached"))
        race(told("PATHS"), 0);
    else if (!strcmp(which, "interrupt"))
        interrupt();
    else if (!strcmp(which, "block"))
        block();
    else
        return 1;
    return finished();
}
