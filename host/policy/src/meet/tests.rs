use std::path::Path;

use crate::rule::Layer;

use super::*;
use crate::{Candidate, Network, WebVerdict, parse};

fn places() -> Places {
    Places::standard(
        "/home/ana/src/project".into(),
        Some("/home/ana".into()),
        Path::new("/home/ana/.scorpiox"),
    )
}

/// Combines a managed file and a user's file, both given without the version line.
fn outcome(managed: &str, own: &str) -> Policy {
    let read = |text: &str, layer, base| {
        parse::policy(&format!("version = 1\n{text}"), Path::new("policy.toml"), layer, base).unwrap()
    };
    let managed = read(managed, Layer::Managed, Policy::builtin());
    let own = read(own, Layer::Own, managed.clone());
    managed.narrowed_by(&own, &places())
}

fn reads(policy: &Policy, profile: &str) -> Vec<String> {
    policy.shell.profiles[profile].read.iter().map(|rule| rule.place.to_string()).collect()
}

#[test]
fn what_the_person_does_not_say_stays_as_it_is() {
    let managed = "[shell.profile.workspace]\nread = [\"@system\", \"/srv\"]\nnetwork = { mode = \"open\" }\n\
                   [web]\nallow = [\"*.example.com\"]\n[tools]\ndeny = [\"Bash\"]";
    let alone = outcome(managed, "");
    assert_eq!(outcome(managed, "[shell]\nmax_background_tasks = 3").web, alone.web);
    let mut narrowed = outcome(managed, "[shell]\nmax_background_tasks = 3");
    assert_eq!(narrowed.shell.max_background_tasks, Sourced::new(3, Source::Line(3)));
    narrowed.shell.max_background_tasks = alone.shell.max_background_tasks.clone();
    assert_eq!(narrowed, alone);
    assert_eq!(alone.web.allow_origin, Source::Managed(6));
}

#[test]
fn no_key_of_the_person_opens_what_is_closed_for_all() {
    let managed = "[shell]\nmin_tier = \"T1b\"\nmax_timeout_ms = 60000\nmax_background_tasks = 2\n\
        [shell.profile.workspace]\nread = [\"@system\"]\ndeny = [\"**/key\"]\nlimits = { processes = 64 }\n\
        network = { mode = \"allowlist\", hosts = [\"*.example.com\"] }\n\
        [web]\nallow = [\"*.example.com\"]\ndeny = [\"bad.example.com\"]\nredirects = \"same-host\"\nbrowser = false\n\
        [files]\ndeny = [\"**/key\"]\n[tools]\nallow = [\"Bash\", \"Read*\"]\n[plugins]\nallow = [\"team-*\"]\napprove = \"policy\"\n\
        [audit]\nrequired = true\narguments = true\nmax_files = 20\n[workspaces]\nallow = [\"~/src\"]";
    let own = "[shell]\nmin_tier = \"T2\"\nallow_unsandboxed = true\nmax_timeout_ms = 600000\nmax_background_tasks = 100\n\
        [shell.profile.workspace]\nread = [\"@system\", \"~/\"]\nwrite = [\"@workspace\", \"@tmp\", \"~/other\"]\ndeny = []\nlimits = { processes = 9999 }\n\
        network = { mode = \"open\" }\n[shell.profile.mine]\nread = [\"/\"]\nnetwork = { mode = \"open\" }\ndeny = []\n\
        [web]\nallow = [\"*\"]\ndeny = []\nallow_private = [\"10.0.0.0/8\"]\nredirects = \"any\"\nbrowser = true\n\
        [files]\nread = [\"/\"]\ndeny = []\n[tools]\nallow = [\"*\"]\n[plugins]\nallow = [\"*\"]\napprove = \"person\"\n\
        [audit]\nenabled = false\nrequired = false\narguments = false\nmax_files = 2\n[workspaces]\nallow = [\"/\"]";
    let alone = outcome(managed, "");
    let both = outcome(managed, own);
    let (before, after) = (&alone.shell, &both.shell);
    assert_eq!(
        (after.min_tier.value, after.allow_unsandboxed.value, after.max_timeout.value),
        (before.min_tier.value, false, before.max_timeout.value)
    );
    assert_eq!(after.max_background_tasks.value, 2);
    // The workspace is readable because it is writable.
    assert_eq!(reads(&both, "workspace"), ["@system", "/home/ana/src/project"]);
    let written: Vec<_> =
        after.profiles["workspace"].write.iter().map(|rule| rule.place.to_string()).collect();
    assert_eq!(written, ["@workspace", "@tmp"]);
    for profile in ["workspace", "mine"] {
        let profile = &after.profiles[profile];
        assert!(!profile.read.iter().any(|rule| rule.place.to_string() == "/"), "{profile:?}");
        assert!(profile.denied(&places()).matches(Path::new("/home/ana/src/project/a/key")).is_some());
        assert_eq!(profile.network.value.mode(), "allowlist");
        assert_eq!(profile.limits.processes, 64);
    }
    assert!(
        both.web.check_host("example.org", 443).is_err()
            && both.web.check_host("bad.example.com", 443).is_err()
    );
    assert!(matches!(both.web.check_host("a.example.com", 443), Ok(WebVerdict::Allowed(_))));
    assert_eq!(both.web.allow_private, []);
    assert_eq!((both.web.redirects.value, both.web.browser.value), (Redirects::SameHost, false));
    let read: Vec<_> = both.files.read.iter().map(|rule| rule.place.to_string()).collect();
    assert_eq!(read, ["@workspace"]);
    assert!(both.files.check(Path::new("/home/ana/src/project/key"), &places()).is_err());
    assert!(both.tools.check_tool("TaskManager").is_err() && both.tools.check_tool("ReadDocs").is_ok());
    assert!(
        both.plugins.check(&Candidate::named("other")).is_err()
            && both.plugins.check(&Candidate::named("team-x")).is_ok()
    );
    assert_eq!(both.plugins.approve, alone.plugins.approve);
    assert_eq!(both.audit, alone.audit);
    assert!(both.workspaces.check(Path::new("/etc"), &places()).is_err());
    assert!(both.workspaces.check(Path::new("/home/ana/src/x"), &places()).is_ok());
}

