use std::path::Path;

use super::*;
use crate::Policy;

fn policy(text: &str) -> WebPolicy {
    Policy::parse(&format!("version = 1\n[web]\n{text}"), Path::new("policy.toml")).unwrap().web
}

fn refused(policy: &WebPolicy, host: &str) -> String {
    policy.check_host(host, 443).unwrap_err().to_string()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn without_a_line_every_host_may_be_asked_for() {
    let policy = WebPolicy::builtin();
    for host in ["example.com", "93.184.215.14", "[2606:4700::1111]", "xn--bcher-kva.example"] {
        assert!(policy.check_host(host, 443).is_ok(), "{host}");
    }
    assert!(refused(&policy, "0x7f.1").contains("not a plain address"));
    assert!(refused(&policy, "127.1").contains("not a plain address"));
    assert!(refused(&policy, "a b").contains("not a plain host name"));
}

#[test]
fn deny_wins_over_allow_and_wildcards_match_below() {
    let policy = policy("allow = [\"*.example.com\", \"example.com\"]\ndeny = [\"secret.example.com\"]");
    assert!(policy.check_host("example.com", 443).is_ok());
    assert!(policy.check_host("a.b.example.com", 80).is_ok());
    assert_eq!(
        policy.check_host("example.com", 8443).unwrap_err().to_string(),
        "port 8443 of example.com is not allowed by \"example.com\" in `allow` of [web] (policy.toml line 3); to \
         allow it, the person can run `scorpiox-code policy allow page example.com:8443`"
    );
    // A deny rule without a port applies to every port.
    assert!(policy.check_host("secret.example.com", 8443).unwrap_err().to_string().contains("is denied by"));
    assert_eq!(
        refused(&policy, "secret.example.com"),
        "secret.example.com is denied by \"secret.example.com\" in `deny` of [web] (policy.toml line 4); the person can \
         allow it: `scorpiox-code policy allow page secret.example.com`"
    );
    for host in ["notexample.com", "example.com.evil.org", "example.org"] {
        assert!(refused(&policy, host).contains("is not in `allow` of [web] (policy.toml line 3)"), "{host}");
    }
}

#[test]
fn a_refusal_names_the_entry_for_the_port_that_was_asked_for() {
    let policy = policy("allow = [\"example.com\"]");
    for (port, entry) in [(443, "other.example"), (80, "other.example"), (8443, "other.example:8443")] {
        let said = policy.check_host("other.example", port).unwrap_err().to_string();
        assert!(said.ends_with(&format!("`scorpiox-code policy allow page {entry}`")), "{said}");
    }
}

#[test]
fn a_rule_with_a_port_is_about_that_port() {
    let policy = policy("allow = [\"example.com:8080\"]\ndeny = [\"example.com:9090\"]");
    assert!(policy.opens("example.com") && !policy.opens("other.example"));
    assert!(policy.check_host("example.com", 8080).is_ok());
    assert!(policy.check_host("example.com", 443).is_err());
}

#[test]
fn networks_speak_of_addresses() {
    let open = policy("deny = [\"203.0.112.0/22\"]");
    let verdict = open.check_host("example.com", 443).unwrap();
    assert!(open.check_address(("example.com", 443), address("203.0.113.7"), &verdict).is_err());
    assert!(open.check_address(("example.com", 443), address("203.0.116.7"), &verdict).is_ok());
    assert!(refused(&open, "203.0.113.7").contains("denied by \"203.0.112.0/22\""));
    // An address alone is closed under each name that leads to it.
    let one = policy("deny = [\"203.0.113.7\", \"203.0.113.8:8443\"]");
    for (found, port, is_open) in [
        ("203.0.113.7", 443, false),
        ("203.0.113.7", 8080, false),
        ("203.0.113.8", 443, true),
        ("203.0.113.8", 8443, false),
        ("203.0.113.9", 443, true),
    ] {
        let verdict = one.check_host("example.com", port).unwrap();
        let checked = one.check_address(("example.com", port), address(found), &verdict);
        assert_eq!(checked.is_ok(), is_open, "{found}:{port}");
    }

    let closed = policy("allow = [\"198.51.100.0/24\"]");
    let verdict = closed.check_host("example.com", 443).unwrap();
    assert_eq!(verdict, WebVerdict::ByAddress);
    assert!(closed.check_address(("example.com", 443), address("198.51.100.9"), &verdict).is_ok());
    assert!(closed.check_address(("example.com", 443), address("198.51.101.9"), &verdict).is_err());
    assert!(closed.check_host("198.51.100.9", 443).is_ok());
    assert!(closed.check_host("198.51.101.9", 443).is_err());
}

#[test]
fn networks_are_read_strictly() {
    let parse = |text: &str| NetworkRule::parse(text, Source::Builtin);
    assert!(parse("127.0.0.1/32").unwrap().contains(address("127.0.0.1")));
    assert!(parse("0.0.0.0/0").unwrap().contains(address("9.9.9.9")));
    assert!(parse("::/0").unwrap().contains(address("::1")));
    assert!(!parse("0.0.0.0/0").unwrap().contains(address("::1")));
    assert!(parse("fd00::/8").unwrap().contains(address("fdff::1")));
    assert!(parse("10.0.0.7").unwrap().contains(address("10.0.0.7")));
    for text in
        ["10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/+8", "10.0.0.0/", "example.com/8", "10.0.0/8", "::/129"]
    {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_switch_turns_all_of_it_off() {
    let policy = policy("enabled = false");
    assert_eq!(
        refused(&policy, "example.com"),
        "the web is switched off by `enabled = false` in [web] (policy.toml line 3)"
    );
}
