//! Services of the machine that a profile opens to commands.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::rule::invalid::{Invalid, shorten};
use crate::rule::source::Source;

/// Maximum number of services of a profile.
pub const MAX_LOCAL: usize = 16;
/// Port of the host's proxy in the network of a cell.
pub const PROXY_PORT: u16 = 3128;
/// Maximum length of a socket's path in bytes, which is the kernel's.
const MAX_PATH_BYTES: usize = 107;
/// Prefix of an entry for a Unix socket.
const UNIX: &str = "unix:";
const FIX: &str = "write \"127.0.0.1:PORT\", \"[::1]:PORT\" or \"unix:/PATH\"";

/// A service of the machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocalService {
    /// A port of the loopback interface.
    Tcp(SocketAddr),
    /// A Unix socket, by its absolute path.
    Unix(String),
}

/// An entry of `local`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalRule {
    /// The service.
    pub service: LocalService,
    /// Source of the rule.
    pub source: Source,
}

/// Folders in which commands can make sockets.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

const DOCKER: &str = "Docker, which runs programs on this machine";

/// Owners of ports that hand out more than a service, each with its first and last port.
const PORTS: [(u16, u16, &str); 16] = [
    (2375, 2377, DOCKER),
    (PROXY_PORT, PROXY_PORT, "the proxy for commands"),
    (2828, 2828, "a browser's debugger, which controls the browser"),
    (4243, 4243, DOCKER),
    (5005, 5005, "a debugger of Java, which runs programs on this machine"),
    (5037, 5037, "the Android debug bridge, which controls devices"),
    (5555, 5555, "the Android debug bridge, which controls devices"),
    (5678, 5678, "a debugger of Python, which runs programs on this machine"),
    (5900, 5909, "a VNC server, which sees and controls the desktop"),
    (6000, 6063, "the X server, which sees and controls the desktop"),
    (7300, 7300, "this program"),
    (9222, 9222, "a browser's debugger, which controls the browser"),
    (9229, 9230, "a debugger of Node.js, which runs programs on this machine"),
    (9515, 9515, "a driver of browsers, which starts and controls them"),
    (10_250, 10_250, "kubelet, which runs programs on this machine"),
    (16_509, 16_514, "libvirt, which controls virtual machines"),
];

