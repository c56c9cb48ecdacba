/* Ways to other processes. The first argument selects the attack: "victim" does everything to a
   process outside, "everybody" sends signals to all processes; "above", "signal" and "slow" attack
   processes given by ID; "self" and "keys" check inherited resources, "shared" attacks IPC objects
   of the host; "hold" runs outside and owns such objects. */
#include "attack.h"
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define IOPRIO_IDLE (3 << 13)
#define BY_PROCESS 1

/* Any process may be named as the recipient of a signal that reports a readable pipe. */
static int signal_by_file(pid_t pid, int number) {
    int pair[2];
    if (pipe(pair) < 0 || fcntl(pair[0], F_SETOWN, pid) < 0)
        return -1;
    struct f_owner_ex owner = {F_OWNER_TID, pid};
    fcntl(pair[0], F_SETOWN_EX, &owner);
    fcntl(pair[0], F_SETSIG, number);
    fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK);
    return write(pair[1], "x", 1) == 1 ? 0 : -1;
}

/* Sends a signal in every way; returns how many claim to have succeeded. */
static int signals(pid_t pid, int number) {
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    int fd = syscall(SYS_pidfd_open, pid, 0), sent = 0;
    sent += kill(pid, number) == 0;
    sent += syscall(SYS_tkill, pid, number) == 0;
    sent += syscall(SYS_tgkill, pid, pid, number) == 0;
    sent += syscall(SYS_rt_sigqueueinfo, pid, number, &info) == 0;
    sent += syscall(SYS_rt_tgsigqueueinfo, pid, pid, number, &info) == 0;
    sent += fd >= 0 && syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) == 0;
    close(fd);
    signal_by_file(pid, number);
    return sent;
}

static int readable(const char *path) {
    char byte;
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    int got = fd < 0 ? -1 : read(fd, &byte, 1);
    close(fd);
    return got > 0 ? 0 : -1;
}

/* Opens everything that reveals the memory or the files of a process. */
static void look_into(pid_t pid, unsigned long at) {
    static const char *const files[] = {
        "mem", "environ", "maps", "smaps", "pagemap", "auxv", "io", "stack", "syscall", "personality",
        "fd/0", "fd/3", "cwd/victim", "root/etc/shadow", "exe", "map_files", "fdinfo/0", "timers",
        "clear_refs", "coredump_filter", "oom_score_adj", "oom_adj", "sched", "autogroup", "comm",
        "attr/current", "uid_map", "gid_map", "setgroups", "projid_map", "loginuid", "timerslack_ns",
    };
    char path[64], data[64];
    /* Opened for reading and writing, and the secret ones also for reading only. */
    const size_t secret = 13;
    for (size_t n = 0; n < sizeof files / sizeof *files; n++) {
        snprintf(path, sizeof path, "/proc/%d/%s", pid, files[n]);
        MUST_FAIL(path, open(path, O_RDWR | O_NONBLOCK));
        if (n < secret)
            MUST_FAIL(path, readable(path));
    }
    static const char *const links[] = {"cwd", "root", "exe", "fd/0", "ns/net", "ns/user"};
    for (size_t n = 0; n < sizeof links / sizeof *links; n++) {
        snprintf(path, sizeof path, "/proc/%d/%s", pid, links[n]);
        MUST_FAIL(path, readlink(path, data, sizeof data));
        MUST_FAIL(path, chdir(path));
        MUST_FAIL(path, open(path, O_PATH) < 0 || fstat(open(path, O_PATH), &(struct stat){0}) < 0 ? -1 : 0);
    }
    struct iovec here = {data, 8}, there = {(void *)at, 8};
    memcpy(data, "changed", 8);
    MUST_FAIL("process_vm_writev", process_vm_writev(pid, &here, 1, &there, 1, 0));
    MUST_FAIL("process_vm_readv", process_vm_readv(pid, &here, 1, &there, 1, 0));
    MUST_FAIL("ptrace attach", ptrace(PTRACE_ATTACH, pid, 0, 0));
    MUST_FAIL("ptrace seize", ptrace(PTRACE_SEIZE, pid, 0, 0));
    int fd = syscall(SYS_pidfd_open, pid, 0);
    for (int number = 0; number < 8; number++)
        MUST_FAIL("pidfd_getfd", syscall(SYS_pidfd_getfd, fd, number, 0));
    MUST_FAIL("process_madvise", syscall(SYS_process_madvise, fd, &there, 1, 21, 0));
    MUST_FAIL("process_mrelease", syscall(SYS_process_mrelease, fd, 0));
    MUST_FAIL("setns", syscall(SYS_setns, fd, CLONE_NEWNET));
    MUST_FAIL("kcmp", syscall(SYS_kcmp, pid, getpid(), KCMP_VM, 0, 0));
    MUST_FAIL("migrate_pages", syscall(SYS_migrate_pages, pid, 0, NULL, NULL));
    MUST_FAIL("move_pages", syscall(SYS_move_pages, pid, 0, NULL, NULL, NULL, 0));
    MUST_FAIL("perf_event_open", syscall(SYS_perf_event_open, (char[128]){0}, pid, -1, -1, 0));
    void *head;
    size_t size;
    MUST_FAIL("get_robust_list", syscall(SYS_get_robust_list, pid, &head, &size));
}

