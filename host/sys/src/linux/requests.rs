//! Permitted operations of multiplexed system calls, which select the operation by an argument.
//!
//! A request that is not listed is refused before the kernel looks at the descriptor. Drivers and file
//! systems define requests of their own. Some change a file through a read-only descriptor
//! (`BTRFS_IOC_SNAP_CREATE`, `FS_IOC_SETFLAGS`, `FS_IOC_ENABLE_VERITY`), some create descriptors
//! (`SIOCGSKNS`, `NS_GET_USERNS`), and some load modules (`TIOCSETD`). The kernel uses the low 32 bits of
//! each request, and so does the filter.

use libc::{c_int, c_long};

/// A system call with the permitted values of one argument.
#[derive(Debug, Clone, Copy)]
pub struct Requests {
    /// System call number.
    pub call: c_long,
    /// Argument and value to which the entry is limited, if any.
    pub within: Option<(u8, u32)>,
    /// Index of the argument that selects the operation.
    pub argument: u8,
    /// Permitted operations.
    pub allowed: &'static [u32],
    /// Error for all other operations, which programs interpret as unsupported by the kernel.
    pub error: c_int,
}

/// Creates an entry for a call whose second argument selects the operation.
const fn second(call: c_long, allowed: &'static [u32], error: c_int) -> Requests {
    Requests { call, within: None, argument: 1, allowed, error }
}

/// Creates an entry for `setsockopt` options at one level.
const fn options(level: u32, allowed: &'static [u32]) -> Requests {
    let call = libc::SYS_setsockopt;
    Requests { call, within: Some((1, level)), argument: 2, allowed, error: libc::ENOPROTOOPT }
}

/// Entries for every cell. The first matching entry decides, so the last entry of a call refuses the rest.
pub const ALWAYS: &[Requests] = &[
    Requests { call: libc::SYS_prctl, within: None, argument: 0, allowed: PRCTL, error: libc::EINVAL },
    Requests { call: libc::SYS_seccomp, within: None, argument: 0, allowed: SECCOMP, error: libc::EINVAL },
    options(SOL_SOCKET, SOCKET_OPTIONS),
    options(6, TCP_OPTIONS),
    options(17, UDP_OPTIONS),
    options(0, IP_OPTIONS),
    options(41, IPV6_OPTIONS),
    options(270, NETLINK_OPTIONS),
    Requests {
        call: libc::SYS_setsockopt,
        within: None,
        argument: 2,
        allowed: &[],
        error: libc::ENOPROTOOPT,
    },
];

/// `ioctl` requests where all visible pseudo-terminals belong to the commands.
pub const OWN_TERMINALS: Requests = second(libc::SYS_ioctl, IOCTL, libc::ENOTTY);
/// `ioctl` requests elsewhere: none creates a pseudo-terminal or acquires a terminal.
pub const NO_TERMINALS: Requests =
    second(libc::SYS_ioctl, IOCTL.split_at(IOCTL.len() - TERMINALS).0, libc::ENOTTY);

/// Number of pseudo-terminal requests at the end of [`IOCTL`].
const TERMINALS: usize = 4;

/// `fcntl` commands where signals reach only the command's own processes.
pub const OWN_SIGNALS: Requests = second(libc::SYS_fcntl, FCNTL, libc::EINVAL);
/// `fcntl` commands elsewhere: none selects the signaled process or the signal.
pub const SHARED_SIGNALS: Requests =
    second(libc::SYS_fcntl, FCNTL.split_at(FCNTL.len() - OWNERS).0, libc::EINVAL);

/// Number of signal owner commands at the end of [`FCNTL`].
const OWNERS: usize = 3;

