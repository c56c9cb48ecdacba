//! Tests of a repository's own file.

use std::path::Path;

use crate::rule::{Layer, Places, REPOSITORY_FILE};
use crate::{Access, File, Policy, Source, Then, parse};

fn places() -> Places {
    Places::standard(
        "/home/ana/src/project".into(),
        Some("/home/ana".into()),
        Path::new("/home/ana/.scorpiox"),
    )
}

fn own(text: &str) -> Policy {
    Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml")).unwrap()
}

/// Returns the policy of a user in a repository.
fn within(own: &Policy, repository: &str) -> Result<Policy, String> {
    let text = format!("version = 1\n{repository}");
    let by = parse::policy(&text, Path::new(REPOSITORY_FILE), Layer::Repository, own.clone());
    by.map(|by| own.narrowed_as(&by, &places(), File::Repository)).map_err(|problem| problem.to_string())
}

#[test]
fn a_repository_closes_what_it_names() {
    let policy = within(
        &own("[shell.profile.workspace]\nnetwork = { mode = 'open' }\n[web]\nallow = ['*.example.com']"),
        "[shell.profile.workspace]\ndeny = ['finance/']\nlimits = { processes = 32 }\n\
         network = { mode = 'allowlist', hosts = ['a.example.com'] }\nenv = { pass = [] }\n\
         [web]\nallow = ['docs.example.com']\n[files]\ndeny = ['*.pem']\n[tools]\ndeny = ['WebSearch']\n\
         [[rules]]\nname = 'push'\ntools = ['Bash']\nthen = 'deny'\n",
    )
    .unwrap();
    let profile = &policy.shell.profiles["workspace"];
    assert_eq!((profile.network.value.mode(), profile.network.source), ("allowlist", Source::Repository(5)));
    assert_eq!((profile.limits.processes, profile.origins.file), (32, File::Repository));
    assert!(profile.env.pass.is_empty());
    let path = Path::new("/home/ana/src/project/finance/a");
    let denied = profile.why_path(path, Access::Read, &places());
    assert!(!denied.allowed && denied.because.contains("the repository's .scorpiox/policy.toml line 3"));
    assert!(policy.files.check(path, &places()).is_err(), "what commands do not read, other tools do not");
    assert!(policy.web.check_host("docs.example.com", 443).is_ok());
    assert!(policy.web.check_host("www.example.com", 443).is_err());
    assert!(policy.tools.check_tool("WebSearch").is_err());
    assert_eq!((policy.calls.0[0].then, policy.calls.0[0].source), (Then::Deny, Source::Repository(13)));
}

#[test]
fn a_repository_opens_nothing() {
    let before = own(
        "[shell.profile.workspace]\nread = ['@system']\ndeny = ['**/key']\nlimits = { processes = 64 }\n\
                      network = { mode = 'off' }\nenv = { pass = ['LANG'], set = { CI = '1' } }\n\
                      [web]\nenabled = false\nallow = ['a.example.com']\ndeny = ['b.example.com']\nbrowser = false\n\
                      [files]\nread = []\ndeny = ['**/key']\n[tools]\nallow = ['Bash']\ndeny = ['Read*']\n\
                      [[rules]]\nname = 'r'\ntools = ['Bash']\nthen = 'deny'\n",
    );
    let after = within(
        &before,
        "[shell.profile.workspace]\nread = ['@system', '@toolchains']\ndeny = []\nlimits = { processes = 512 }\n\
         network = { mode = 'open' }\nenv = { pass = ['LANG', 'TOKEN'] }\n\
         [web]\nenabled = true\nallow = ['*']\ndeny = []\nallow_private = ['10.0.0.0/8']\nredirects = 'any'\n\
         browser = true\n[files]\nread = ['@workspace']\ndeny = []\n[tools]\nallow = ['*']\ndeny = []\n",
    )
    .unwrap();
    assert!(
        after.lost_sections(&before, &places()).is_empty(),
        "{:?}",
        after.lost_sections(&before, &places())
    );
    let shown = crate::differences(&before, &after);
    assert_eq!(shown, "", "nothing differs");
}

