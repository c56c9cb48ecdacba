use proptest::prelude::*;

use super::*;

fn rules(texts: &[&str]) -> HostRules {
    let parse = |text: &&str| HostRule::parse(text, Source::Line(3)).unwrap();
    HostRules::from(texts.iter().map(parse).collect::<Vec<_>>())
}

fn allowed(texts: &[&str], host: &str, port: u16) -> bool {
    matches!(rules(texts).decide(host, port), HostDecision::Allowed(_))
}

#[track_caller]
fn denied(texts: &[&str], host: &str, port: u16) -> String {
    match rules(texts).decide(host, port) {
        HostDecision::Denied(why) => why.to_string(),
        HostDecision::Allowed(rule) => panic!("{host} is allowed by {rule}"),
    }
}

#[track_caller]
fn refused(text: &str) -> String {
    HostRule::parse(text, Source::Builtin).unwrap_err().to_string()
}

#[test]
fn a_name_allows_itself_on_the_web_ports() {
    let rules = &["Example.COM."];
    for host in ["example.com", "EXAMPLE.com", "example.com."] {
        assert!(allowed(rules, host, 443) && allowed(rules, host, 80), "{host}");
    }
    for host in ["www.example.com", "evilexample.com", "example.com.evil.org", "com", "xexample.com"] {
        assert!(!allowed(rules, host, 443), "{host}");
    }
}

#[test]
fn a_star_allows_all_names_below_and_not_the_apex() {
    let rules = &["*.example.com"];
    assert!(allowed(rules, "a.example.com", 443) && allowed(rules, "a.b.example.com.", 80));
    for host in ["example.com", ".example.com", "evilexample.com", "a.example.com.evil.org", "*.example.com"]
    {
        assert!(!allowed(rules, host, 443), "{host}");
    }
}

#[test]
fn a_port_in_the_rule_replaces_the_web_ports() {
    assert!(allowed(&["example.com:8443"], "example.com", 8443));
    assert_eq!(
        denied(&["example.com:8443"], "example.com", 443),
        "port 443 of example.com is not allowed by \"example.com:8443\" (policy.toml line 3); to allow it, the person \
         can run `scorpiox-code policy allow host example.com:443`"
    );
}

#[test]
fn a_denial_names_the_entry_that_would_allow() {
    assert_eq!(
        denied(&[], "Example.org.", 8080),
        "example.org is not among the allowed hosts; to allow it, the person can run `scorpiox-code policy allow host \
         example.org:8080`"
    );
    assert_eq!(
        denied(&[], "localhost", 8080),
        "localhost is not among the allowed hosts; commands have a localhost of their own. To open a service of the machine, \
         add `local = [\"127.0.0.1:8080\"]` to [shell.profile.workspace] in the user's own policy.toml"
    );
    assert!(denied(&["a.b"], "example.org", 443).contains("allow host example.org`"));
    assert!(denied(&[], "[2001:db8::1]", 443).contains("allow host '[2001:db8::1]'`"));
}

#[test]
fn addresses_are_allowed_only_as_listed_and_plainly_spelled() {
    let list = &["127.0.0.1", "[2001:db8::1]:8080"];
    assert!(allowed(list, "127.0.0.1", 443) && allowed(list, "[2001:DB8::1]", 8080));
    for host in ["0x7f.1", "127.1", "2130706433", "0177.0.0.1", "127.0.0.01", "127.0.0.1.", "0x7f000001"] {
        assert!(denied(list, host, 443).contains("unusual spelling"), "{host}");
    }
    for host in ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[2001:db8:0::1]", "[fe80::1%eth0]", "[::1%25lo]"] {
        assert!(denied(list, host, 8080).contains("unusual spelling"), "{host}");
    }
    assert_eq!(
        denied(list, "[::ffff:127.0.0.1]", 443),
        "\"[::ffff:127.0.0.1]\" is an unusual spelling of an address; ask for 127.0.0.1, if the policy lists it"
    );
}

#[test]
fn odd_names_are_denied_and_shown_escaped() {
    let list = &["example.com", "*.example.com"];
    for host in [
        "",
        ".",
        "..",
        "example.com..",
        "a..example.com",
        "example.com\0.evil.org",
        "a@example.com",
        "a b.example.com",
        "é.example.com",
        "example.com:443",
        "[example.com]x",
        "a%2e.example.com",
        "-.example.com",
        "example.com/",
        "2001:db8::1",
        "[",
        "[]x",
        "a\\.example.com",
        "\u{ff0e}example.com",
    ] {
        assert!(denied(list, host, 443).contains("is not a plain host name"), "{host:?}");
    }
    assert_eq!(
        denied(list, "a\n", 443),
        "\"a\\n\" is not a plain host name; no line of the policy allows it"
    );
}

