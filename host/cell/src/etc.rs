//! What commands see of `/etc`.

/// Files of `/etc` that hold nothing about the machine's users but their names, or nothing
/// secret at all. What is missing on a machine is left out.
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
