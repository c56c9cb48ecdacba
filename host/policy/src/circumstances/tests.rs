use std::path::Path;

use super::*;
use crate::{Policy, Source};

/// Parses the conditions of a rule.
fn conditions(keys: &str) -> Result<Conditions, String> {
    let text = format!("version = 1\n[[rules]]\nname = \"a\"\nthen = \"deny\"\n{keys}\n");
    let policy = Policy::parse(&text, Path::new("policy.toml")).map_err(|problem| problem.to_string())?;
    Ok(policy.calls.0.into_iter().next().unwrap().conditions)
}

fn circumstances() -> Circumstances {
    let set = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    Circumstances {
        workspace: Arc::new("/home/a/src/x".into()),
        remotes: Arc::new(Remotes::of(["git@github.com:acme/x.git"])),
        account: Arc::new(Account {
            users: set(&["ann", "1000"]),
            groups: set(&["dev", "contractors", "1001"]),
        }),
        client: Some("claude-code".into()),
        principal: None,
        read_before: ReadBefore::default(),
    }
}

fn hold(keys: &str, circumstances: &Circumstances) -> bool {
    let places = Places::standard("/home/a/src/x".into(), Some("/home/a".into()), Path::new("/home/a/.own"));
    conditions(keys).unwrap().hold(circumstances, &places)
}

#[test]
fn all_conditions_have_to_hold() {
    for (keys, holds) in [
        ("workspaces = [\"~/src\"]", true),
        ("workspaces = [\"~/sr\"]", false),
        ("remotes = [\"https://github.com/acme/*\"]", true),
        ("remotes = [\"github.com/other/*\", \"github.com/ACME/*\"]", true),
        ("remotes = [\"github.com/other/*\"]", false),
        ("clients = [\"claude-*\"]", true),
        ("clients = [\"claude\"]", false),
        ("workspaces = [\"~/src\"]\nremotes = [\"*\"]\nclients = [\"*\"]", true),
        ("workspaces = [\"~/src\"]\nremotes = [\"*\"]\nclients = [\"x\"]", false),
    ] {
        assert_eq!(hold(keys, &circumstances()), holds, "{keys}");
    }
}

#[cfg(unix)]
#[test]
fn accounts_are_known_by_names_and_numbers() {
    for (keys, holds) in [
        ("unix_users = [\"an?\"]", true),
        ("unix_users = [\"1000\"]", true),
        ("unix_users = [\"bob\", \"dev\"]", false),
        ("unix_groups = [\"contractors\"]", true),
        ("unix_groups = [\"ext-*\", \"1001\"]", true),
        ("unix_groups = [\"ann\"]", false),
        ("unix_users = [\"ann\"]\nunix_groups = [\"ops\"]", false),
    ] {
        assert_eq!(hold(keys, &circumstances()), holds, "{keys}");
    }
}

/// Rules only narrow, so a rule holds if nobody can tell.
#[test]
fn what_cannot_be_told_counts_as_met() {
    let unknown = Circumstances {
        remotes: Arc::new(Remotes::Unknown("x".to_owned())),
        account: Arc::default(),
        ..circumstances()
    };
    assert!(hold("remotes = [\"github.com/other/*\"]", &unknown));
    let alias = Circumstances {
        remotes: Arc::new(Remotes::of(["https://h.example/x", "gh:acme/x"])),
        ..circumstances()
    };
    assert!(hold("remotes = [\"github.com/other/*\"]", &alias), "ssh may know gh as github.com");
    if cfg!(unix) {
        assert!(hold("unix_users = [\"bob\"]\nunix_groups = [\"ops\"]", &unknown));
    }
    let none = Circumstances { remotes: Arc::new(Remotes::of([])), client: None, ..circumstances() };
    assert!(!hold("remotes = [\"*\"]", &none) && !hold("clients = [\"*\"]", &none));
}

#[test]
fn callers_are_those_over_http() {
    let ann = Principal { groups: ["ops".to_owned()].into(), ..Principal::named("ann") };
    let over_http = Circumstances { principal: Some(Arc::new(ann)), ..circumstances() };
    for (keys, holds) in [
        ("principals = [\"an*\"]", true),
        ("principals = [\"bob\"]", false),
        ("groups = [\"ops\", \"dev\"]", true),
        ("groups = [\"dev\"]", false),
        ("principals = [\"ann\"]\ngroups = [\"dev\"]", false),
        ("principals = [\"*\"]", true),
    ] {
        assert_eq!(hold(keys, &over_http), holds, "{keys}");
        assert!(!hold(keys, &circumstances()), "{keys}: over stdio nobody calls");
    }
}

#[test]
fn mistakes_name_their_key_and_line() {
    let many: Vec<_> = (0..65).map(|at| format!("\"{at}\"")).collect();
    let many = format!("clients = [{}]", many.join(", "));
    for (keys, said) in [
        ("remotes = []", "line 5: `remotes` in [[rules]] is empty, so the rule covers no call"),
        ("clients = [\"a\", 1]", "line 5: `clients` in [[rules]] is the integer 1"),
        ("clients = \"a\"", "line 5: `clients` in [[rules]] is the string \"a\"; write a list of clients"),
        ("remotes = [\"a b\"]", "line 5: `remotes` in [[rules]]: remote \"a b\" has a blank"),
        ("principals = [\"a*b\"]", "has a `*` before its end"),
        ("groups = [\"\"]", "group \"\" is empty"),
        ("workspaces = [\"@tmp\"]", "@tmp is not a folder that holds workspaces"),
        ("remote = [\"x\"]", "unknown key `remote` in [[rules]]; did you mean `remotes`?"),
        (&many, "line 5: `clients` in [[rules]] has 65 entries; write at most 64"),
    ] {
        let problem = conditions(keys).unwrap_err();
        assert!(problem.contains(said), "{keys}: {problem}");
    }
    let said = conditions("unix_users = [\"a\\u0000\"]").unwrap_err();
    let wanted = if cfg!(windows) { "not known on Windows" } else { "has a control character" };
    assert!(said.contains(wanted), "{said}");
}

#[test]
fn conditions_are_shown_as_they_are_written() {
    let keys = "workspaces = [\"~/src\"]\nremotes = [\"git@github.com:acme/*\"]\nclients = [\"x\"]\n\
                principals = [\"ann\"]\ngroups = [\"ops\"]";
    let read = conditions(keys).unwrap();
    let shown: Vec<_> =
        lists(&read).iter().map(|(key, entries)| format!("{key} {}", entries.join(" "))).collect();
    let wanted =
        ["workspaces ~/src", "remotes github.com/acme/*", "clients x", "principals ann", "groups ops"];
    assert_eq!(shown, wanted);
    let text = format!("version = 1\n[[rules]]\nname = \"a\"\nthen = \"deny\"\n{keys}\n");
    let page = crate::render(&Policy::parse(&text, Path::new("policy.toml")).unwrap());
    assert!(page.contains("remotes = [\"github.com/acme/*\"]"), "{page}");
    assert_eq!(Policy::parse(&text, Path::new("p")).unwrap().calls.0[0].source, Source::Line(2));
}
