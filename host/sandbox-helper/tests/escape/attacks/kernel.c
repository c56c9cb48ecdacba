/* Privileges over the machine. The first argument selects the attack. Harmful calls are only tried
   after the sandbox has been verified. */
#include "attack.h"
#include "filter.h"
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#define CALL(name, ...) MUST_BE_UNKNOWN(#name, syscall(SYS_##name, ##__VA_ARGS__))
#define HELPERS_CALL(name, ...) MUST_BE_HELPERS(#name, syscall(SYS_##name, ##__VA_ARGS__))

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static const struct {
    const char *name;
    unsigned long flag;
} namespaces[] = {
    {"mount", CLONE_NEWNS}, {"uts", CLONE_NEWUTS}, {"ipc", CLONE_NEWIPC},       {"user", CLONE_NEWUSER},
    {"pid", CLONE_NEWPID},  {"net", CLONE_NEWNET}, {"cgroup", CLONE_NEWCGROUP}, {"time", CLONE_NEWTIME},
};
#define NAMESPACES (sizeof namespaces / sizeof *namespaces)

static int has_capabilities(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) < 0)
        return 1;
    for (int half = 0; half < 2; half++)
        if (data[half].effective | data[half].permitted | data[half].inheritable)
            return 1;
    for (int number = 0; number < 64; number++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number, 0, 0) == 1)
            return 1;
    return 0;
}

static void only_in_a_sandbox(void) {
    if (!has_capabilities() && prctl(PR_GET_SECCOMP) == 2 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return;
    puts("ESCAPED there is no sandbox");
    exit(1);
}

static int raise_all(int number) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    struct __user_cap_data_struct *half = &data[number / 32];
    half->permitted = half->effective = half->inheritable = 1U << number % 32;
    return syscall(SYS_capset, &head, data);
}