/* Changes the priority, processors and limits of a process. */
static void slow_down(pid_t pid) {
    struct rlimit less = {64, 64}, was;
    struct sched_param none = {0};
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    struct {
        unsigned size, policy;
        unsigned long flags;
        int nice;
        unsigned priority;
        unsigned long runtime, deadline, period;
    } idle = {48, SCHED_IDLE, 0, 0, 0, 0, 0, 0};
    MUST_FAIL("prlimit, to read", prlimit(pid, RLIMIT_NOFILE, NULL, &was));
    MUST_FAIL("prlimit", prlimit(pid, RLIMIT_NOFILE, &less, NULL));
    MUST_FAIL("sched_setaffinity", sched_setaffinity(pid, sizeof one, &one));
    MUST_FAIL("sched_setparam", sched_setparam(pid, &none));
    MUST_FAIL("setpriority", setpriority(PRIO_PROCESS, pid, 7));
    MUST_FAIL("ioprio_set", syscall(SYS_ioprio_set, BY_PROCESS, pid, IOPRIO_IDLE));
    MUST_FAIL("sched_setscheduler", sched_setscheduler(pid, SCHED_BATCH, &none));
    MUST_FAIL("sched_setattr", syscall(SYS_sched_setattr, pid, &idle, 0));
    MUST_FAIL("setpgid", setpgid(pid, 0));
}

static int is_out_of_sight(void) {
    return kill(atoi(told("VICTIM_PID")), 0) < 0 && errno == ESRCH;
}

static void all_signals(pid_t pid) {
    const int numbers[] = {0, SIGCONT, SIGUSR1, SIGRTMIN, SIGTERM, SIGSTOP, SIGKILL};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        MUST_HOLD("no signal", signals(pid, numbers[n]) == 0);
}

static void victim(void) {
    pid_t pid = atoi(told("VICTIM_PID"));
    look_into(pid, strtoul(told("VICTIM_ADDRESS"), NULL, 16));
    pid_t group = getpgid(pid);
    MUST_FAIL("a signal to its group", kill(group > 1 ? -group : -pid, SIGCONT));
    all_signals(pid);
}

/* Sends SIGCONT to all processes, and SIGKILL if only the command's own processes can be
   reached. */
static void everybody(void) {
    printf("to everybody: %d\n", kill(-1, SIGCONT));
    puts("finished");
    fflush(stdout);
    if (is_out_of_sight())
        kill(-1, SIGKILL);
}

/* Attacks the ancestors of the command, given by process ID. */
static void above(int count, char **numbers, void (*attack)(pid_t)) {
    for (int n = 0; n < count; n++) {
        pid_t pid = atoi(numbers[n]);
        /* Must not attack the first process of the machine. */
        if (pid > 1 || (pid == 1 && is_out_of_sight()))
            attack(pid);
    }
}

/* Process 1 of the command's own namespace accepts signals, but ignores them. */
static void above_by_signals(pid_t pid) {
    if (pid == 1)
        printf("to process 1: %d\n", signals(1, SIGTERM) + signals(1, SIGSTOP) + signals(1, SIGKILL));
    else
        all_signals(pid);
}

static void above_by_looks(pid_t pid) {
    look_into(pid, (unsigned long)&pid & ~4095UL);
}