#[test]
fn rules_that_cannot_be_meant_are_refused_with_what_to_write() {
    for (text, said) in [
        (
            "*",
            "host \"*\" stands for every host; to open the whole network write network = { mode = \"open\" }",
        ),
        ("bücher.de", "host \"bücher.de\" is not ASCII; write its xn-- form (Punycode)"),
        (
            "https://a.b/c",
            "host \"https://a.b/c\" is an address of a page; write the host alone, such as \"example.com\"",
        ),
        (
            "ftp://a.b",
            "host \"ftp://a.b\" is no host: ftp:// is no way to the web; requests are made by http and https alone; write \
             the host of one, such as \"example.com\"",
        ),
        ("a.b/c", "host \"a.b/c\" has a slash; write the host alone, such as \"example.com\""),
        (
            "2001:db8::1",
            "host \"2001:db8::1\" is an IPv6 address without brackets; write it as \"[2001:db8::1]\"",
        ),
        ("a.b:0", "host \"a.b:0\" has no valid port; write a port from 1 to 65535 after the colon, or none"),
        (
            "a.b:+80",
            "host \"a.b:+80\" has no valid port; write a port from 1 to 65535 after the colon, or none",
        ),
        (
            "[::ffff:1.2.3.4]",
            "host \"[::ffff:1.2.3.4]\" is an unusual spelling of an address; write \"1.2.3.4\"",
        ),
        (
            "127.1",
            "host \"127.1\" is not a plain address; write an address as \"192.0.2.7\" or \"[2001:db8::1]\", without `*` and zone",
        ),
        (
            "a.*.b",
            "host \"a.*.b\" has a `*` that is not the whole first part; write a name such as \"example.com\" or \"*.example.com\"",
        ),
        ("", "host \"\" is not a host name; write a name such as \"example.com\" or \"*.example.com\""),
    ] {
        assert_eq!(refused(text), said);
    }
    assert!(refused("*.192.0.2.7").contains("not a plain address"));
    assert!(refused("*.*").contains("`*`") && refused("*.").contains("not a host name"));
    assert!(refused("[fe80::1%eth0]").contains("not a plain address"));
    assert!(refused("a.b:65536").contains("port") && refused("a.b:").contains("port"));
    assert!(refused(&format!("{}.com", "a".repeat(64))).contains("not a host name"));
}

fn name() -> impl Strategy<Value = String> {
    "[a-c]{1,2}(\\.[a-c]{1,2}){0,3}"
}

fn pattern() -> impl Strategy<Value = String> {
    (any::<bool>(), name(), prop::option::of(prop::sample::select(vec![80_u16, 443, 8080]))).prop_map(
        |(star, name, port)| {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}{name}{port}", if star { "*." } else { "" })
        },
    )
}

proptest! {
    #[test]
    fn any_text_is_parsed_and_decided_without_panic(text in ".*", host in ".*", port: u16) {
        _ = HostRule::parse(&text, Source::Builtin);
        _ = rules(&["*.com", "[::1]"]).decide(&host, port).clone();
    }

    #[test]
    fn bytes_near_addresses_are_decided_without_panic(host in "[\\[\\]0-9a-fx:.%*-]{0,20}") {
        _ = HostRule::parse(&host, Source::Builtin);
        _ = rules(&["1.2.3.4", "[::1]"]).decide(&host, 443);
    }

    #[test]
    fn only_equal_names_and_names_below_match(rule in name(), host in name(), star: bool) {
        let text = if star { format!("*.{rule}") } else { rule.clone() };
        let rule_labels: Vec<_> = rule.split('.').rev().collect();
        let labels: Vec<_> = host.split('.').rev().collect();
        let expected =
            if star { labels.len() > rule_labels.len() && labels.starts_with(&rule_labels) } else { labels == rule_labels };
        prop_assert_eq!(allowed(&[&text], &host, 443), expected);
    }

    #[test]
    fn a_rule_reads_as_it_is_shown(text in pattern()) {
        let rule = HostRule::parse(&text, Source::Builtin).unwrap();
        prop_assert_eq!(HostRule::parse(&rule.to_string(), Source::Builtin).unwrap(), rule);
    }

    #[test]
    fn what_two_rules_meet_in_is_what_both_allow(a in pattern(), b in pattern(), host in name(), at in 0_usize..3) {
        let port = [80, 443, 8080][at];
        let parse = |text: &str| HostRule::parse(text, Source::Builtin).unwrap();
        let both = HostRules::from(parse(&a).meet(&parse(&b)).into_iter().collect::<Vec<_>>());
        let met = matches!(both.decide(&host, port), HostDecision::Allowed(_));
        prop_assert_eq!(met, allowed(&[&a], &host, port) && allowed(&[&b], &host, port));
    }

    #[test]
    fn the_entry_that_a_denial_names_does_allow(host in name(), port in 1_u16..) {
        let empty = HostRules::default();
        let HostDecision::Denied(Denial::NotListed { line, .. }) = empty.decide(&host, port) else {
            return Err(TestCaseError::fail("not denied"));
        };
        prop_assert!(allowed(&[&line], &host, port));
    }
}

#[test]
fn the_entry_for_a_host_has_its_name_and_an_unusual_port() {
    for (name, port, expected) in [
        ("Packages.example.com", 443, Some("packages.example.com")),
        ("packages.example.com", 80, Some("packages.example.com")),
        ("git.example.com", 22, Some("git.example.com:22")),
        ("[2001:db8::1]", 22, Some("[2001:db8::1]:22")),
        ("no name", 443, None),
    ] {
        assert_eq!(HostRules::entry(name, port).as_deref(), expected, "{name}:{port}");
    }
}

#[test]
fn a_rule_opens_some_of_the_hosts_that_it_covers_or_that_cover_it() {
    let rule = |text: &str| HostRule::parse(text, Source::Line(3)).unwrap();
    for (open, all, opens) in [
        ("*.example.com", "*.example.com", true),
        ("*.com", "*.example.com", true),
        ("*.a.example.com", "*.example.com", true),
        ("a.example.com", "*.example.com", true),
        ("*.example.com:22", "*.example.com", true),
        ("*.example.com", "a.example.com", true),
        ("a.example.com:22", "a.example.com", true),
        ("*.example.com", "*.example.com:443", true),
        ("192.0.2.7:22", "192.0.2.7", true),
        ("*.example.com", "*.example.com:22", false),
        ("*.example.com:22", "a.example.com:443", false),
        ("example.com", "*.example.com", false),
        ("*.anexample.com", "*.example.com", false),
        ("192.0.2.7", "192.0.2.8", false),
    ] {
        assert_eq!(rule(open).opens_some_of(&rule(all)), opens, "{open} {all}");
    }
}