/// `ioctl` requests, from the kernel's `asm-generic/ioctls.h`, `sockios.h`, `fs.h`, and `random.h`. C
/// libraries disagree about the type of these constants and define only some of them.
///
/// Deliberately excluded, in addition to those above: `TIOCSTI` and `TIOCLINUX` (inject terminal input),
/// `FS_IOC_FSSETXATTR` and `FS_IOC_SETVERSION` (change attributes through a read-only descriptor),
/// `FIDEDUPERANGE` (changes extents through a read-only descriptor), `FIOSETOWN` and `SIOCSPGRP` (select the
/// signaled process), and everything that configures a network.
const IOCTL: &[u32] = &[
    0x5401,      // TCGETS, used by isatty
    0x541b,      // FIONREAD, SIOCINQ
    0x5421,      // FIONBIO
    0x5451,      // FIOCLEX
    0x5450,      // FIONCLEX
    0x5413,      // TIOCGWINSZ
    0x540f,      // TIOCGPGRP
    0x5410,      // TIOCSPGRP
    0x5402,      // TCSETS
    0x5403,      // TCSETSW
    0x5404,      // TCSETSF
    0x802c_542a, // TCGETS2
    0x402c_542b, // TCSETS2
    0x402c_542c, // TCSETSW2
    0x402c_542d, // TCSETSF2
    0x5405,      // TCGETA
    0x5406,      // TCSETA
    0x5407,      // TCSETAW
    0x5408,      // TCSETAF
    0x5409,      // TCSBRK, used by tcdrain
    0x540a,      // TCXONC
    0x540b,      // TCFLSH
    0x5411,      // TIOCOUTQ, SIOCOUTQ
    0x5414,      // TIOCSWINSZ
    0x5422,      // TIOCNOTTY
    0x5424,      // TIOCGETD
    0x5429,      // TIOCGSID
    0x8004_5430, // TIOCGPTN
    0x5452,      // FIOASYNC, used by nginx together with F_SETOWN
    0x5460,      // FIOQSIZE
    // Extent sharing, used by `cp`. The kernel requires a descriptor that is open for writing.
    0x4004_9409, // FICLONE
    0x4020_940d, // FICLONERANGE
    0xc020_660b, // FS_IOC_FIEMAP
    0x8008_6601, // FS_IOC_GETFLAGS
    0x8004_6601, // FS_IOC32_GETFLAGS
    0x8008_7601, // FS_IOC_GETVERSION
    0x801c_581f, // FS_IOC_FSGETXATTR
    0x2,         // FIGETBSZ
    // Interface queries. A command sees only its own network, or one that it may use anyway.
    0x8905,      // SIOCATMARK
    0x8910,      // SIOCGIFNAME
    0x8912,      // SIOCGIFCONF
    0x8913,      // SIOCGIFFLAGS
    0x8915,      // SIOCGIFADDR
    0x8917,      // SIOCGIFDSTADDR
    0x8919,      // SIOCGIFBRDADDR
    0x891b,      // SIOCGIFNETMASK
    0x891d,      // SIOCGIFMETRIC
    0x8921,      // SIOCGIFMTU
    0x8927,      // SIOCGIFHWADDR
    0x8933,      // SIOCGIFINDEX
    0x8942,      // SIOCGIFTXQLEN
    0x8970,      // SIOCGIFMAP
    0x8906,      // SIOCGSTAMP
    0x8907,      // SIOCGSTAMPNS
    0x8004_5200, // RNDGETENTCNT
    // Seccomp notifications, for the supervisor. No command has such a descriptor, or can create one: the
    // kernel allows a single listener per process tree.
    0xc050_2100, // SECCOMP_IOCTL_NOTIF_RECV
    0xc018_2101, // SECCOMP_IOCTL_NOTIF_SEND
    0x4008_2102, // SECCOMP_IOCTL_NOTIF_ID_VALID
    0x4018_2103, // SECCOMP_IOCTL_NOTIF_ADDFD
    0x4008_2104, // SECCOMP_IOCTL_NOTIF_SET_FLAGS
    0x4004_5431, // TIOCSPTLCK
    0x5441,      // TIOCGPTPEER
    0x540e,      // TIOCSCTTY
    0x5420,      // TIOCPKT
];

/// `fcntl` commands, from the kernel's `fcntl.h`.
///
/// Deliberately excluded: leases and delegations (`F_SETLEASE`, `F_SETDELEG`), which delay every process that
/// opens the file; `F_NOTIFY`, which watches a folder without being counted; and write-lifetime hints, which
/// persist on a file that is open only for reading.
const FCNTL: &[u32] = &[
    3,    // F_GETFL
    4,    // F_SETFL
    1,    // F_GETFD
    2,    // F_SETFD
    1030, // F_DUPFD_CLOEXEC
    0,    // F_DUPFD
    5,    // F_GETLK
    6,    // F_SETLK
    7,    // F_SETLKW
    36,   // F_OFD_GETLK
    37,   // F_OFD_SETLK
    38,   // F_OFD_SETLKW
    1031, // F_SETPIPE_SZ
    1032, // F_GETPIPE_SZ
    1033, // F_ADD_SEALS
    1034, // F_GET_SEALS
    1025, // F_GETLEASE
    1027, // F_DUPFD_QUERY
    1028, // F_CREATED_QUERY
    1035, // F_GET_RW_HINT
    1037, // F_GET_FILE_RW_HINT
    9,    // F_GETOWN
    11,   // F_GETSIG
    16,   // F_GETOWN_EX
    8,    // F_SETOWN
    10,   // F_SETSIG
    15,   // F_SETOWN_EX
];

