//! Table of the system calls that commands may make. All others fail with ENOSYS, as if the kernel did not
//! implement them: programs have fallbacks for that, and calls of future kernels stay blocked until they are
//! reviewed. Multiplexed calls (`ioctl`, `fcntl`, `prctl`, `seccomp`, `setsockopt`) are in `requests`.
//!
//! Deliberately excluded, in addition to calls that need capabilities:
//! - `ptrace`, `process_vm_*`, `pidfd_getfd`, `kcmp`: memory and descriptors of other processes.
//! - `bpf`, `perf_event_open`, `userfaultfd`, `io_uring_*`: kernel attack surface. `io_uring` also bypasses
//!   this filter.
//! - `io_setup` and its family: a limited resource shared by all users of the machine.
//! - `keyctl`, `add_key`, `request_key`: keys are not namespaced.
//! - `mount` and its family, except where the helper needs them (see `SETUP`), and `setns`.
//! - `clone3`: its flags are behind a pointer that a filter cannot see. The C library falls back to `clone`.

use libc::c_long;

/// I/O on descriptors, and queries about them.
const DESCRIPTORS: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_sync_file_range,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_copy_file_range,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_signalfd4,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_inotify_rm_watch,
    libc::SYS_memfd_create,
];

/// File access by path. Mounts and Landlock restrict the reachable paths. `openat2` is excluded, because its
/// mode is in memory that a filter cannot see. Programs fall back to `openat`.
const FILES: &[c_long] = &[
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_truncate,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_umask,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
];

/// Calls with which a supervisor inspects the command's calls. It shares the filter with the command, for
/// which a filter of its own denies them.
pub const OF_SUPERVISOR: &[&[c_long]] = &[&[libc::SYS_openat2, libc::SYS_process_vm_readv]];

/// Changes to the mode, times, or owner of a file. Landlock does not restrict these. In tiers that rely on
/// Landlock alone, the supervisor performs each of them on the caller's behalf, or they are refused.
pub const ATTRIBUTES: &[&[c_long]] = &[
    &[
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        SYS_FCHMODAT2,
        libc::SYS_utimensat,
        libc::SYS_fchown,
        libc::SYS_fchownat,
    ],
    LEGACY_ATTRIBUTES,
];

/// Changes to extended attributes. Landlock does not restrict these either, so they are excluded in tiers
/// that rely on it alone.
const EXTENDED_ATTRIBUTES: &[c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Memory management.
const MEMORY: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_mincore,
    libc::SYS_madvise,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_munlock,
    libc::SYS_mlockall,
    libc::SYS_munlockall,
    libc::SYS_membarrier,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect,
    libc::SYS_get_mempolicy,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
];

/// Processes and threads, and queries about them.
const PROCESSES: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgid,
    libc::SYS_setpgid,
    libc::SYS_getsid,
    libc::SYS_setsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_getpriority,
    libc::SYS_setpriority,
    libc::SYS_getrlimit,
    libc::SYS_setrlimit,
    libc::SYS_prlimit64,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_getcpu,
    libc::SYS_ioprio_get,
    libc::SYS_ioprio_set,
    libc::SYS_pidfd_open,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_setparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_getattr,
    libc::SYS_sched_setattr,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_rr_get_interval,
    libc::SYS_getrandom,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    libc::SYS_restart_syscall,
];

/// Signals to other processes, confined by a PID namespace or Landlock.
const SIGNALS_OUT: &[c_long] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
];

/// Signal handling of the process itself.
const SIGNALS: &[c_long] = &[
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
];

/// Clocks and timers.
const TIME: &[c_long] = &[
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
];

/// Inter-process communication within one command.
const MESSAGES: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmdt,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
];

/// Operations on existing sockets. A separate rule limits the socket types.
const SOCKETS: &[c_long] = &[
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_shutdown,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
];

