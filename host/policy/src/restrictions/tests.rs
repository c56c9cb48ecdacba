use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::access::Principal;
use crate::rule::Layer;
use crate::{Access, parse};

const CONTRACTORS: &str = "[[narrow]]\nname = 'contractors'\nunix_groups = ['contractors']\n\
    [narrow.shell.profile.workspace]\ndeny = ['finance/']\n\
    network = { mode = 'allowlist', hosts = ['registry.example.com'] }\n\
    [narrow.web]\nenabled = false\n[narrow.tools]\ndeny = ['WebSearch']\n";
const CI: &str = "[[narrow]]\nname = 'ci'\nprincipals = ['ci-*']\n[narrow.tools]\nallow = ['Bash']\n";

fn places() -> Places {
    Places::standard(
        "/home/ana/src/project".into(),
        Some("/home/ana".into()),
        Path::new("/home/ana/.scorpiox"),
    )
}

fn policy(text: &str) -> Policy {
    Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml")).unwrap()
}

fn circumstances(groups: &[&str], principal: Option<&str>) -> Circumstances {
    let mut circumstances = Circumstances::in_workspace(Path::new("/home/ana/src/project"));
    circumstances.account = Arc::new(crate::Account {
        users: Some(["ana".to_owned()].into()),
        groups: Some(groups.iter().map(|&group| group.to_owned()).collect()),
    });
    let principal = principal.map(|name| Principal { name: name.to_owned(), ..Principal::default() });
    circumstances.principal = principal.map(Arc::new);
    circumstances
}

fn held(policy: &Policy, circumstances: &Circumstances) -> Policy {
    policy.restricted(&policy.restrictions_for(circumstances, Some(&places())), &places())
}

#[test]
fn contractors_get_lower_limits_and_never_higher_ones() {
    let limits = |own: &str, theirs: &str| {
        let all = policy(&format!(
            "[shell]\nmax_timeout_ms = 300000\n[shell.profile.workspace.limits]\n{own}\n\
             [[narrow]]\nname = 'contractors'\nunix_groups = ['contractors']\n\
             [narrow.shell]\nmax_timeout_ms = 60000\n[narrow.shell.profile.workspace.limits]\n{theirs}\n"
        ));
        let of = |groups: &[&str]| {
            let shell = held(&all, &circumstances(groups, None)).shell;
            let limits = &shell.profiles["workspace"].limits;
            (limits.processes, limits.memory >> 20, shell.max_timeout.value.as_secs())
        };
        (of(&["staff"]), of(&["contractors"]))
    };
    let lower = limits("processes = 200\nmemory = '2GiB'", "processes = 50\nmemory = '256MiB'");
    assert_eq!(lower, ((200, 2048, 300), (50, 256, 60)));
    let higher = limits("processes = 200\nmemory = '2GiB'", "processes = 400\nmemory = '4GiB'");
    assert_eq!(higher, ((200, 2048, 300), (200, 2048, 60)));
}

#[test]
fn limits_of_calls_are_written_where_they_are_counted() {
    let text = "version = 1\n[[narrow]]\nname = 'a'\nprincipals = ['b']\n[narrow.limits.c]\nin_flight = 1\n";
    let problem = Policy::parse(text, Path::new("policy.toml")).expect_err("no table").to_string();
    assert!(problem.contains("line 5") && problem.contains("write [limits.NAME] with"), "{problem}");
}

#[test]
fn restrictions_hold_for_those_that_they_name() {
    let all = policy(&format!(
        "[shell.profile.workspace]\nnetwork = {{ mode = 'allowlist', hosts = ['*.example.com'] }}\n{CONTRACTORS}{CI}"
    ));
    let ana = circumstances(&["staff"], None);
    assert_eq!(held(&all, &ana), all, "nobody else is restricted");
    let restricted = held(&all, &circumstances(&["contractors"], None));
    let profile = &restricted.shell.profiles["workspace"];
    let denied = profile.why_path(Path::new("finance/a"), Access::Read, &places());
    assert!(denied.because.contains("\"finance/\" (policy.toml line 8)"), "{}", denied.because);
    assert_eq!((profile.network.source, profile.origins.file), (Source::Line(9), File::Restriction));
    assert!(
        restricted.web.check_host("docs.example.com", 443).unwrap_err().0.contains("policy.toml line 11")
    );
    assert!(restricted.tools.check_tool("WebSearch").unwrap_err().why.contains("policy.toml line 13"));
    assert_eq!(restricted.widest(), &all, "its writable folders are still those of all");
    // Several hold at once.
    let both = held(&all, &circumstances(&["contractors"], Some("ci-1")));
    assert!(both.tools.check_tool("TaskManager").unwrap_err().why.contains("policy.toml line 18"));
    assert!(!both.web.enabled.value);
    assert!(held(&all, &circumstances(&[], Some("ann"))).web.enabled.value);
}

#[test]
fn a_restriction_opens_nothing() {
    let closed = "[shell.profile.workspace]\nread = ['@system']\nnetwork = { mode = 'off' }\ndeny = ['a']\n\
                  [shell]\nmax_background_tasks = 2\n\
                  [web]\nallow = ['a.example.com']\n[files]\nread = []\n[tools]\nallow = ['Bash']\n";
    let open = "[[narrow]]\nname = 'x'\nclients = ['*']\n[narrow.shell]\nmax_background_tasks = 16\n\
                [narrow.shell.profile.workspace]\nread = ['@system', '/srv']\nnetwork = { mode = 'open' }\ndeny = []\n\
                [narrow.web]\nallow = ['*']\n[narrow.files]\nread = ['/']\ndeny = []\n[narrow.tools]\nallow = ['*']\n";
    let all = policy(&format!("{closed}{open}"));
    let after = all.restricted(&[0], &places());
    assert_eq!(crate::differences(&all, &after), "");
}