static void rights(void) {
    const unsigned user = getuid() + 1, group = getgid() + 1;
    MUST_HOLD("no capabilities", !has_capabilities());
    MUST_HOLD("no new rights", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    MUST_HOLD("a filter", prctl(PR_GET_SECCOMP) == 2);
    MUST_FAIL("new rights again", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
    MUST_FAIL("secure bits", prctl(PR_SET_SECUREBITS, 0));
    MUST_FAIL("no filter", prctl(PR_SET_SECCOMP, 0));
    for (int number = 0; number <= CAP_LAST_CAP; number++) {
        char what[40];
        snprintf(what, sizeof what, "capability %d", number);
        MUST_FAIL(what, raise_all(number));
        MUST_FAIL(what, prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0));
    }
    MUST_FAIL("setuid", setuid(user));
    MUST_FAIL("setreuid", setreuid(user, user));
    MUST_FAIL("setresuid", setresuid(user, user, user));
    MUST_FAIL("setgid", setgid(group));
    MUST_FAIL("setregid", setregid(group, group));
    MUST_FAIL("setresgid", setresgid(group, group, group));
    MUST_FAIL("setgroups", setgroups(1, &group));
    syscall(SYS_setfsuid, user);
    syscall(SYS_setfsgid, group);
    MUST_HOLD("the same user for files", (unsigned)syscall(SYS_setfsuid, -1) == getuid());
    MUST_HOLD("the same group for files", (unsigned)syscall(SYS_setfsgid, -1) == getgid());
    MUST_FAIL("chown", chown("kernel", user, group));
    MUST_HOLD("setuid to itself", setuid(getuid()) == 0);
}

/* Prints the effective user, and whether it has capabilities. */
static void who(void) {
    const char *has = has_capabilities() ? "with" : "without";
    printf("effective %d:%d, %s capabilities\n", geteuid(), getegid(), has);
}

static void devices(void) {
    static const char *const names[] = {
        "sda", "sdb", "vda", "vda1", "nvme0n1", "zram0", "loop0", "loop-control", "dm-0", "mapper/control",
        "mem", "port", "kmsg", "kvm", "fuse", "tty", "tty0", "tty1", "ttyS0", "console", "pts/0",
        "vcs", "vcsa1", "net/tun", "vhost-net", "vhost-vsock", "vsock", "userfaultfd", "hwrng",
        "cpu_dma_latency", "autofs", "btrfs-control", "vga_arbiter", "rtc0", "watchdog", "uinput",
        "input/event0", "snapshot", "cpu/0/msr", "nvram", "hpet", "mei0", "tpm0", "dri/card0", "snd/seq",
        "uhid", "ppp",
    };
    char path[64];
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        snprintf(path, sizeof path, "/dev/%s", names[n]);
        MUST_FAIL(path, open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
        MUST_FAIL(path, open(path, O_RDWR | O_NONBLOCK | O_NOCTTY));
    }
    const char *const folders[] = {".", "/tmp", "/dev", "/dev/shm"};
    const struct { mode_t kind; dev_t number; } made[] = {
        {S_IFCHR, makedev(1, 1)}, {S_IFCHR, makedev(1, 11)}, {S_IFCHR, makedev(5, 0)},
        {S_IFCHR, makedev(10, 229)}, {S_IFBLK, makedev(8, 0)}, {S_IFBLK, makedev(254, 0)},
        {S_IFBLK, makedev(7, 0)},
    };
    for (int folder = 0; folder < 4; folder++) {
        snprintf(path, sizeof path, "%s/device", folders[folder]);
        for (size_t n = 0; n < sizeof made / sizeof *made; n++) {
            MUST_FAIL("mknod", mknod(path, made[n].kind | 0666, made[n].number));
            MUST_FAIL("opening what was made", open(path, O_RDWR | O_NONBLOCK | O_NOCTTY));
        }
    }
    MUST_HOLD("other files can be made", mknod("pipe", S_IFIFO | 0600, 0) == 0 && unlink("pipe") == 0);
}

static void terminals(void) {
    char letter = 'x', paste[2] = {3, 0};
    /* The kernel only uses the low half of the number. */
    const unsigned long input = 0x100000000UL | TIOCSTI, selection = 0xff00000000UL | TIOCLINUX;
    for (int fd = 0; fd < 3; fd++) {
        MUST_FAIL("pushing input", ioctl(fd, TIOCSTI, &letter));
        MUST_FAIL("pushing input by a long number", syscall(SYS_ioctl, fd, input, &letter));
        MUST_FAIL("a console's selection", ioctl(fd, TIOCLINUX, paste));
        MUST_FAIL("the same by a long number", syscall(SYS_ioctl, fd, selection, paste));
        MUST_FAIL("taking a terminal", ioctl(fd, TIOCSCTTY, 1));
        MUST_FAIL("a terminal's session", tcgetsid(fd));
        MUST_HOLD("no terminal", !isatty(fd));
    }
    MUST_FAIL("the controlling terminal", open("/dev/tty", O_RDWR));
    int own = posix_openpt(O_RDWR | O_NOCTTY);
    if (own >= 0) {
        MUST_HOLD("a terminal of its own", grantpt(own) == 0 && unlockpt(own) == 0);
        int other = open(ptsname(own), O_RDWR | O_NOCTTY);
        MUST_HOLD("its other end", isatty(other));
        MUST_FAIL("pushing input into it", ioctl(other, TIOCSTI, &letter));
        MUST_FAIL("pushing input into it by a long number", syscall(SYS_ioctl, other, input, &letter));
        MUST_FAIL("another discipline of it", ioctl(other, TIOCSETD, &(int){3}));
        MUST_FAIL("the console's output", ioctl(other, TIOCCONS));
    }
    MUST_HOLD("a session of its own", getsid(0) == getsid(getppid()) || getsid(0) == getpid());
}

/* Checks that the filter denies a request with this error before the kernel inspects the invalid
   descriptor. A request that passes the filter fails with EBADF instead. */
static void no_request(const char *what, long call, unsigned long first, unsigned long second, int error) {
    static const unsigned long above[] = {0, 0x100000000UL, 0xffffffff00000000UL};
    for (int half = 0; half < 3; half++) {
        int option = call == SYS_setsockopt;
        unsigned long asked[] = {option ? first : first | above[half], second | above[half]};
        errno = 0;
        long done = option ? syscall(call, -1, asked[0], asked[1], NULL, 0) : syscall(call, -1, asked[0], NULL);
        MUST_HOLD(what, done == -1 && errno == error);
    }
}

/* Multiplexed calls: requests of file systems, drivers and networks that the kernel would accept
   for a descriptor that is open for reading. */
static void requests(void) {
    static const struct {
        const char *name;
        unsigned long number;
    } closed[] = {
        {"BTRFS_IOC_SNAP_CREATE", 0x50009401},   {"BTRFS_IOC_SNAP_CREATE_V2", 0x50009417},
        {"BTRFS_IOC_SUBVOL_CREATE", 0x5000940e}, {"BTRFS_IOC_SUBVOL_CREATE_V2", 0x50009418},
        {"BTRFS_IOC_SNAP_DESTROY", 0x5000940f},  {"BTRFS_IOC_SUBVOL_SETFLAGS", 0x4008941a},
        {"BTRFS_IOC_DEFRAG", 0x50009402},        {"BTRFS_IOC_INO_LOOKUP", 0xd0009412},
        {"BTRFS_IOC_TREE_SEARCH", 0xd0009411},   {"BTRFS_IOC_SEND", 0x40489426},
        {"FIDEDUPERANGE", 0xc0189436},           {"FS_IOC_SETFLAGS", 0x40086602},
        {"FS_IOC32_SETFLAGS", 0x40046602},       {"FS_IOC_SETVERSION", 0x40087602},
        {"FS_IOC_FSSETXATTR", 0x401c5820},       {"FS_IOC_ENABLE_VERITY", 0x40806685},
        {"FS_IOC_SET_ENCRYPTION_POLICY", 0x800c6613}, {"FS_IOC_SETFSLABEL", 0x41009432},
        {"EXT4_IOC_MOVE_EXT", 0xc028660f},       {"EXT4_IOC_SWAP_BOOT", 0x6611},
        {"XFS_IOC_SWAPEXT", 0xc0c0586d},         {"XFS_IOC_OPEN_BY_HANDLE", 0x4038586b},
        {"F2FS_IOC_START_ATOMIC_WRITE", 0xf501}, {"FAT_IOCTL_SET_ATTRIBUTES", 0x40047211},
        {"FIFREEZE", 0xc0045877},                {"FITRIM", 0xc0185879},
        {"FIBMAP", 1},                           {"NS_GET_USERNS", 0xb701},
        {"NS_GET_PARENT", 0xb702},               {"PIDFD_GET_MNT_NAMESPACE", 0xff03},
        {"SIOCGSKNS", 0x894c},                   {"SIOCUNIXFILE", 0x89e0},
        {"SIOCSIFFLAGS", 0x8914},                {"SIOCETHTOOL", 0x8946},
        {"SIOCBRADDBR", 0x89a0},                 {"TIOCSTI", 0x5412},
        {"TIOCLINUX", 0x541c},                   {"TIOCSETD", 0x5423},
        {"TIOCCONS", 0x541d},                    {"FIOSETOWN", 0x8901},
        {"SIOCSPGRP", 0x8902},                   {"LOOP_SET_FD", 0x4c00},
        {"RNDADDENTROPY", 0x40085203},           {"INOTIFY_IOC_SETNEXTWD", 0x40044900},
        {"UFFDIO_API", 0xc018aa3f},              {"a number of nobody's", 0x12345678},
    };
    static const unsigned long open_to_all[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, 0x40049409,
                                                0x4020940d, 0xc020660b, 0x80086601, 0x8912, 0x8915};
    for (size_t n = 0; n < sizeof closed / sizeof *closed; n++)
        no_request(closed[n].name, SYS_ioctl, closed[n].number, 0, ENOTTY);
    for (size_t n = 0; n < sizeof open_to_all / sizeof *open_to_all; n++) {
        errno = 0;
        MUST_HOLD("a request that programs make", syscall(SYS_ioctl, -1, open_to_all[n], NULL) == -1 && errno == EBADF);
    }
    /* F_SETLEASE, F_NOTIFY, F_SET_RW_HINT, F_SET_FILE_RW_HINT, F_SETDELEG */
    const unsigned long commands[] = {1024, 1026, 1036, 1038, 1040, 99};
    for (int n = 0; n < 6; n++)
        no_request("a command of fcntl", SYS_fcntl, commands[n], 0, EINVAL);
    MUST_HOLD("a lock", syscall(SYS_fcntl, -1, F_SETLK, NULL) == -1 && errno == EBADF);
    /* Packet filters, another protocol module for a socket, packet tables, an unknown level. */
    const unsigned long options[][2] = {{1, 26}, {1, 50}, {1, 51}, {1, 52}, {6, 31}, {6, 19}, {0, 64}, {41, 64}, {99, 1}};
    for (int n = 0; n < 9; n++)
        no_request("an option of sockets", SYS_setsockopt, options[n][0], options[n][1], ENOPROTOOPT);
    MUST_HOLD("an option", syscall(SYS_setsockopt, -1, 1, 2, NULL, 0) == -1 && errno == EBADF);
    /* PR_SET_PTRACER, PR_SCHED_CORE, PR_SET_MEMORY_MERGE, PR_SET_MM */
    MUST_FAIL("who may look into it", prctl(0x59616d61, -1, 0, 0, 0));
    MUST_FAIL("a group of processors", prctl(62, 1, 0, 0, 0));
    MUST_FAIL("memory that is merged", prctl(67, 1, 0, 0, 0));
    MUST_HOLD("a name", prctl(PR_SET_NAME, "attacker", 0, 0, 0) == 0);
}

/* Clones a child, which exits immediately. */
static long cloned(unsigned long flags) {
    long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return pid;
}

static long cloned_anew(unsigned long flags) {
    uint64_t arguments[11] = {flags, 0, 0, 0, SIGCHLD};
    long pid = syscall(SYS_clone3, arguments, sizeof arguments);
    if (pid == 0)
        _exit(0);
    return pid;
}

static void join(const char *process) {
    static const char *const names[] = {"mnt", "uts", "ipc", "user", "pid", "net", "cgroup", "time"};
    for (size_t n = 0; n < NAMESPACES; n++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%s/ns/%s", process, names[n]);
        int fd = open(path, O_RDONLY);
        if (strcmp(process, "self"))
            MUST_FAIL(path, fd);
        MUST_BE_UNKNOWN("setns", syscall(SYS_setns, fd, 0));
        if (fd >= 0)
            MUST_FAIL("the namespace above", ioctl(fd, 0xb702));
    }
}

static void spaces(void) {
    MUST_HOLD("a child without them", cloned(0) > 0);
    MUST_HOLD("unshare without them", unshare(CLONE_FS) == 0);
    for (size_t n = 0; n < NAMESPACES; n++) {
        unsigned long flag = namespaces[n].flag;
        MUST_BE_UNKNOWN(namespaces[n].name, unshare(flag));
        MUST_BE_UNKNOWN(namespaces[n].name, syscall(SYS_unshare, 0x100000000UL | flag));
        MUST_BE_UNKNOWN(namespaces[n].name, cloned_anew(flag));
        if (flag == CLONE_NEWNS || flag == CLONE_NEWPID || flag == CLONE_NEWIPC)
            MUST_BE_HELPERS(namespaces[n].name, cloned(flag));
        else if (flag != CLONE_NEWTIME)
            MUST_BE_UNKNOWN(namespaces[n].name, cloned(flag));
        if (flag != CLONE_NEWTIME && flag != CLONE_NEWUSER)
            MUST_BE_UNKNOWN(namespaces[n].name, cloned(flag | CLONE_NEWUSER));
    }
    MUST_BE_UNKNOWN("clone3", cloned_anew(0));
    join("1");
    join("self");
    char parent[16];
    snprintf(parent, sizeof parent, "%d", getppid());
    MUST_FAIL("all of a process's", syscall(SYS_setns, syscall(SYS_pidfd_open, getppid(), 0), CLONE_NEWNS));
}

static void mounts(void) {
    char attributes[32] = {0};
    mkdir("mountpoint", 0700);
    HELPERS_CALL(mount, "none", "mountpoint", "tmpfs", 0, NULL);
    HELPERS_CALL(mount, "/", "mountpoint", NULL, MS_BIND | MS_REC, NULL);
    HELPERS_CALL(mount, "proc", "mountpoint", "proc", 0, NULL);
    HELPERS_CALL(mount, "none", "/", NULL, MS_REMOUNT | MS_BIND, NULL);
    HELPERS_CALL(mount, "none", "/proc", NULL, MS_REMOUNT, NULL);
    HELPERS_CALL(mount, "none", "/", NULL, MS_SHARED | MS_REC, NULL);
    HELPERS_CALL(mount, "/tmp", "mountpoint", NULL, MS_MOVE, NULL);
    HELPERS_CALL(umount2, "/proc", MNT_DETACH);
    HELPERS_CALL(umount2, "/tmp", MNT_DETACH);
    HELPERS_CALL(umount2, "mountpoint", 0);
    CALL(pivot_root, ".", "mountpoint");
    HELPERS_CALL(open_tree, AT_FDCWD, "/", 1);
    CALL(open_tree, AT_FDCWD, "/", 0);
    HELPERS_CALL(move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "mountpoint", 0);
    HELPERS_CALL(fsopen, "tmpfs", 0);
    CALL(fspick, AT_FDCWD, "/", 0);
    HELPERS_CALL(fsconfig, -1, 6, NULL, NULL, 0);
    HELPERS_CALL(fsmount, -1, 0, 0);
    HELPERS_CALL(mount_setattr, AT_FDCWD, "/", 0, attributes, sizeof attributes);
    CALL(chroot, "mountpoint");
    CALL(name_to_handle_at, AT_FDCWD, ".", attributes, attributes, 0);
    CALL(open_by_handle_at, AT_FDCWD, attributes, O_RDONLY);
    CALL(fanotify_init, 0, O_RDONLY);
    CALL(quotactl, 0x80000700, "/dev/vda", 0, attributes);
    MUST_HOLD("the folder is as it was", rmdir("mountpoint") == 0);
}

static void calls(void) {
    char space[256] = {0};
    only_in_a_sandbox();
    CALL(bpf, 0, space, 48);
    CALL(bpf, 5, space, 48);
    CALL(perf_event_open, space, 0, -1, -1, 0);
    CALL(userfaultfd, 1);
    CALL(userfaultfd, 0);
    CALL(io_setup, 128, space);
    CALL(keyctl, 0, -3, 1);
    CALL(add_key, "user", "escape", "x", 1, -3);
    CALL(request_key, "user", "escape", "", 0);
    CALL(kexec_load, 0, 0, NULL, 0xffff);
    CALL(kexec_file_load, -1, -1, 0, "", 0xffff);
    CALL(init_module, space, 0, "");
    CALL(finit_module, -1, "", 0);
    CALL(delete_module, "no_such_module_of_anybody", O_NONBLOCK);
    /* Not the magic numbers that the kernel would accept. */
    CALL(reboot, 1, 2, 3, NULL);
    CALL(swapon, "/no-such-file", 0);
    CALL(swapoff, "/no-such-file");
    gethostname(space, sizeof space);
    CALL(sethostname, space, strlen(space));
    CALL(setdomainname, "(none)", 6);
    /* Without a time: the kernel would only set the time zone, or nothing. */
    CALL(settimeofday, NULL, NULL);
    CALL(clock_settime, 99, space);
    CALL(adjtimex, space);
    CALL(clock_adjtime, 0, space);
    CALL(acct, "/no-such-file/at/all");
    CALL(syslog, 3, space, sizeof space);
    CALL(vhangup);
    CALL(ptrace, 0, 0, 0, 0);
    CALL(process_vm_readv, getpid(), NULL, 0, NULL, 0, 0);
    CALL(process_vm_writev, getpid(), NULL, 0, NULL, 0, 0);
    CALL(pidfd_getfd, -1, 0, 0);
    CALL(kcmp, getpid(), getpid(), 0, 0, 0);
    CALL(migrate_pages, 0, 0, NULL, NULL);
    CALL(move_pages, 0, 0, NULL, NULL, NULL, 0);
    CALL(io_uring_setup, 4, space);
    CALL(memfd_secret, 0);
    CALL(lookup_dcookie, 0, space, 8);
    CALL(remap_file_pages, 0, 0, 0, 0, 0);
    /* Calls that no kernel implements yet. */
    MUST_BE_UNKNOWN("a call of the future", syscall(9999));
    MUST_BE_UNKNOWN("a negative call", syscall(-1));
#ifdef __x86_64__
    CALL(iopl, 3);
    CALL(ioperm, 0, 1, 1);
    CALL(modify_ldt, 0, space, 8);
    CALL(uselib, "/bin/true");
    CALL(sysfs, 3);
    CALL(_sysctl, space);
    CALL(nfsservctl, 0, 0, 0);
#endif
}

#ifdef __x86_64__
/* Returns how a child ended that made a call by its 32-bit number. */
static int old_call(int number, int argument) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        int answer;
        __asm__ volatile("int $0x80" : "=a"(answer) : "a"(number), "b"(argument), "c"(0), "d"(0) : "memory");
        _exit(answer >= 0 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return status;
}

static void other_numbers(void) {
    /* getpid, unshare, ptrace, io_uring_setup, setns, socketcall */
    const int old[] = {20, 310, 26, 425, 346, 102}, argument[] = {0, CLONE_NEWUSER, 0, 4, -1, 1};
    for (int n = 0; n < 6; n++) {
        int status = old_call(old[n], argument[n]);
        MUST_HOLD("a 32-bit call is deadly", WIFSIGNALED(status));
    }
    /* The usual calls, with the flag of the x32 table. */
    for (int number = 0; number < 600; number++)
        if (number != SYS_exit && number != SYS_exit_group)
            MUST_BE_UNKNOWN("an x32 call", syscall(0x40000000L | number, -1, 0, 0, 0, 0, 0));
    MUST_BE_UNKNOWN("getpid in x32", syscall(0x40000000L | SYS_getpid));
    MUST_HOLD("getpid", syscall(SYS_getpid) > 0);
}
#else
static void other_numbers(void) {
    puts("this machine has one table of numbers");
}
#endif

static void personalities(void) {
    MUST_HOLD("asking", personality(0xffffffff) == 0);
    MUST_HOLD("without random addresses", personality(ADDR_NO_RANDOMIZE) == 0 && personality(0) != -1);
    const unsigned long others[] = {READ_IMPLIES_EXEC, MMAP_PAGE_ZERO, PER_LINUX32, ADDR_COMPAT_LAYOUT,
                                    ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC, PER_SVR4};
    for (int n = 0; n < 6; n++)
        MUST_BE_UNKNOWN("another personality", personality(others[n]));
    MUST_HOLD("the same as before", personality(0xffffffff) == 0);
}

/* Opens each file, and writes only where the change can be undone. */
static void switches(int count, char **paths) {
    for (int n = 0; n < count; n++) {
        MUST_FAIL(paths[n], open(paths[n], O_WRONLY | O_NONBLOCK));
        MUST_FAIL(paths[n], truncate(paths[n], 0));
    }
    int fd = open("/proc/sys/kernel/core_pattern", O_WRONLY | O_TRUNC);
    MUST_FAIL("core_pattern", fd < 0 ? -1 : write(fd, "|/escaped", 9));
    int groups = mkdir("/sys/fs/cgroup/escaped", 0700);
    MUST_FAIL("a group of processes", groups);
    rmdir("/sys/fs/cgroup/escaped");
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*attack)(void);
    } all[] = {
        {"rights", rights}, {"who", who}, {"devices", devices}, {"terminals", terminals}, {"spaces", spaces},
        {"requests", requests},
        {"mounts", mounts}, {"calls", calls}, {"numbers", other_numbers}, {"personalities", personalities},
    };
    alarm(30);
    if (count > 1 && strcmp(arguments[1], "who"))
        only_in_a_sandbox();
    if (count > 2 && !strcmp(arguments[1], "switches")) {
        switches(count - 2, arguments + 2);
        return finished();
    }
    for (size_t n = 0; count > 1 && n < sizeof all / sizeof *all; n++)
        if (!strcmp(arguments[1], all[n].name)) {
            all[n].attack();
            return finished();
        }
    return 1;
}