#[test]
fn every_key_of_the_person_can_close_what_is_open_for_all() {
    let managed = "[shell.profile.workspace]\nread = [\"@system\", \"/srv\"]\nnetwork = { mode = \"allowlist\", \
                   hosts = [\"*.example.com\"], allow_private = [\"10.0.0.0/8\"] }\n[web]\nallow = [\"*.example.com\", \"198.51.100.0/24\"]\n[search.engine.wiby]\nenabled = true";
    let own = "[shell.profile.workspace]\nread = [\"@system\", \"/srv/data\"]\nnetwork = { mode = \"allowlist\", \
               hosts = [\"git.example.com\"], allow_private = [\"10.1.0.0/16\"] }\n[web]\nallow = [\"docs.example.com\", \"198.51.100.7\"]\n[tools]\ndeny = [\"Web*\"]\n\
               [search.engine.wiby]\nenabled = false\n[plugins]\ndeny = [\"*\"]\n[workspaces]\nallow = [\"~/src\"]";
    let both = outcome(managed, own);
    assert_eq!(reads(&both, "workspace"), ["@system", "/srv/data"]);
    let Network::Allowlist { hosts, allow_private } = &both.shell.profiles["workspace"].network.value else {
        panic!("{:?}", both.shell.profiles["workspace"].network)
    };
    assert_eq!((hosts[0].to_string().as_str(), hosts.len()), ("git.example.com", 1));
    assert_eq!(allow_private[0].to_string(), "10.1.0.0/16");
    let allowed: Vec<_> = both.web.allow.iter().map(ToString::to_string).collect();
    assert_eq!(allowed, ["docs.example.com", "198.51.100.7"]);
    assert!(both.tools.check_tool("WebSearch").is_err() && both.tools.check_tool("Bash").is_ok());
    assert!(!both.search.engines["wiby"].enabled.as_ref().unwrap().value);
    assert!(both.plugins.check(&Candidate::named("any")).is_err());
    assert!(both.workspaces.check(Path::new("/home/ana/else"), &places()).is_err());
}

#[test]
fn grants_of_both_narrow_and_none_is_added_where_there_is_to_be_none() {
    let managed = "[grant.\"plugin/a\"]\nshell = { profile = \"build\" }\n[grant.\"plugin/b\"]\n";
    let own = "[grant.\"plugin/a\"]\nshell = { profile = \"readonly\" }\n[grant.\"plugin/b\"]\nshell = { profile = \"open\" }\n";
    let both = outcome(managed, own);
    let profiles: Vec<_> = both.grants["plugin/a"].shell.iter().map(|shell| shell.profile.as_str()).collect();
    assert_eq!(profiles, ["build", "readonly"]);
    assert!(both.grants["plugin/b"].shell.is_empty());
}

#[test]
fn lines_go_to_the_places_of_both_and_the_administrators_authorities_stay() {
    let managed = "[audit]\nexport = [\"journald\", \"tls://logs.example.com\"]\n";
    let own = "[audit]\nexport = [\"/var/log/x.jsonl\", \"journald\", \"tls://own.example.com\"]\nexport_ca = \"/ca.pem\"";
    let audit = outcome(managed, own).audit;
    let places: Vec<_> = audit.export.iter().map(|to| (to.value.to_string(), to.source)).collect();
    let (all, mine) = (Source::Managed(3), Source::Line(3));
    assert_eq!(
        places,
        [
            ("journald".to_owned(), all),
            ("tls://logs.example.com:6514".to_owned(), all),
            ("/var/log/x.jsonl".to_owned(), mine),
            ("tls://own.example.com:6514".to_owned(), mine),
        ]
    );
    assert_eq!((audit.export_ca, audit.export_origin), (None, mine));
    for own in ["", "[audit]\nexport = []"] {
        let audit = outcome(managed, own).audit;
        assert_eq!((audit.export.len(), audit.export_origin), (2, all), "{own}");
    }
    let alone = outcome("", own).audit;
    assert!(alone.export.len() == 3 && alone.export_ca.is_some());
    // A user's file cannot disable a log that the managed file enables.
    assert!(outcome(managed, "[audit]\nenabled = false").audit.enabled.value);
}