/// Addressing a peer. Landlock does not restrict socket paths, so these are excluded in tiers that rely on it
/// alone and have no network.
const ADDRESSES: &[c_long] = &[
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_sendmmsg,
];

/// Legacy calls that exist only on this architecture.
#[cfg(target_arch = "x86_64")]
const LEGACY: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_signalfd,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_getpgrp,
    libc::SYS_pause,
    libc::SYS_alarm,
    libc::SYS_time,
    libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[c_long] = &[];

/// Legacy variants of [`ATTRIBUTES`].
#[cfg(target_arch = "x86_64")]
const LEGACY_ATTRIBUTES: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_chown,
    libc::SYS_lchown,
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_ATTRIBUTES: &[c_long] = &[];

/// Mount calls that the helper makes for each command. Each requires `CAP_SYS_ADMIN`, which no command has,
/// before it changes anything. `fsconfig` also requires a descriptor from `fsopen`.
const SETUP: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_mount_setattr,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
];

/// System call number of `fchmodat2` (Linux 6.6), identical on all architectures.
pub const SYS_FCHMODAT2: c_long = 452;

/// Notifications about changes of a file or folder.
pub const WATCHES: &[&[c_long]] = &[&[libc::SYS_inotify_init1, libc::SYS_inotify_add_watch], LEGACY_WATCHES];
#[cfg(target_arch = "x86_64")]
const LEGACY_WATCHES: &[c_long] = &[libc::SYS_inotify_init];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_WATCHES: &[c_long] = &[];

/// Mode bits that run a program with the permissions of its owner or group.
pub const SET_ID: u32 = 0o6000;

/// Calls that change the mode of an existing file, each with the index of the mode argument.
pub const MODES: &[&[(c_long, u8)]] =
    &[&[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (SYS_FCHMODAT2, 2)], LEGACY_MODES];
#[cfg(target_arch = "x86_64")]
const LEGACY_MODES: &[(c_long, u8)] = &[(libc::SYS_chmod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_MODES: &[(c_long, u8)] = &[];

/// Calls that always create a file, each with the index of the mode argument.
pub const MAKES: &[&[(c_long, u8)]] = &[&[(libc::SYS_mknodat, 2)], LEGACY_MAKES];
#[cfg(target_arch = "x86_64")]
const LEGACY_MAKES: &[(c_long, u8)] = &[(libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_MAKES: &[(c_long, u8)] = &[];

/// Calls that open a file, with the indexes of the flags and mode arguments.
#[cfg(target_arch = "x86_64")]
pub const OPENS: &[(c_long, u8, u8)] = &[(libc::SYS_openat, 2, 3), (libc::SYS_open, 1, 2)];
/// Calls that open a file, with the indexes of the flags and mode arguments.
#[cfg(not(target_arch = "x86_64"))]
pub const OPENS: &[(c_long, u8, u8)] = &[(libc::SYS_openat, 2, 3)];

/// Calls that act on a process given by the PID in the first argument.
pub const ON_PROCESS: &[c_long] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
];

/// Calls allowed in every cell.
pub const ALWAYS: &[&[c_long]] = &[DESCRIPTORS, FILES, MEMORY, PROCESSES, SIGNALS, TIME, SOCKETS, LEGACY];
/// Calls for cells in which the helper mounts for each command.
pub const OWN_MOUNTS: &[&[c_long]] = &[SETUP];
/// Calls for cells in which commands see only their own files.
pub const OWN_FILES: &[&[c_long]] = &[EXTENDED_ATTRIBUTES];
/// Calls for cells in which signals and message keys reach only the command's own processes.
pub const OWN_SIGNALS: &[&[c_long]] = &[SIGNALS_OUT];
/// Calls for cells with a separate IPC namespace (System V objects and message queues).
pub const OWN_MESSAGES: &[&[c_long]] = &[MESSAGES];
/// Calls for cells in which an address reaches only what the network policy grants.
pub const OWN_ADDRESSES: &[&[c_long]] = &[ADDRESSES];