static void descriptors(void) {
    struct stat found;
    for (int fd = 3; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("ESCAPED descriptor %d\n", fd);
    MUST_HOLD("nothing to read", read(0, &found, 1) == 0 && (fcntl(0, F_GETFL) & O_ACCMODE) == O_RDONLY);
    MUST_HOLD("a pipe to write to", fstat(1, &found) == 0 && S_ISFIFO(found.st_mode));
    MUST_HOLD("the same for errors", (fcntl(2, F_GETFL) & O_ACCMODE) == O_WRONLY);
    for (char **variable = environ; *variable; variable++)
        printf("variable %s\n", *variable);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY);
    MUST_FAIL("a worse victim when memory runs out", fd < 0 || write(fd, "0", 1) < 0 ? -1 : 0);
}

static void keys(void) {
    for (int ring = -8; ring < 0; ring++) {
        MUST_FAIL("a keyring", syscall(SYS_keyctl, 0, ring, 1));
        MUST_FAIL("a list of keys", syscall(SYS_keyctl, 11, ring, NULL, 0));
        MUST_FAIL("a new key", syscall(SYS_add_key, "user", "escape", "x", 1, ring));
    }
    MUST_FAIL("a session's keys", syscall(SYS_keyctl, 1, "escape"));
    MUST_FAIL("the parent's keys", syscall(SYS_keyctl, 18));
    MUST_FAIL("a request for a key", syscall(SYS_request_key, "user", "escape", "", 0));
}

/* Runs outside: a process without privileges, like those of ordinary users. After each line, it
   reports its priority and limits. */
static int sit(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    char line[64];
    if (syscall(SYS_capset, &head, none) < 0)
        return 1;
    printf("%d\n", getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        struct rlimit limit;
        cpu_set_t where;
        getrlimit(RLIMIT_NOFILE, &limit);
        sched_getaffinity(0, sizeof where, &where);
        long io = syscall(SYS_ioprio_get, BY_PROCESS, 0);
        printf("%lu files, nice %d, policy %d, io %ld, %d processors\n", limit.rlim_max,
               getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), io, CPU_COUNT(&where));
        fflush(stdout);
    }
    return 0;
}

/* Takes the supervisor's descriptors away, which it needs to count processes and memory. */
static void blind(pid_t pid) {
    struct rlimit none = {0, 0};
    MUST_FAIL("a blind supervisor", prlimit(pid, RLIMIT_NOFILE, &none, NULL));
}

static void eat(void) {
    const size_t size = 60 << 20;
    volatile char *food = malloc(size);
    for (size_t at = 0; at < size; at += 512)
        food[at] = 7;
    printf("ate %d\n", food[size / 2]);
    fflush(stdout);
    sleep(4);
}

/* Makes the kernel allocate memory that no process shows: 1.2 million locks, which use 250 MB. The
   kernel compares a lock with all others of its file, so there are many files. */
static void lock(void) {
    long taken = 0;
    for (int file = 0; file < 4000; file++) {
        char name[32];
        snprintf(name, sizeof name, "locked%d", file);
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        for (long at = 600; at > 0; at -= 2) {
            struct flock one = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
            taken += fcntl(fd, file % 2 ? F_SETLK : F_OFD_SETLK, &one) == 0;
        }
    }
    printf("ESCAPED %ld locks\n", taken);
}

/* Makes the kernel send signals on behalf of a file owner. */
static void by_file(pid_t pid) {
    signal_by_file(pid, SIGUSR1);
    signal_by_file(pid, SIGKILL);
    signal_by_file(pid, 0);
}

