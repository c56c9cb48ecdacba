//! Configuration that leads `ssh` to the proxy of a cell, and with it `git`, `scp` and `rsync`.
//!
//! `ssh` reads no variable with a proxy. It obeys the system's configuration after the user's own, so a
//! `ProxyCommand` there is only a default.

use scorpiox_policy::Network as NetworkRule;
use scorpiox_sandbox::{Network, PROXY_PORT, Tier};

use crate::environment::direct_names;

/// Asks the proxy for a tunnel to the host `$0` and the port `$1`, and passes bytes. It prints a refusal.
///
/// It needs bash and `cat` alone: bash reads single bytes from a socket, so nothing after the head is lost. A line
/// with one character is the empty line at its end. An IPv6 address, which `ssh` passes bare, gets brackets.
const TUNNEL: &str = r#"case $0 in *:*) host="[$0]";; *) host=$0;; esac; exec 3<>/dev/tcp/127.0.0.1/PORT && printf "CONNECT %s:%s HTTP/1.1\r\n\r\n" "$host" "$1" >&3 && read -r _ code _ <&3 || exit 1; while IFS= read -r line <&3 && [ ${#line} -gt 1 ]; do :; done; if [ "$code" != 200 ]; then cat <&3 >&2; exit 1; fi; exec 4<&0; cat <&4 >&3 & exec cat <&3 4<&-"#;

/// Returns the text of `/etc/ssh/ssh_config` in a cell, if it has a proxy and its own `/etc`.
pub(super) fn config(rule: &NetworkRule, network: Network, tier: Tier) -> Option<String> {
    if network != Network::Proxy || !matches!(tier, Tier::T1 | Tier::T1b) {
        return None;
    }
    let hosts: Vec<_> = ["*".to_owned()]
        .into_iter()
        .chain(direct_names(rule).iter().map(|name| format!("!{name}")))
        .collect();
    // `ssh` itself replaces what follows a percent sign.
    let tunnel = TUNNEL.replace("PORT", &PROXY_PORT.to_string()).replace('%', "%%");
    Some(format!("Host {}\n    ProxyCommand /bin/bash -c '{tunnel}' %h %p\n", hosts.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cells_with_a_proxy_have_a_configuration() {
        let list = NetworkRule::Allowlist { hosts: Vec::new(), allow_private: Vec::new() };
        for tier in [Tier::T1, Tier::T1b] {
            let text = config(&list, Network::Proxy, tier).expect("a text");
            assert!(text.starts_with("Host * !localhost !127.0.0.1 !::1\n"), "{text}");
            assert!(text.ends_with("' %h %p\n") && text.contains("/dev/tcp/127.0.0.1/3128"), "{text}");
            assert_eq!(text.matches('\'').count(), 2, "the script is one word: {text}");
            assert_eq!(config(&NetworkRule::Off, Network::Off, tier), None);
        }
        assert_eq!(config(&list, Network::Proxy, Tier::Seatbelt), None);
    }

    /// Runs the script of a cell against a listener of the test, and returns the request line.
    #[cfg(target_os = "linux")]
    #[allow(clippy::disallowed_methods)] // runs the script that `ssh` runs in a cell
    fn asked(host: &str) -> String {
        use std::io::{BufRead as _, BufReader};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let script = TUNNEL.replace("PORT", &port.to_string());
        let mut bash = std::process::Command::new("/bin/bash");
        let mut bash = bash.args(["-c", &script, host, "22"]).spawn().expect("bash runs");
        let (client, _) = listener.accept().expect("a connection");
        let mut line = String::new();
        BufReader::new(client).read_line(&mut line).expect("a request");
        bash.wait().expect("it ends");
        line
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_ipv6_address_is_in_brackets() {
        assert_eq!(asked("2001:db8::1"), "CONNECT [2001:db8::1]:22 HTTP/1.1\r\n");
        assert_eq!(asked("example.com"), "CONNECT example.com:22 HTTP/1.1\r\n");
        assert_eq!(asked("192.0.2.1"), "CONNECT 192.0.2.1:22 HTTP/1.1\r\n");
    }
}
