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
/// with one character is the empty line at its end.
const TUNNEL: &str = r#"exec 3<>/dev/tcp/127.0.0.1/PORT && printf "CONNECT %s:%s HTTP/1.1\r\n\r\n" "$0" "$1" >&3 && read -r _ code _ <&3 || exit 1; while IFS= read -r line <&3 && [ ${#line} -gt 1 ]; do :; done; if [ "$code" != 200 ]; then cat <&3 >&2; exit 1; fi; exec 4<&0; cat <&4 >&3 & exec cat <&3 4<&-"#;

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
}
