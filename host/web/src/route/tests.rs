use std::path::Path;

use scorpiox_policy::Policy;

use super::*;

/// Resolver with fixed names and addresses.
struct Names(&'static [(&'static str, &'static [&'static str])]);

impl Resolve for Names {
    fn resolve(&self, host: &str, port: u16, _: Duration) -> io::Result<Vec<SocketAddr>> {
        let found = self.0.iter().find(|(name, _)| *name == host);
        let (_, addresses) = found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let address = |text: &&str| SocketAddr::new(text.parse().expect("an address"), port);
        Ok(addresses.iter().map(address).collect())
    }
}

const NAMES: Names = Names(&[
    ("example.com", &["93.184.215.14", "2606:2800:21f:cb07::1"]),
    ("inside.example.com", &["10.0.0.7"]),
    ("mixed.example.com", &["93.184.215.14", "127.0.0.1"]),
    ("localhost", &["127.0.0.1"]),
    ("metadata.example.com", &["169.254.169.254"]),
]);

fn route(policy: &str, url: &str) -> Result<Route, WebError> {
    let policy = Policy::parse(&format!("version = 1\n[web]\n{policy}"), Path::new("policy.toml"));
    let router = Router::new(policy.expect("a policy").web, Arc::new(NAMES));
    router.route(&Router::parse(url)?, None)
}

fn denied(policy: &str, url: &str) -> String {
    match route(policy, url) {
        Err(WebError::Denied(text)) => text,
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn hosts_of_the_public_internet_are_reached_at_all_their_addresses() {
    let route = route("", "https://example.com/page").expect("allowed");
    assert_eq!((route.host.as_str(), route.port, route.addresses.len()), ("example.com", 443, 2));
}

#[test]
fn one_address_inside_is_enough_to_refuse() {
    for url in [
        "http://inside.example.com/",
        "http://mixed.example.com/",
        "http://localhost/",
        "http://metadata.example.com/latest/meta-data/",
        "http://127.0.0.1:8080/",
        "http://[::1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://0/",
        "http://192.168.1.1/",
        "http://100.64.0.1/",
        "http://198.18.0.1/",
        "http://localhost./",
    ] {
        let text = denied("", url);
        assert!(
            text.contains(" address") && text.contains("which is refused") && text.contains("allow_private"),
            "{url}: {text}"
        );
    }
    let mapped = denied("allow_private = [\"127.0.0.1/32\"]", "http://[::ffff:127.0.0.1]/");
    assert!(mapped.contains("unusual spelling of the address 127.0.0.1"), "{mapped}");
}

#[test]
fn only_the_operator_opens_private_addresses() {
    let policy = "allow_private = [\"127.0.0.1/32\"]";
    assert!(route(policy, "http://localhost:8080/").is_ok());
    assert!(route(policy, "http://127.0.0.1:8080/").is_ok());
    assert!(route(policy, "http://inside.example.com/").is_err());
    assert!(
        route("allow_private = [\"10.0.0.0/8\"]\ndeny = [\"10.0.0.7/32\"]", "http://inside.example.com/")
            .is_err()
    );
}

#[test]
fn a_name_is_decided_about_before_it_is_looked_up() {
    let text = denied("deny = [\"*.example.org\"]", "https://not-looked-up.example.org/");
    assert!(text.contains("denied by \"*.example.org\""), "{text}");
    let missing = route("", "https://missing.example.org/");
    assert!(
        matches!(missing, Err(WebError::Failed(text)) if text.contains("missing.example.org is not found"))
    );
}

#[test]
fn urls_are_read_strictly() {
    for url in [
        "",
        "example.com",
        "/page",
        "file:///etc/passwd",
        "ftp://example.com/",
        "http://",
        "https://user:pw@example.com/",
        "javascript:1",
    ] {
        let refused = Router::parse(url);
        assert!(
            matches!(&refused, Err(WebError::Invalid(text)) if text.contains("https://example.com/page")),
            "{url}: {refused:?}"
        );
    }
    assert_eq!(
        Router::parse(" https://Bücher.example/ä ").expect("a URL").as_str(),
        "https://xn--bcher-kva.example/%C3%A4"
    );
}

#[test]
fn what_was_approved_narrows_what_the_policy_allows() {
    let router = Router::new(Policy::builtin().web, Arc::new(NAMES));
    let rules = ["*.example.com", "localhost:8080"]
        .map(|host| HostRule::parse(host, scorpiox_policy::Source::Builtin).expect("a host"));
    let decide = |url: &str| {
        let url = Router::parse(url).expect("a URL");
        router.check_host(&url, Some(&rules)).map(drop).map_err(|error| error.to_string())
    };
    for url in ["https://a.example.com/", "http://a.b.EXAMPLE.com./", "http://localhost:8080/"] {
        assert_eq!(decide(url), Ok(()), "{url}");
    }
    for url in
        ["https://example.com/", "https://a.example.com:8443/", "http://localhost/", "https://aexample.com/"]
    {
        let denial = decide(url).expect_err(url);
        assert!(denial.contains("none of the hosts that were approved"), "{url}: {denial}");
        // A port that differs from the defaults must be approved explicitly.
        let hint = denial.contains("80 and 443 alone: write \"a.example.com:8443\" in plugin.toml");
        assert_eq!(hint, url.contains(":8443"), "{url}: {denial}");
    }
    // An empty list of approved hosts allows nothing.
    let url = Router::parse("https://example.com/").expect("a URL");
    assert!(router.check_host(&url, Some(&[])).is_err() && router.check_host(&url, None).is_ok());
}

#[test]
fn what_was_checked_for_one_port_says_nothing_of_the_port_of_another_request() {
    let router = Router::new(Policy::builtin().web, Arc::new(NAMES));
    router.route(&Router::parse("https://example.com:8443/").expect("a URL"), None).expect("allowed");
    let kept = router.checked("example.com").expect("kept");
    assert!(kept.iter().all(|address| address.port() == 0), "{kept:?}");
}