/// `prctl` operations that affect only the caller, from the kernel's `prctl.h`.
///
/// Deliberately excluded: `PR_SET_MM` (changes what other processes read about the caller), `PR_SET_PTRACER`
/// (selects the permitted tracer), `PR_SCHED_CORE` (affects the processors of others), `PR_SET_IO_FLUSHER`,
/// `PR_SET_MEMORY_MERGE` (burdens the machine), and operations of future kernels.
const PRCTL: &[u32] = &[
    15,          // PR_SET_NAME
    16,          // PR_GET_NAME
    0x5356_4d41, // PR_SET_VMA, names memory regions
    0x4155_5856, // PR_GET_AUXV, for the C library and the supervisor; only root can read it as a file
    38,          // PR_SET_NO_NEW_PRIVS
    39,          // PR_GET_NO_NEW_PRIVS
    1,           // PR_SET_PDEATHSIG
    2,           // PR_GET_PDEATHSIG
    3,           // PR_GET_DUMPABLE
    4,           // PR_SET_DUMPABLE
    5,           // PR_GET_UNALIGN
    6,           // PR_SET_UNALIGN
    7,           // PR_GET_KEEPCAPS
    8,           // PR_SET_KEEPCAPS
    9,           // PR_GET_FPEMU
    10,          // PR_SET_FPEMU
    11,          // PR_GET_FPEXC
    12,          // PR_SET_FPEXC
    13,          // PR_GET_TIMING
    14,          // PR_SET_TIMING
    19,          // PR_GET_ENDIAN
    21,          // PR_GET_SECCOMP
    22,          // PR_SET_SECCOMP
    23,          // PR_CAPBSET_READ
    24,          // PR_CAPBSET_DROP
    25,          // PR_GET_TSC
    26,          // PR_SET_TSC
    27,          // PR_GET_SECUREBITS
    28,          // PR_SET_SECUREBITS
    29,          // PR_SET_TIMERSLACK
    30,          // PR_GET_TIMERSLACK
    31,          // PR_TASK_PERF_EVENTS_DISABLE
    32,          // PR_TASK_PERF_EVENTS_ENABLE
    34,          // PR_MCE_KILL_GET
    36,          // PR_SET_CHILD_SUBREAPER
    37,          // PR_GET_CHILD_SUBREAPER
    40,          // PR_GET_TID_ADDRESS
    41,          // PR_SET_THP_DISABLE
    42,          // PR_GET_THP_DISABLE
    45,          // PR_SET_FP_MODE
    46,          // PR_GET_FP_MODE
    47,          // PR_CAP_AMBIENT
    50,          // PR_SVE_SET_VL
    51,          // PR_SVE_GET_VL
    52,          // PR_GET_SPECULATION_CTRL
    53,          // PR_SET_SPECULATION_CTRL
    54,          // PR_PAC_RESET_KEYS
    55,          // PR_SET_TAGGED_ADDR_CTRL
    56,          // PR_GET_TAGGED_ADDR_CTRL
    58,          // PR_GET_IO_FLUSHER
    59,          // PR_SET_SYSCALL_USER_DISPATCH
    60,          // PR_PAC_SET_ENABLED_KEYS
    61,          // PR_PAC_GET_ENABLED_KEYS
    63,          // PR_SME_SET_VL
    64,          // PR_SME_GET_VL
    65,          // PR_SET_MDWE
    66,          // PR_GET_MDWE
    68,          // PR_GET_MEMORY_MERGE
    74,          // PR_GET_SHADOW_STACK_STATUS
    75,          // PR_SET_SHADOW_STACK_STATUS
    76,          // PR_LOCK_SHADOW_STACK_STATUS
];

/// All existing operations of `seccomp`.
const SECCOMP: &[u32] = &[0, 1, 2, 3];

const SOL_SOCKET: u32 = 1;

