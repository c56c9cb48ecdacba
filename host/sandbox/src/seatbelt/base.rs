//! Rules that are the same for every command.

/// Rules that every program needs to run and cannot cause harm with: itself, its own processes, devices
/// without data, and information about the machine. They permit no files of the user, and no service that
/// starts programs or reads keys.
pub(super) const BASE: &str = r#"(deny default)
; Itself, and what it started.
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow process-info-pidinfo (target self))
(allow ipc-posix-sem)
(allow ipc-posix-shm*)
; Devices that hold nothing.
(allow file-read* file-test-existence
  (literal "/dev") (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom")
  (literal "/dev/dtracehelper") (literal "/dev/tty") (subpath "/dev/fd"))
(allow file-write-data
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/dtracehelper") (subpath "/dev/fd"))
(allow file-ioctl (literal "/dev/dtracehelper"))
; The system's own parts, which nobody can change.
(allow file-read* file-map-executable file-test-existence
  (subpath "/System/Library") (subpath "/System/Cryptexes") (subpath "/System/Volumes/Preboot/Cryptexes")
  (subpath "/private/var/db/dyld") (subpath "/private/var/db/timezone") (subpath "/usr/lib")
  (subpath "/usr/share"))
(allow file-read* file-test-existence
  (literal "/") (literal "/private/var/select") (literal "/private/var/select/sh")
  (literal "/private/var/select/developer_dir") (literal "/private/var/db/xcode_select_link"))
(allow file-read-metadata file-test-existence
  (literal "/etc") (literal "/tmp") (literal "/var") (literal "/private") (literal "/private/etc")
  (literal "/private/var") (literal "/private/tmp") (literal "/System") (literal "/System/Volumes")
  (literal "/System/Volumes/Data") (literal "/private/var/db") (literal "/private/var/folders"))
(allow process-exec* (subpath "/System/Library/Frameworks") (subpath "/System/Library/PrivateFrameworks"))
; Questions about the machine.
(allow sysctl-read
  (sysctl-name-prefix "hw.") (sysctl-name-prefix "machdep.cpu.") (sysctl-name-prefix "vm.")
  (sysctl-name "kern.argmax") (sysctl-name "kern.boottime") (sysctl-name "kern.hostname")
  (sysctl-name "kern.iossupportversion") (sysctl-name "kern.maxfiles") (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc") (sysctl-name "kern.ngroups") (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease") (sysctl-name "kern.ostype") (sysctl-name "kern.osvariant_status")
  (sysctl-name "kern.osversion") (sysctl-name "kern.secure_kernel") (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version") (sysctl-name "sysctl.proc_cputype") (sysctl-name "sysctl.proc_native")
  (sysctl-name "sysctl.proc_translated"))
(allow system-info)
(allow iokit-get-properties)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.bsd.dirhelper"))
"#;

/// Profile of a command that the operator lets run without a sandbox. The profile still identifies its
/// processes when they have to end.
pub(super) const UNSANDBOXED: &str = "(allow default)\n";

/// Operations that inspect a file without opening it.
pub(super) const METADATA: &str = "file-read-metadata file-test-existence";

/// Rules for the machine's network: names, addresses, certificates.
pub(super) const NETWORK: &str = r#"; The machine's network.
(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow network-bind (local ip))
(allow system-socket)
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.dnssd.service")
  (global-name "com.apple.networkd")
  (global-name "com.apple.trustd.agent"))
(allow file-read* (literal "/private/var/run/resolv.conf") (literal "/private/etc/hosts")
  (literal "/private/etc/resolv.conf"))
"#;

/// Patterns of files that git runs itself, for repositories that appear while a command runs; existing ones
/// have their own rules.
pub(super) const NAMES: [&str; 1] = ["/[.][gG][iI][tT]/[hH][oO][oO][kK][sS]/"];

/// Entries of `/etc` that commands see: they reveal nothing about the machine's users except their names.
pub(super) const ETC: [&str; 12] = [
    "group",
    "localtime",
    "man.conf",
    "networks",
    "passwd",
    "paths",
    "paths.d",
    "protocols",
    "rpc",
    "services",
    "shells",
    "ssl",
];
