use super::*;

fn places() -> Places {
    Places::standard("/w".into(), Some("/home/me".into()), Path::new("/home/me/.scorpiox"))
}

fn set(globs: &[&str]) -> DenySet {
    let rules: Vec<_> = globs.iter().map(|g| DenyRule::parse(g, Source::Builtin).unwrap()).collect();
    DenySet::new(&rules, &["/w".into(), "/srv/data".into()], &places())
}

fn closes(set: &DenySet, inside: &str) -> bool {
    set.matches(&Path::new("/w").join(inside)).is_some()
}

#[track_caller]
fn refused(glob: &str) -> String {
    DenyRule::parse(glob, Source::Builtin).unwrap_err().to_string()
}

#[test]
fn a_glob_for_any_depth_matches_at_the_top_too() {
    let env = set(&["**/.env*"]);
    for name in [".env", ".env.local", "a/.env", "a/b/.envrc", ".env/key", "./.env", "a/../.env", ".ENV"] {
        assert!(closes(&env, name), "{name}");
    }
    for name in ["", "env", "a.env", "x/env/y"] {
        assert!(!closes(&env, name), "{name}");
    }
}

/// As globs they would match nothing, and what they name would stay open.
#[test]
fn names_of_places_variables_and_blanks_are_refused() {
    for (glob, why) in [
        ("@workspace/secrets", "the name of a place"),
        ("@skills", "the name of a place"),
        ("$HOME/x", "a variable"),
        ("${HOME}/x", "a variable"),
        ("%USERPROFILE%/x", "a variable"),
        (" secrets", "a blank"),
        ("secrets/ ", "a blank"),
    ] {
        assert!(refused(glob).contains(why), "{glob}: {}", refused(glob));
    }
    let odd = set(&["@acme/private", "$RECYCLE.BIN", "50%", "two words"]);
    assert!(closes(&odd, "@acme/private") && closes(&odd, "x/$RECYCLE.BIN") && closes(&odd, "two words"));
}

#[test]
fn a_name_alone_is_meant_at_any_depth_and_a_folder_covers_all_below_it() {
    let keys = set(&["*.pem", "secrets/", "conf/*.key"]);
    assert!(closes(&keys, "a.pem") && closes(&keys, "x/a.pem"));
    assert_eq!(keys.matches(Path::new("/w/secrets/deep/key")).unwrap().glob(), "secrets/");
    assert!(closes(&keys, "x/secrets/key") && !closes(&keys, "secrets-not"));
    // With a folder component, the glob is relative to the base folder.
    assert!(closes(&keys, "conf/a.key") && !closes(&keys, "x/conf/a.key") && !closes(&keys, "conf/x/a.key"));
}

#[test]
fn a_glob_that_begins_with_a_slash_is_meant_at_the_root_of_each_folder_and_of_the_machine() {
    let keys = set(&["/secrets/"]);
    assert!(closes(&keys, "secrets/key") && !closes(&keys, "x/secrets/key"));
    for path in ["/srv/data/secrets/key", "/secrets/key"] {
        assert!(keys.matches(Path::new(path)).is_some(), "{path}");
    }
    assert!(keys.matches(Path::new("/srv/secrets/key")).is_none());
}

#[test]
fn globs_from_the_root_and_from_home_speak_of_absolute_paths() {
    let keys = set(&["/srv/*/key", "~/.ssh", "*.pem"]);
    let matched = |path: &str| keys.matches(Path::new(path)).map(DenyRule::glob);
    assert_eq!(matched("/srv/a/key"), Some("/srv/*/key"));
    assert_eq!(matched("/home/me/.ssh/id"), Some("~/.ssh"));
    assert_eq!(matched("/w/srv/a/key"), Some("/srv/*/key"));
    assert_eq!(matched("/other/srv/a/key"), None);
}

#[test]
fn globs_from_the_root_and_from_home_hold_where_links_lead() {
    let mut places = places();
    for (path, real) in [("/home/me/notes/secret", "/disk/secret"), ("/srv", "/var/srv")] {
        places.real.insert(path.into(), real.into());
    }
    let rules: Vec<_> = ["~/notes/secret", "/srv/*/key*"]
        .iter()
        .map(|glob| DenyRule::parse(glob, Source::Builtin).unwrap())
        .collect();
    let set = DenySet::new(&rules, &["/w".into()], &places);
    for path in
        ["/home/me/notes/secret/k", "/disk/secret", "/disk/secret/k", "/srv/a/key", "/var/srv/a/keys/x"]
    {
        assert!(set.matches(Path::new(path)).is_some(), "{path}");
    }
    for path in ["/disk", "/disk/secrets", "/var/srv/key", "/var/srv/a/other"] {
        assert!(set.matches(Path::new(path)).is_none(), "{path}");
    }
    let heads: Vec<_> = rules.iter().map(|rule| rule.head(&places).unwrap()).collect();
    assert_eq!(heads, [Path::new("/home/me/notes/secret"), Path::new("/srv")]);
}

#[test]
fn globs_without_a_beginning_hold_in_every_folder_that_is_opened_and_nowhere_else() {
    let keys = set(&["*.pem", "**/.env*"]);
    let matched = |path: &str| keys.matches(Path::new(path)).map(DenyRule::glob);
    assert_eq!(matched("/w/a.pem"), Some("*.pem"));
    assert_eq!(matched("/srv/data/a.pem"), Some("*.pem"));
    assert_eq!(matched("/srv/data/x/.env.local"), Some("**/.env*"));
    for path in ["/elsewhere/a.pem", "/srv/.env", "/usr/lib/.env"] {
        assert_eq!(matched(path), None, "{path}");
    }
}

#[test]
fn globs_that_cannot_be_meant_are_refused() {
    for glob in ["*", "**", "**/*", "/**", "~/", "/", "~/**", "?*", "{*,x}", "*/*", "**/**"] {
        assert_eq!(
            refused(glob),
            format!("glob \"{glob}\" matches everything; leave the folder out of `read` and `write` instead")
        );
    }
    assert!(refused("a[").starts_with("glob \"a[\" is not valid: unclosed character class"));
    assert!(refused("").contains("is empty"));
    assert!(refused("../x").contains("has `.` or `..` as a folder"));
    assert!(refused("a\0").contains("control character"));
    assert!(refused(&"a".repeat(513)).contains("longer than 512 bytes"));
}

#[cfg(windows)] // other systems have a single root, and `\` is an ordinary character
#[test]
fn globs_from_the_root_hold_on_each_drive_and_have_either_separator() {
    let keys = set(&["/srv/*/key", r"~\.ssh", r"a\b.pem"]);
    for path in
        [r"C:\srv\a\key", r"d:\SRV\a\key\x", r"\\host\share\srv\a\key", "/home/me/.ssh/id", "/w/a/b.pem"]
    {
        assert!(keys.matches(Path::new(path)).is_some(), "{path}");
    }
    assert!(keys.matches(Path::new(r"C:\x\srv\a\key")).is_none());
    assert!(refused(r"C:\secret").contains("it holds on each drive"));
    assert!(refused(r"a\..\b").contains("has `.` or `..` as a folder"));
}

proptest::proptest! {
    #[test]
    fn any_glob_and_path_are_taken_without_panic(glob in "[a*?/\\[\\]{},!\\\\.~é^-]{0,12}", path in "[a/.é]{0,8}") {
        if let Ok(rule) = DenyRule::parse(&glob, Source::Builtin) {
            _ = DenySet::new(&[rule], &["/".into()], &places()).matches(&Path::new("/").join(&path));
        }
    }
}