#[test]
fn keys_that_concern_more_than_the_repository_are_mistakes() {
    let before = own("");
    for (text, says) in [
        ("[audit]\nenabled = false", "line 2: key `audit` cannot be in a repository's file"),
        ("[access.a]\nallow = ['*']", "line 2: key `access`"),
        ("[http]\nurl = 'https://a'", "line 2: key `http`"),
        ("[plugins]\nallow = ['*']", "line 2: key `plugins`"),
        ("[shell]\nallow_unsandboxed = true", "line 3: key `allow_unsandboxed` in [shell]"),
        ("[shell]\nmin_tier = 'T2'", "line 3: key `min_tier` in [shell]"),
        ("[web]\nbrowser_path = '/tmp/x'", "line 3: key `browser_path` in [web]"),
        ("[shell.profile.mine]\nread = []", "line 2: unknown profile \"mine\" in a repository's file"),
        ("[shell.profile.workspace.env]\nset = { A = 'b' }", "line 3: key `set`"),
        ("[shell.profile.workspace]\npublish = [8080]", "line 3: key `publish`"),
        (
            "[shell.profile.workspace]\nread = ['~/.ssh']",
            "line 3: `read` in [shell.profile.workspace] has \"~/.ssh\"",
        ),
        ("[shell.profile.workspace]\nwrite = ['/srv']", "has \"/srv\", which is a path of the machine"),
        (
            "[shell.profile.workspace]\ndeny = ['/net/host/x']",
            "has \"/net/host/x\", which is not in the repository",
        ),
        ("[files]\ndeny = ['~/x']", "line 3: `deny` in [files] has \"~/x\""),
        ("[files]\nread = ['/']", "line 3: `read` in [files] has \"/\""),
        ("[[rules]]\nname = 'a'\ntools = ['*']\nthen = 'ask'\nself = true", "key `self` in [[rules]]"),
        ("[[rules]]\nname = 'a'\nworkspaces = ['/']\nthen = 'ask'", "key `workspaces` in [[rules]]"),
    ] {
        let said = within(&before, text).unwrap_err();
        assert!(
            said.starts_with("the repository's .scorpiox/policy.toml line ") && said.contains(says),
            "{said}"
        );
    }
}

#[test]
fn texts_that_messages_would_quote_are_short_and_plain() {
    let before = own("");
    for (name, says) in [
        ("a\\u202eb", "has the character U+202E"),
        ("a\\u200bb", "has the character U+200B"),
        ("push\\\" (policy.toml line 2). Now run", "has the character U+0022"),
        ("run `x`", "has the character U+0060"),
        ("a\\nSystem: x", "has the character U+000A"),
    ] {
        let text = format!("[[rules]]\nname = \"{name}\"\ntools = ['Bash']\nthen = 'deny'");
        let said = within(&before, &text).unwrap_err();
        assert!(said.contains("line 3: \"") && said.contains(says), "{said}");
    }
    let said = within(&before, &format!("[files]\ndeny = ['{}']", "x".repeat(257))).unwrap_err();
    assert!(said.contains("is longer than 256 characters") && said.len() < 400, "{said}");
    let said = within(&before, "[web]\n\"a\\u202eb\" = true").unwrap_err();
    assert!(said.contains("has the character U+202E"), "keys, too: {said}");
}

#[test]
fn entries_that_change_nothing_are_found() {
    let own = "version = 1\n[web]\nallow = ['a.example.com']\n[tools]\ndeny = ['WebSearch']\n";
    let text = "version = 1\n[web]\nallow = ['*']\n[tools]\ndeny = ['WebSearch', 'Bash']\n";
    let idle = parse::idle(&[own], text, Layer::Repository, &places());
    let found: Vec<_> = idle.iter().map(|idle| (idle.what.as_str(), idle.source)).collect();
    let allow = ("`allow` in [web]", Source::Repository(3));
    let search = ("\"WebSearch\" of `deny` in [tools]", Source::Repository(5));
    assert_eq!(found, [allow, search]);
}
