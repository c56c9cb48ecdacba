//! Files of `/etc` that every command sees, whatever the lists of places in its profile say.

use std::path::Path;

use scorpiox_policy::{Network, Places, Profile};
use scorpiox_sandbox::ETC;

/// Files that a sandbox makes for itself.
const MADE: [&str; 3] = ["passwd", "group", "hosts"];
/// Files of the machine that commands with an open network see.
const OF_NETWORK: [&str; 2] = ["resolv.conf", "hosts"];

/// Returns why commands under `profile` can read a path below `/etc` that its lists of places do not open; `None` if
/// they cannot.
pub(super) fn sees(profile: &Profile, path: &Path, places: &Places) -> Option<String> {
    if !cfg!(target_os = "linux") || profile.denied(places).matches(path).is_some() {
        return None;
    }
    let within = path.strip_prefix("/etc").ok()?;
    let shown = path.display();
    let (is, is_open) = (|name: &&str| within == Path::new(name), profile.network.value == Network::Open);
    if ETC.iter().any(|name| within.starts_with(name)) {
        return Some(format!("every command sees {shown}, which belongs to the system (built-in)"));
    }
    if is_open && OF_NETWORK.iter().any(is) {
        let source = profile.network.source;
        return Some(format!("commands with an open network ({source}) see {shown}"));
    }
    MADE.iter().any(is).then(|| {
        let in_t2 = if within == Path::new("hosts") {
            "commands in T2 see none"
        } else {
            "in T2 it is this machine's"
        };
        format!("every command in T1 and T1b sees a {shown} of its own (built-in); {in_t2}")
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use scorpiox_policy::Policy;

    use super::*;

    fn seen(policy: &str, path: &str) -> Option<String> {
        let policy =
            Policy::parse(&format!("version = 1\n{policy}"), Path::new("policy.toml")).expect("a policy");
        let home = Path::new("/home/me");
        let places = Places::standard("/srv/project".into(), Some(home.into()), &home.join(".scorpiox"));
        sees(&policy.shell.profiles["workspace"], Path::new(path), &places)
    }

    #[test]
    fn what_commands_see_in_etc_is_known_by_its_name() {
        let open = "[shell.profile.workspace]\nnetwork = { mode = \"open\" }\n";
        for (policy, path, told) in [
            ("", "/etc/nsswitch.conf", "every command sees /etc/nsswitch.conf, which belongs to the system"),
            (
                "",
                "/etc/ssl/certs/ca-certificates.crt",
                "every command sees /etc/ssl/certs/ca-certificates.crt",
            ),
            ("", "/etc/passwd", "sees a /etc/passwd of its own (built-in); in T2 it is this machine's"),
            ("", "/etc/hosts", "sees a /etc/hosts of its own (built-in); commands in T2 see none"),
            (open, "/etc/hosts", "commands with an open network (policy.toml line 3) see /etc/hosts"),
            (open, "/etc/resolv.conf", "commands with an open network"),
        ] {
            let seen = seen(policy, path).unwrap_or_else(|| panic!("{path} is not seen"));
            assert!(seen.contains(told), "{seen}");
        }
        for path in
            ["/etc", "/etc/shadow", "/etc/resolv.conf", "/etc/ssl", "/etc/passwd-", "/etc/passwd/x", "/srv"]
        {
            assert_eq!(seen("", path), None, "{path}");
        }
        let denied = "[shell.profile.workspace]\ndeny = [\"/etc/ssl/**\"]\n";
        assert_eq!(seen(denied, "/etc/ssl/certs/ca-certificates.crt"), None);
    }
}