/// Part of a path that tells the owner of a socket.
enum Part {
    /// Name of a file or folder.
    Whole(&'static str),
    /// Start of the name of a file or folder.
    Start(&'static str),
    /// Word in the name of a file or folder: no letters are next to it.
    Word(&'static str),
    /// Any part of the socket's own name.
    Socket(&'static str),
    /// Any part of the socket's own name, or a word in the name of a folder.
    Owner(&'static str),
}

const CONTAINERS: &str = "a container engine, which runs programs on this machine";
const BUS: &str = "D-Bus or systemd, which start programs on this machine";
const TERMINAL: &str = "a terminal or an editor, which runs what it is sent";
const KEYS: &str = "an agent, which uses your keys";
const DESKTOP: &str = "the desktop, which sees and controls your programs";
const MACHINES: &str = "a service that installs software or controls virtual machines";
const SYSTEM: &str = "a service that controls the devices or the network of this machine";
const OWN: &str = "this program";

/// Names of files and folders by which sockets are known that hand out more than a service.
const NAMES: [(Part, &str); 62] = [
    (Part::Owner("docker"), CONTAINERS),
    (Part::Owner("containerd"), CONTAINERS),
    (Part::Owner("podman"), CONTAINERS),
    (Part::Owner("crio"), CONTAINERS),
    (Part::Owner("buildkit"), CONTAINERS),
    (Part::Owner("kubelet"), CONTAINERS),
    (Part::Owner("lxd"), CONTAINERS),
    (Part::Owner("lxc"), CONTAINERS),
    (Part::Owner("incus"), CONTAINERS),
    (Part::Word("balena"), CONTAINERS),
    (Part::Word("finch"), CONTAINERS),
    (Part::Owner("dbus"), BUS),
    (Part::Owner("system_bus_socket"), BUS),
    (Part::Owner("systemd"), BUS),
    (Part::Whole("bus"), BUS),
    (Part::Whole("initctl"), BUS),
    (Part::Owner("tmux"), TERMINAL),
    (Part::Owner("zellij"), TERMINAL),
    (Part::Owner("kitty"), TERMINAL),
    (Part::Owner("wezterm"), TERMINAL),
    (Part::Owner("vscode"), TERMINAL),
    (Part::Owner("emacs"), TERMINAL),
    (Part::Owner("nvim"), TERMINAL),
    (Part::Start("nvim"), TERMINAL),
    (Part::Whole("screen"), TERMINAL),
    (Part::Start("screens"), TERMINAL),
    (Part::Start("s-"), TERMINAL),
    (Part::Word("alacritty"), TERMINAL),
    (Part::Socket("ssh"), KEYS),
    (Part::Whole("ssh"), KEYS),
    (Part::Whole(".ssh"), KEYS),
    (Part::Owner("gnupg"), KEYS),
    (Part::Owner("gpg-agent"), KEYS),
    (Part::Owner("keyring"), KEYS),
    (Part::Start("agent."), KEYS),
    (Part::Start("s.gpg"), KEYS),
    (Part::Word("yubikey"), KEYS),
    (Part::Word("pcscd"), KEYS),
    (Part::Word("p11-kit"), KEYS),
    (Part::Word("kpxc"), KEYS),
    (Part::Word("keepassxc"), KEYS),
    (Part::Owner("x11-unix"), DESKTOP),
    (Part::Owner("wayland"), DESKTOP),
    (Part::Owner("pipewire"), DESKTOP),
    (Part::Whole("pulse"), DESKTOP),
    (Part::Owner("at-spi"), DESKTOP),
    (Part::Word("sway-ipc"), DESKTOP),
    (Part::Whole("i3"), DESKTOP),
    (Part::Word("ipc-socket"), DESKTOP),
    (Part::Whole("hypr"), DESKTOP),
    (Part::Word("ydotool"), DESKTOP),
    (Part::Owner("snapd"), MACHINES),
    (Part::Owner("libvirt"), MACHINES),
    (Part::Owner("packagekit"), MACHINES),
    (Part::Whole("daemon-socket"), MACHINES),
    (Part::Word("qmp"), MACHINES),
    (Part::Word("multipass"), MACHINES),
    (Part::Word("fail2ban"), SYSTEM),
    (Part::Whole("udev"), SYSTEM),
    (Part::Word("tailscale"), SYSTEM),
    (Part::Word("tailscaled"), SYSTEM),
    (Part::Whole(".scorpiox"), OWN),
];

/// Returns the owner of a socket that hands out more than a service, by the names in its path.
pub fn hands_out(path: &str) -> Option<&'static str> {
    let lower = path.to_lowercase();
    let socket = lower.rsplit('/').next().unwrap_or_default();
    let any = |matches: &dyn Fn(&str) -> bool| lower.split('/').any(matches);
    let has = |part: &Part| match part {
        Part::Whole(whole) => any(&|name| name == *whole),
        Part::Start(start) => any(&|name| name.starts_with(start)),
        Part::Word(word) => any(&|name| has_word(name, word)),
        Part::Socket(part) => socket.contains(part),
        Part::Owner(owner) => socket.contains(owner) || any(&|name| has_word(name, owner)),
    };
    NAMES.iter().find(|(part, _)| has(part)).map(|(_, owner)| *owner)
}

/// Returns `true` if a name has a word, or its daemon with a `d` at the end.
fn has_word(name: &str, word: &str) -> bool {
    name.match_indices(word).any(|(at, _)| {
        let (before, after) = (&name[..at], &name[at + word.len()..]);
        let after = after.strip_prefix('d').unwrap_or(after);
        !before.ends_with(char::is_alphabetic) && !after.starts_with(char::is_alphabetic)
    })
}

impl LocalRule {
    /// Parses an entry. Sockets and ports that are known to hand out the machine are rejected.
    pub fn parse(text: &str, source: Source) -> Result<Self, Invalid> {
        let service = match text.strip_prefix(UNIX) {
            Some(path) => unix(text, path)?,
            None => tcp(text)?,
        };
        Ok(Self { service, source })
    }
}

fn invalid(text: &str, why: &str, fix: &str) -> Invalid {
    Invalid::new(format!("local service \"{}\" {why}", shorten(text)), fix)
}

fn tcp(text: &str) -> Result<LocalService, Invalid> {
    let Ok(address) = text.parse::<SocketAddr>() else {
        return Err(invalid(text, "is no address with a port", FIX));
    };
    let is_loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
        .contains(&address.ip())
        // Not with a scope, such as in `[::1%1]:80`.
        && SocketAddr::new(address.ip(), address.port()).to_string() == text;
    if !is_loopback {
        let fix = "write 127.0.0.1 or [::1]; other hosts belong into `hosts` of the profile's network";
        return Err(invalid(text, "is not on the loopback interface", fix));
    }
    if address.port() == 0 {
        return Err(invalid(text, "has no port", "write a port from 1 to 65535"));
    }
    match PORTS.iter().find(|(first, last, _)| (*first..=*last).contains(&address.port())) {
        None => Ok(LocalService::Tcp(address)),
        Some((.., owner)) => Err(invalid(
            text,
            &format!("is a port of {owner}"),
            "leave it out, or let the service use another port",
        )),
    }
}

fn unix(text: &str, path: &str) -> Result<LocalService, Invalid> {
    let fix =
        "write the socket's absolute path without links, such as \"unix:/run/postgresql/.s.PGSQL.5432\"";
    let is_plain = |name: &str| !matches!(name, "" | "." | "..");
    if !path.strip_prefix('/').is_some_and(|rest| rest.contains('/') && rest.split('/').all(is_plain)) {
        return Err(invalid(text, "is no absolute path in a folder", fix));
    }
    if path.chars().any(char::is_control) {
        return Err(invalid(text, "has control characters", fix));
    }
    if path.len() > MAX_PATH_BYTES {
        let why = format!("is longer than {MAX_PATH_BYTES} bytes, which no program can connect to");
        return Err(invalid(text, &why, fix));
    }
    if let Some(folder) = TEMPORARY.iter().find(|folder| is_below(path, folder)) {
        let why = format!("lies in {folder}, where commands and other users can make sockets");
        return Err(invalid(text, &why, "let the service listen elsewhere, such as in /run"));
    }
    if let Some(owner) = hands_out(path) {
        return Err(invalid(text, &format!("is a socket of {owner}"), "leave it out"));
    }
    Ok(LocalService::Unix(path.to_owned()))
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the entry of `local` for a host with an optional port, such as `localhost:5432`, if it is this machine: commands
/// have a localhost of their own. Returns `None` for services that no entry opens.
pub fn local_entry(host: &str) -> Option<String> {
    let port = |rest: &str| match rest {
        "" => Some(None),
        rest => rest.strip_prefix(':')?.parse::<u16>().ok().map(Some),
    };
    let lower = host.to_ascii_lowercase();
    let (address, port) = ["localhost", "127.0.0.1", "[::1]"].into_iter().find_map(|name| {
        let address = if name == "localhost" { "127.0.0.1" } else { name };
        Some((address, port(lower.strip_prefix(name)?)?))
    })?;
    let Some(port) = port else { return Some(format!("{address}:PORT")) };
    let entry = format!("{address}:{port}");
    LocalRule::parse(&entry, Source::Builtin).is_ok().then_some(entry)
}

impl fmt::Display for LocalService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_an_entry_of_its_own() {
        for (host, entry) in [
            ("localhost:5432", Some("127.0.0.1:5432")),
            ("LOCALHOST", Some("127.0.0.1:PORT")),
            ("127.0.0.1:80", Some("127.0.0.1:80")),
            ("[::1]:8080", Some("[::1]:8080")),
            ("localhost.example.com", None),
            ("127.0.0.10", None),
            ("localhost:x", None),
            // Docker.
            ("localhost:2375", None),
            ("example.com", None),
        ] {
            assert_eq!(local_entry(host).as_deref(), entry, "{host}");
        }
    }

    #[test]
    fn services_are_written_as_they_are_shown() {
        for text in ["127.0.0.1:5432", "[::1]:8080", "unix:/run/postgresql/.s.PGSQL.5432", "unix:/run/é/a b"]
        {
            let rule = LocalRule::parse(text, Source::Line(3)).unwrap();
            assert_eq!(rule.service.to_string(), text);
        }
    }

    #[test]
    fn other_addresses_are_refused_with_the_reason() {
        let long = format!("unix:/run/{}", "x".repeat(200));
        for (text, why) in [
            ("localhost:5432", "is no address with a port"),
            ("5432", "is no address with a port"),
            ("127.0.0.1", "is no address with a port"),
            ("127.0.0.1:", "is no address with a port"),
            ("127.0.0.1:99999", "is no address with a port"),
            ("127.0.0.1:0", "has no port"),
            ("127.0.0.1:05432", "is not on the loopback interface"),
            ("0.0.0.0:5432", "is not on the loopback interface"),
            ("127.0.0.2:5432", "is not on the loopback interface"),
            ("10.0.0.1:5432", "is not on the loopback interface"),
            ("[::ffff:127.0.0.1]:80", "is not on the loopback interface"),
            ("[::]:80", "is not on the loopback interface"),
            ("[::1%1]:80", "is not on the loopback interface"),
            ("127.0.0.1:2375", "is a port of Docker"),
            ("127.0.0.1:3128", "is a port of the proxy"),
            ("[::1]:6001", "is a port of the X server"),
            ("127.0.0.1:4243", "is a port of Docker"),
            ("127.0.0.1:10250", "is a port of kubelet"),
            ("127.0.0.1:5005", "is a port of a debugger of Java"),
            ("127.0.0.1:5678", "is a port of a debugger of Python"),
            ("127.0.0.1:2828", "is a port of a browser's debugger"),
            ("127.0.0.1:5555", "is a port of the Android debug bridge"),
            ("127.0.0.1:5901", "is a port of a VNC server"),
            ("127.0.0.1:9230", "is a port of a debugger of Node.js"),
            ("127.0.0.1:9515", "is a port of a driver of browsers"),
            ("unix:", "is no absolute path"),
            ("unix:run/x", "is no absolute path"),
            ("unix:/x.sock", "is no absolute path"),
            ("unix:@name/x", "is no absolute path"),
            ("unix:/run/../tmp/x", "is no absolute path"),
            ("unix:/run//x", "is no absolute path"),
            ("unix:/run/x/", "is no absolute path"),
            ("unix:/run/a\u{1b}b", "has control characters"),
            (&long, "is longer than 107 bytes"),
            ("unix:/tmp/x", "lies in /tmp"),
            ("unix:/dev/shm/x", "lies in /dev/shm"),
        ] {
            let error = LocalRule::parse(text, Source::Line(3)).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn sockets_that_hand_out_the_machine_are_known() {
        for path in [
            "/run/docker.sock",
            "/var/run/docker.sock",
            "/run/user/1000/docker.sock",
            "/run/containerd/containerd.sock",
            "/run/user/1000/podman/podman.sock",
            "/run/crio/crio.sock",
            "/run/dbus/system_bus_socket",
            "/run/user/1000/bus",
            "/run/systemd/private",
            "/run/user/1000/systemd/notify",
            "/run/user/1000/tmux-1000/default",
            "/run/screen/S-me/1.tty",
            "/home/me/.ssh/agent",
            "/run/user/1000/ssh-agent.socket",
            "/home/me/agent.4711",
            "/run/user/1000/gnupg/S.gpg-agent",
            "/run/user/1000/keyring/ssh",
            "/var/x/.X11-unix/X0",
            "/run/user/1000/wayland-0",
            "/run/snapd.socket",
            "/run/libvirt/libvirt-sock",
            "/run/libvirt/virtqemud-sock",
            "/run/Docker.Sock",
            "/run/user/1000/vscode-ipc-1.sock",
            "/home/me/.scorpiox/x.sock",
            "/home/me/.docker/run/x.sock",
            "/run/docker-desktop/x.sock",
            "/run/k3s-containerd/x.sock",
            "/run/dockerd/x.sock",
            "/run/mydocker.sock",
            "/run/user/1000/emacs1000/server",
            "/run/user/1000/nvimAbCdEf/0",
            "/run/user/1000/keyring-AbC/control",
            "/run/openssh_agent",
            "/home/me/.ssh/master",
            "/run/user/1000/gcr/ssh",
            "/nix/var/nix/daemon-socket/socket",
            "/run/user/1000/sway-ipc.1000.1.sock",
            "/run/user/1000/i3/ipc-socket.1",
            "/run/user/1000/hypr/x/.socket.sock",
            "/run/user/1000/Alacritty-:0-1.sock",
            "/run/user/1000/.ydotool_socket",
            "/run/user/1000/yubikey-agent/yubikey-agent.sock",
            "/run/pcscd/pcscd.comm",
            "/run/user/1000/p11-kit/pkcs11",
            "/run/user/1000/kpxc_server",
            "/run/qemu-server/1.qmp",
            "/run/udev/control",
            "/run/tailscale/tailscaled.sock",
            "/run/finch.sock",
            "/run/balena-engine.sock",
            "/run/multipass_socket",
            "/run/fail2ban/fail2ban.sock",
        ] {
            assert!(hands_out(path).is_some(), "{path}");
            let error = LocalRule::parse(&format!("unix:{path}"), Source::Line(3)).unwrap_err().to_string();
            assert!(error.contains("is a socket of "), "{error}");
        }
        for path in [
            "/run/postgresql/.s.PGSQL.5432",
            "/run/mysqld/mysqld.sock",
            "/run/redis/redis.sock",
            "/home/ssh-user/db.sock",
            "/srv/sshop/db.sock",
            "/srv/dockery/db.sock",
            "/srv/tmuxes/db.sock",
            "/run/goldfinch.sock",
        ] {
            assert_eq!(hands_out(path), None, "{path}");
        }
    }
}