#[test]
fn conditions_on_folders_hold_if_folders_are_unknown() {
    let all = policy("[[narrow]]\nname = 'x'\nworkspaces = ['~/other']\n[narrow.web]\nenabled = false\n");
    let ana = circumstances(&[], None);
    assert_eq!(all.restrictions_for(&ana, Some(&places())), [] as [usize; 0]);
    assert_eq!(all.restrictions_for(&ana, None), [0]);
    let other = policy(
        "[[narrow]]\nname = 'x'\nworkspaces = ['~/other']\nprincipals = ['ci']\n[narrow.web]\nenabled = false\n",
    );
    assert_eq!(other.restrictions_for(&ana, None), [] as [usize; 0], "another condition does not hold");
}

#[test]
fn the_restrictions_of_both_files_hold() {
    let read = |text: &str, layer, base| {
        parse::policy(&format!("version = 1\n{text}"), Path::new("policy.toml"), layer, base).unwrap()
    };
    let managed = read(CONTRACTORS, Layer::Managed, Policy::builtin());
    let own = read(&format!("{CI}{CONTRACTORS}"), Layer::Own, managed.clone());
    let both = managed.narrowed_by(&own, &places());
    let names: Vec<_> = both.restrictions.iter().map(ToString::to_string).collect();
    let managed_file = Layer::Managed.file();
    assert_eq!(
        names,
        [
            format!("[[narrow]] \"contractors\" ({managed_file} line 2)"),
            "[[narrow]] \"ci\" (policy.toml line 2)".to_owned()
        ]
    );
    assert!(!held(&both, &circumstances(&["contractors"], None)).web.enabled.value);
}

#[test]
fn a_new_or_changed_restriction_takes_something_away() {
    let (without, with) = (policy(""), policy(CI));
    let lost = |before: &Policy, after: &Policy| -> Vec<_> {
        before.lost_sections(after, &places()).into_iter().collect()
    };
    assert_eq!(lost(&without, &with), ["[[narrow]] \"ci\""]);
    assert!(lost(&with, &without).is_empty());
    assert!(lost(&with, &policy(&format!("# moved\n\n{CI}"))).is_empty(), "lines do not matter");
    let narrower = policy(&CI.replace("['Bash']", "['ReadDocs']"));
    assert_eq!(lost(&with, &narrower), ["[[narrow]] \"ci\""]);
}

#[test]
fn what_is_shown_says_the_same() {
    let all = policy(&format!("{CONTRACTORS}{CI}"));
    let shown = crate::render(&all);
    assert!(shown.contains("shell.profile.workspace.deny = [\"finance/\"]"), "{shown}");
    let again = Policy::parse(&shown, Path::new("policy.toml")).unwrap();
    assert_eq!(crate::differences(&all, &again), "");
    let both = held(&again, &circumstances(&["contractors"], Some("ci-9")));
    assert!(!both.web.enabled.value && both.tools.check_tool("TaskManager").is_err());
}

#[test]
fn mistakes_have_their_lines() {
    for (text, says) in [
        ("[[narrow]]\nclients = ['a']", "line 2: [[narrow]] has no `name`"),
        ("[[narrow]]\nname = 'a'", "line 2: [[narrow]] \"a\" has no condition"),
        ("[[narrow]]\nname = 'a'\nclients = ['a']", "line 2: [[narrow]] \"a\" narrows nothing"),
        (
            "[[narrow]]\nname = 'a'\nclients = ['a']\n[narrow.audit]\nenabled = false",
            "line 5: unknown key `audit` in [[narrow]]",
        ),
        ("[[narrow]]\nname = 'a'\nclients = ['a']\nscopes = ['x']", "line 5: unknown key `scopes`"),
        ("[[narrow]]\nname = 'a'\nclients = ['a']\n[narrow.web]\nenabled = 1", "line 6: `enabled`"),
        (
            "[[narrow]]\nname = 'a'\nclients = ['a']\n[narrow.web]\nbrowser_path = '/x'",
            "line 6: `browser_path`",
        ),
        (
            "[[narrow]]\nname = 'a'\nclients = ['a']\n[narrow.shell.profile.x]\nread = []",
            "line 5: unknown profile \"x\"",
        ),
        ("[[narrow]]\nname = \"a\\u0007\"\nclients = ['a']\n[narrow.web]\nenabled = false", "line 3: `name`"),
        ("[narrow]\nname = 'a'", "line 2: `narrow` is a table; write each restriction as a table [[narrow]]"),
    ] {
        let said = Policy::parse(&format!("version = 1\n{text}\n"), Path::new("policy.toml"))
            .unwrap_err()
            .to_string();
        assert!(said.contains(says), "{text}: {said}");
    }
    let twice = format!("version = 1\n{CI}{CI}");
    assert!(
        Policy::parse(&twice, Path::new("p"))
            .unwrap_err()
            .to_string()
            .contains("is also the name of another")
    );
    let many: String = (0..65).map(|number| CI.replace("'ci'", &format!("'{number}'"))).collect();
    let said = Policy::parse(&format!("version = 1\n{many}"), Path::new("p")).unwrap_err().to_string();
    assert!(said.contains("[[narrow]] is there 65 times"), "{said}");
}