/// Options of every socket, from the kernel's `asm-generic/socket.h`. `SO_ATTACH_FILTER` and its relatives
/// are excluded, because they load programs into the kernel.
const SOCKET_OPTIONS: &[u32] = &[
    2,  // SO_REUSEADDR
    3,  // SO_TYPE
    5,  // SO_DONTROUTE
    6,  // SO_BROADCAST
    7,  // SO_SNDBUF, ignored
    8,  // SO_RCVBUF
    9,  // SO_KEEPALIVE
    10, // SO_OOBINLINE
    12, // SO_PRIORITY
    13, // SO_LINGER
    15, // SO_REUSEPORT
    16, // SO_PASSCRED
    18, // SO_RCVLOWAT
    20, // SO_RCVTIMEO
    21, // SO_SNDTIMEO
    25, // SO_BINDTODEVICE
    29, // SO_TIMESTAMP
    35, // SO_TIMESTAMPNS
    37, // SO_TIMESTAMPING
    40, // SO_RXQ_OVFL
    42, // SO_PEEK_OFF
    63, // SO_TIMESTAMP_NEW
    64, // SO_TIMESTAMPNS_NEW
    65, // SO_TIMESTAMPING_NEW
    66, // SO_RCVTIMEO_NEW
    67, // SO_SNDTIMEO_NEW
    76, // SO_PASSPIDFD
];

/// TCP options. Excluded are `TCP_ULP`, which hands a socket to another module, and `TCP_REPAIR`.
const TCP_OPTIONS: &[u32] = &[
    1,  // TCP_NODELAY
    2,  // TCP_MAXSEG
    3,  // TCP_CORK
    4,  // TCP_KEEPIDLE
    5,  // TCP_KEEPINTVL
    6,  // TCP_KEEPCNT
    7,  // TCP_SYNCNT
    8,  // TCP_LINGER2
    9,  // TCP_DEFER_ACCEPT
    10, // TCP_WINDOW_CLAMP
    12, // TCP_QUICKACK
    13, // TCP_CONGESTION
    18, // TCP_USER_TIMEOUT
    23, // TCP_FASTOPEN
    25, // TCP_NOTSENT_LOWAT
    30, // TCP_FASTOPEN_CONNECT
    36, // TCP_INQ
];

/// UDP options.
const UDP_OPTIONS: &[u32] = &[
    1,   // UDP_CORK
    103, // UDP_SEGMENT
    104, // UDP_GRO
];

/// IPv4 options. The numbers for packet filter and multicast routing tables are in the same space and are
/// excluded.
const IP_OPTIONS: &[u32] = &[
    1,  // IP_TOS
    2,  // IP_TTL
    6,  // IP_RECVOPTS
    8,  // IP_PKTINFO
    10, // IP_MTU_DISCOVER
    11, // IP_RECVERR
    12, // IP_RECVTTL
    13, // IP_RECVTOS
    15, // IP_FREEBIND
    20, // IP_RECVORIGDSTADDR
    24, // IP_BIND_ADDRESS_NO_PORT
    32, // IP_MULTICAST_IF
    33, // IP_MULTICAST_TTL
    34, // IP_MULTICAST_LOOP
    35, // IP_ADD_MEMBERSHIP
    36, // IP_DROP_MEMBERSHIP
    42, // MCAST_JOIN_GROUP
    45, // MCAST_LEAVE_GROUP
    46, // MCAST_JOIN_SOURCE_GROUP
    47, // MCAST_LEAVE_SOURCE_GROUP
    49, // IP_MULTICAST_ALL
    50, // IP_UNICAST_IF
];

/// IPv6 options.
const IPV6_OPTIONS: &[u32] = &[
    16, // IPV6_UNICAST_HOPS
    17, // IPV6_MULTICAST_IF
    18, // IPV6_MULTICAST_HOPS
    19, // IPV6_MULTICAST_LOOP
    20, // IPV6_ADD_MEMBERSHIP
    21, // IPV6_DROP_MEMBERSHIP
    23, // IPV6_MTU_DISCOVER
    24, // IPV6_MTU
    25, // IPV6_RECVERR
    26, // IPV6_V6ONLY
    42, // MCAST_JOIN_GROUP
    45, // MCAST_LEAVE_GROUP
    46, // MCAST_JOIN_SOURCE_GROUP
    47, // MCAST_LEAVE_SOURCE_GROUP
    49, // IPV6_RECVPKTINFO
    50, // IPV6_PKTINFO
    51, // IPV6_RECVHOPLIMIT
    66, // IPV6_RECVTCLASS
    67, // IPV6_TCLASS
    72, // IPV6_ADDR_PREFERENCES
    76, // IPV6_UNICAST_IF
];

/// Options of netlink sockets, which list the network interfaces.
const NETLINK_OPTIONS: &[u32] = &[
    1,  // NETLINK_ADD_MEMBERSHIP
    2,  // NETLINK_DROP_MEMBERSHIP
    3,  // NETLINK_PKTINFO
    5,  // NETLINK_NO_ENOBUFS
    10, // NETLINK_CAP_ACK
    11, // NETLINK_EXT_ACK
    12, // NETLINK_GET_STRICT_CHK
];