/* Runs outside. Reports after each line whether its objects are unchanged. */
static int hold(const char *name) {
    const key_t key = 0x5c000000 | getpid();
    char text[64] = "the-secret-of-the-host", line[64];
    struct mq_attr small = {.mq_maxmsg = 2, .mq_msgsize = sizeof text};
    int shared = shmget(key, 4096, IPC_CREAT | 0666), semaphore = semget(key, 1, IPC_CREAT | 0666);
    int messages = msgget(key, IPC_CREAT | 0666);
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_NONBLOCK, 0666, &small);
    int memory = shm_open(name, O_RDWR | O_CREAT, 0666);
    if (shared < 0 || semaphore < 0 || messages < 0 || queue < 0 || memory < 0)
        return 1;
    struct { long kind; char text[64]; } message = {1, "the-secret-of-the-host"};
    char *seen = shmat(shared, NULL, 0);
    strcpy(seen, text);
    int ready = write(memory, text, sizeof text) > 0 && msgsnd(messages, &message, sizeof text, 0) == 0;
    ready = ready && mq_send(queue, text, sizeof text, 0) == 0;
    printf("%d:%d:%d:%d:%d\n", ready ? key : 0, shared, semaphore, messages, getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        struct mq_attr now;
        struct msqid_ds waiting = {0};
        int whole = strcmp(seen, text) == 0 && pread(memory, line, 64, 0) == 64 && !memcmp(line, text, 64);
        whole = whole && semctl(semaphore, 0, GETVAL) == 0 && shmget(key, 0, 0) == shared;
        whole = whole && msgctl(messages, IPC_STAT, &waiting) == 0 && waiting.msg_qnum == 1;
        whole = whole && mq_getattr(queue, &now) == 0 && now.mq_curmsgs == 1;
        /* An object that the command left in this namespace. */
        int left = shmget(key + 1, 0, 0);
        puts(!whole ? "changed" : left >= 0 ? "something new" : "unharmed");
        fflush(stdout);
        shmctl(left, IPC_RMID, NULL);
    }
    shmctl(shared, IPC_RMID, NULL);
    semctl(semaphore, 0, IPC_RMID);
    msgctl(messages, IPC_RMID, NULL);
    mq_unlink(name);
    return shm_unlink(name);
}

static void shared(void) {
    key_t key;
    int memory, semaphore, messages, pid;
    char text[64] = "";
    struct { long kind; char text[64]; } message;
    if (sscanf(told("OBJECTS"), "%d:%d:%d:%d:%d", &key, &memory, &semaphore, &messages, &pid) != 5)
        exit(1);
    MUST_FAIL("memory by its key", shmget(key, 0, 0));
    char *seen = shmat(memory, NULL, 0);
    MUST_FAIL("memory by its number", (long)seen);
    if ((long)seen != -1) {
        puts(seen);
        strcpy(seen, "changed");
    }
    MUST_FAIL("facts about memory", shmctl(memory, IPC_STAT, &(struct shmid_ds){0}));
    MUST_FAIL("an end to memory", shmctl(memory, IPC_RMID, NULL));
    MUST_FAIL("a semaphore by its key", semget(key, 1, 0));
    MUST_FAIL("a semaphore", semctl(semaphore, 0, SETVAL, 7));
    MUST_FAIL("messages by their key", msgget(key, 0));
    MUST_FAIL("a message", msgrcv(messages, &message, 64, 0, IPC_NOWAIT));
    mqd_t queue = mq_open(told("QUEUE"), O_RDWR | O_NONBLOCK);
    MUST_FAIL("a queue", queue);
    MUST_FAIL("a message of a queue", mq_receive(queue, text, sizeof text, NULL));
    MUST_FAIL("an end to a queue", mq_unlink(told("QUEUE")));
    MUST_FAIL("memory by its name", shm_open(told("QUEUE"), O_RDWR, 0));
    MUST_FAIL("an end to a name", shm_unlink(told("QUEUE")));
    printf("own memory: %s\n", shmget(key + 1, 4096, IPC_CREAT | 0600) < 0 ? "refused" : "there");
}

int main(int count, char **arguments) {
    const char *which = count > 1 ? arguments[1] : "";
    if (!strcmp(which, "hold"))
        return hold(arguments[2]);
    if (!strcmp(which, "sit"))
        return sit();
    alarm(30);
    if (!strcmp(which, "victim"))
        victim();
    else if (!strcmp(which, "slow"))
        above(count - 2, arguments + 2, slow_down);
    else if (!strcmp(which, "above"))
        above(count - 2, arguments + 2, above_by_looks);
    else if (!strcmp(which, "signal"))
        above(count - 2, arguments + 2, above_by_signals);
    else if (!strcmp(which, "file"))
        above(count - 2, arguments + 2, by_file);
    else if (!strcmp(which, "blind"))
        above(count - 2, arguments + 2, blind);
    else if (!strcmp(which, "eat"))
        eat();
    else if (!strcmp(which, "lock"))
        lock();
    else if (!strcmp(which, "everybody"))
        return everybody(), 0;
    else if (!strcmp(which, "self"))
        descriptors();
    else if (!strcmp(which, "keys"))
        keys();
    else if (!strcmp(which, "shared"))
        shared();
    else
        return 1;
    return finished();
}
