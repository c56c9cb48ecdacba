use proptest::prelude::*;

use crate::identity::{certain, likely, shown, without_session};
use crate::url::{absolute, base64url, decode, encode, parameter, usable};

#[test]
fn only_http_and_https_are_usable() {
    assert_eq!(usable(" HTTPS://Example.COM/A?b#c "), Some("https://example.com/A?b#c".to_owned()));
    assert_eq!(usable("http://example.com"), Some("http://example.com/".to_owned()));
    assert_eq!(usable("http://example.com?q"), Some("http://example.com/?q".to_owned()));
    assert_eq!(usable("https://[2001:db8::1]:8443/"), Some("https://[2001:db8::1]:8443/".to_owned()));
    assert_eq!(usable("https://münchen.example/ö"), Some("https://münchen.example/ö".to_owned()));
    for raw in [
        "",
        "x",
        "/a",
        "//example.com/",
        "javascript:alert(1)",
        "javascript://example.com/%0aalert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://example.com/",
        "https://",
        "https:///a",
        "https://user:pw@example.com/",
        "https://good.example\\@evil.example/",
        "https://exa mple.com/",
        "https://exam\u{200b}ple.com/",
        "https://.com/",
        "java\u{0}script:x",
        "https://%65xample.com/",
    ] {
        assert_eq!(usable(raw), None, "{raw}");
    }
    assert_eq!(usable(&format!("https://example.com/{}", "a".repeat(2048))), None);
}

#[test]
fn what_could_deceive_is_escaped() {
    assert_eq!(
        usable("https://a.example/b c\u{202e}\n<x>\"\u{1b}[0m"),
        Some("https://a.example/b%20c%E2%80%AE%0A%3Cx%3E%22%1B[0m".to_owned())
    );
}

#[test]
fn redirects_are_unwrapped() {
    assert_eq!(
        parameter("//d.example/l/?x=1&uddg=https%3A%2F%2Fa.example%2F%3Fb&rut=2", "uddg"),
        Some("https://a.example/?b".to_owned())
    );
    assert_eq!(parameter("//d.example/l/?xuddg=1", "uddg"), None);
    assert_eq!(base64url("aHR0cHM6Ly9hLmV4YW1wbGUvP3g9w6k_"), Some("https://a.example/?x=é?".to_owned()));
    assert_eq!(base64url("aHR0cA=="), Some("http".to_owned()));
    assert_eq!(base64url("a b"), None);
    assert_eq!(base64url("_w"), None, "not Unicode");
    assert_eq!(absolute("//a.example/"), Some("https://a.example/".to_owned()));
    assert_eq!(absolute("/a"), None);
    assert_eq!(decode("%"), "%");
    assert_eq!(decode("%zz%4"), "%zz%4");
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(text in any::<String>()) {
        prop_assert_eq!(decode(&encode(&text)), text);
    }

    #[test]
    fn usable_addresses_stay_as_they_are(tail in any::<String>()) {
        if let Some(url) = usable(&format!("https://a.example/{tail}")) {
            prop_assert_eq!(usable(&url).unwrap_or_else(|| url.clone()), url.clone());
            prop_assert!(!url.contains(char::is_whitespace));
            prop_assert_eq!(certain(&shown(&url)), certain(&url));
            prop_assert_eq!(shown(&shown(&url)), shown(&url));
        }
    }

    #[test]
    fn nothing_makes_these_panic(text in any::<String>()) {
        usable(&text);
        certain(&text);
        likely(&text);
        without_session(&text);
        shown(&text);
        decode(&text);
        base64url(&text);
        parameter(&text, "u");
    }
}
