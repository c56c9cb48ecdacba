//! Entries of `/etc` that commands see.

/// Entries of `/etc` that reveal nothing about the machine's users except their names, or nothing secret at
/// all. Missing entries are skipped.
pub const ETC: [&str; 27] = [
    "alternatives",
    "debian_version",
    "fonts",
    "gai.conf",
    "host.conf",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "magic",
    "magic.mime",
    "mime.types",
    "networks",
    "nsswitch.conf",
    "os-release",
    "perl",
    "pki/tls/certs",
    "protocols",
    "python3",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
];
