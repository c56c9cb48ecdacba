use super::*;
use crate::Policy;

fn places() -> Places {
    Places::standard("/home/me/project".into(), Some("/home/me".into()), Path::new("/home/me/.scorpiox"))
}

fn profile(name: &str, text: &str) -> Profile {
    let policy = Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml")).unwrap();
    policy.shell.profiles[name].clone()
}

fn why(profile: &Profile, access: Access, path: &str) -> (bool, String, Option<String>) {
    let Verdict { allowed, because, would_allow, .. } = profile.why_path(Path::new(path), access, &places());
    (allowed, because, would_allow)
}

/// Formats a path as messages do, with the separators of the system.
fn shown(path: &str) -> String {
    path.replace('/', std::path::MAIN_SEPARATOR_STR)
}

#[track_caller]
fn denied(profile: &Profile, access: Access, path: &str, because: &str, would_allow: Option<&str>) {
    let expected = (false, because.to_owned(), would_allow.map(str::to_owned));
    assert_eq!(why(profile, access, path), expected);
}

#[test]
fn an_allowed_path_names_its_rule() {
    let workspace = profile("workspace", "");
    for access in [Access::Read, Access::Write] {
        assert_eq!(
            why(&workspace, access, "src/main.rs"),
            (
                true,
                format!(
                    "`write` has \"@workspace\" (built-in), which covers {}",
                    shown("/home/me/project/src/main.rs")
                ),
                None
            )
        );
    }
    let (allowed, because, _) = why(&workspace, Access::Read, "/usr/bin/git");
    assert!(allowed);
    assert_eq!(because, format!("`read` has \"@system\" (built-in), which covers {}", shown("/usr/bin/git")));
    assert!(why(&workspace, Access::Read, "/home/me/.cargo/bin/cargo").0);
    assert!(!why(&workspace, Access::Read, "/usrx").0);
}

#[test]
fn the_most_specific_rule_is_named() {
    let text = "[shell.profile.workspace]\nread = ['/opt', '/opt/data']";
    let (_, because, _) = why(&profile("workspace", text), Access::Read, "/opt/data/x");
    assert_eq!(
        because,
        format!("`read` has \"/opt/data\" (policy.toml line 3), which covers {}", shown("/opt/data/x"))
    );
}

#[test]
fn what_no_rule_covers_gets_the_line_that_would() {
    let workspace = profile("workspace", "");
    denied(
        &workspace,
        Access::Read,
        "/home/me/.ssh/id",
        &format!("no entry of `read` or `write` (built-in) covers {}", shown("/home/me/.ssh/id")),
        Some(
            "read = [\"@system\", \"@toolchains\", \"@skills\", \"~/.ssh/id\"] in [shell.profile.workspace]",
        ),
    );
    denied(
        &workspace,
        Access::Write,
        "/opt/it's",
        &format!("no entry of `write` (built-in) covers {}", shown("/opt/it's")),
        Some("write = [\"@workspace\", \"@tmp\", \"/opt/it's\"] in [shell.profile.workspace]"),
    );
}

#[test]
fn programs_and_the_readonly_profile_have_no_line_that_would() {
    denied(
        &profile("workspace", ""),
        Access::Write,
        "/usr/bin/git",
        &format!(
            "no entry of `write` (built-in) covers {}, and programs that run next cannot be written",
            shown("/usr/bin/git")
        ),
        None,
    );
    denied(
        &profile("readonly", ""),
        Access::Write,
        "a",
        &format!(
            "no entry of `write` (built-in) covers {}, and profile `readonly` only writes @tmp",
            shown("/home/me/project/a")
        ),
        None,
    );
}

#[test]
fn deny_wins_over_everything() {
    let text = "[shell.profile.workspace]\ndeny = ['**/.env*', '~/project/keys']";
    let workspace = profile("workspace", text);
    denied(
        &workspace,
        Access::Read,
        "keys/a",
        &format!(
            "`deny` has \"~/project/keys\" (policy.toml line 3), which covers {}",
            shown("/home/me/project/keys/a")
        ),
        Some("deny = [\"**/.env*\"] in [shell.profile.workspace]"),
    );
    let (_, because, would_allow) = why(&profile("open", ""), Access::Write, "a/.env");
    assert_eq!(
        because,
        format!(
            "`deny` has \"**/.env!(*.example|*.sample|*.template|*.dist|*.defaults)\" (built-in), which covers {}",
            shown("/home/me/project/a/.env")
        )
    );
    assert_eq!(would_allow.unwrap(), "deny = [] in [shell.profile.open]");
}

#[test]
fn what_is_denied_and_not_covered_or_protected_gets_all_it_takes() {
    let text = "[shell.profile.workspace]\ndeny = ['**/.env*', '/srv', '/srv/a*', 'x']";
    denied(
        &profile("workspace", text),
        Access::Write,
        "/srv/ab",
        &format!("`deny` has \"/srv\" (policy.toml line 3), which covers {}", shown("/srv/ab")),
        Some(
            "deny = [\"**/.env*\", \"x\"] in [shell.profile.workspace], and write = [\"@workspace\", \"@tmp\", \
             \"/srv/ab\"] in [shell.profile.workspace]",
        ),
    );
    assert_eq!(why(&profile("workspace", ""), Access::Write, ".mcp.json").2, None);
}

#[test]
fn a_narrowed_profile_says_which_sections_to_look_at() {
    let both = profile("workspace", "").narrowed(&profile("build", ""), &places());
    assert_eq!(
        why(&both, Access::Read, "/opt").2.unwrap(),
        "add \"/opt\" to `read` in [shell.profile.workspace] and [shell.profile.build], where it is not so"
    );
    assert_eq!(
        why(&profile("open", "").narrowed(&profile("readonly", ""), &places()), Access::Write, "a").2,
        None
    );
}

proptest::proptest! {
    #[test]
    fn the_line_that_would_allow_does_allow(path in "/(opt|srv|home/me|home/me/work|usr|tmp)(/[a.\"' é]{1,3}){0,2}", write: bool) {
        let access = if write { Access::Write } else { Access::Read };
        let workspace = profile("workspace", "[shell.profile.workspace]\nread = []\nwrite = []\ndeny = []");
        if let Some(line) = why(&workspace, access, &path).2 {
            let line = line.strip_suffix(" in [shell.profile.workspace]").unwrap();
            let text = format!("[shell.profile.workspace]\n{line}\ndeny = []");
            let (allowed, because, _) = why(&profile("workspace", &text), access, &path);
            proptest::prop_assert!(allowed, "{} {}", text, because);
        }
    }
}

#[test]
fn protected_names_are_read_and_never_written() {
    let workspace = profile("workspace", "[shell.profile.workspace]\ndeny = []");
    let in_git = crate::PROTECTED_IN_GIT.iter().map(|name| format!(".git/{name}"));
    for name in crate::protected_names().iter().map(|name| name.replace('*', "x")).chain(in_git) {
        for path in [name.clone(), format!("{name}/below"), format!("a/b/{name}"), name.to_uppercase()] {
            denied(
                &workspace,
                Access::Write,
                &path,
                &format!(
                    "{} is protected (built-in): programs outside the sandbox run what it names",
                    shown(&format!("/home/me/project/{path}"))
                ),
                None,
            );
            assert!(why(&workspace, Access::Read, &path).0, "{path}");
        }
    }
    for path in [".git/index", "a/.git/HEAD", "vscode", "node_modules/a/.vscode/x", ".bashrc"] {
        assert!(why(&workspace, Access::Write, path).0, "{path}");
    }
    assert!(!why(&workspace, Access::Write, "node_modules/a/.git/config").0);
    assert!(
        !why(&profile("x", "[shell.profile.x]\nwrite = ['/home']"), Access::Write, "/home/me/.scorpiox/a").0
    );
}

#[test]
fn dots_are_not_guessed_at() {
    let (allowed, because, _) = why(&profile("workspace", ""), Access::Write, "../other");
    assert!(!allowed);
    assert_eq!(
        because,
        format!("{} has `..` in it; ask about the path it leads to", shown("/home/me/project/../other"))
    );
}

#[test]
fn without_a_home_folder_nothing_is_below_it() {
    let places = Places { home: None, ..places() };
    let open = profile("x", "[shell.profile.x]\nread = ['~/data']");
    assert!(!open.why_path(Path::new("/home/me/data"), Access::Read, &places).allowed);
}

#[test]
fn text_for_the_terminal_has_no_control_characters() {
    let (_, because, would_allow) = why(&profile("workspace", ""), Access::Read, "/a\u{1b}[2J\"é");
    let path = shown("/a");
    assert_eq!(because, format!("no entry of `read` or `write` (built-in) covers {path}\\u{{1b}}[2J\"é"));
    assert_eq!(would_allow, None);
    assert_eq!(quote("a\u{1b}\n\"\\é"), "\"a\\u001B\\u000A\\\"\\\\é\"");
}

#[test]
fn names_are_protected_in_every_folder_that_may_be_written() {
    let notes = profile("x", "[shell.profile.x]\nwrite = ['@workspace', '/srv/notes', '/srv/.claude/x']");
    for path in ["/srv/notes/.mcp.json", "/srv/notes/a/.vscode/tasks.json", "/srv/notes/.git/config"] {
        assert!(!why(&notes, Access::Write, path).0, "{path}");
        assert!(why(&notes, Access::Read, path).0, "{path}");
    }
    assert!(why(&notes, Access::Write, "/srv/.claude/x/a").0, "the operator named this folder itself");
}

#[test]
fn deny_holds_in_every_folder_that_is_opened() {
    let text = "[shell.profile.workspace]\nread = ['@system', '@toolchains', '~/reference']\n\
                deny = ['**/.env*', 'keys']";
    let workspace = profile("workspace", text);
    for path in [".env", "~/reference/.env", "~/reference/x/.env.local", "~/reference/x/keys/a", "keys/a"] {
        let path = path.replace('~', "/home/me");
        let (allowed, because, _) = why(&workspace, Access::Read, &path);
        assert!(!allowed && because.starts_with("`deny` has"), "{path}: {because}");
    }
    for path in ["/home/me/reference/x/keys-not", "/usr/share/x/.env", "/home/me/.nvm/a/.env"] {
        assert!(why(&workspace, Access::Read, path).0, "{path}");
    }
}

#[test]
fn what_lies_in_tmp_is_not_in_the_tmp_of_commands() {
    let workspace = profile("workspace", "");
    assert!(why(&workspace, Access::Write, "/tmp/a").0);
    let existing = |access| workspace.why_existing(Path::new("/tmp/a"), access, &places());
    let verdict = existing(Access::Read);
    assert!(!verdict.allowed);
    assert_eq!(
        verdict.because,
        format!("commands have a /tmp of their own, and {} is not in it", shown("/tmp/a"))
    );
    assert_eq!(
        verdict.would_allow.unwrap(),
        "read = [\"@system\", \"@toolchains\", \"@skills\", \"/tmp/a\"] in [shell.profile.workspace]"
    );
    // Commands may write there, but the machine does not see these files.
    assert!(existing(Access::Write).allowed);
    let (_, because, _) = why(&workspace, Access::Read, "/tmp/a");
    assert_eq!(
        because,
        format!(
            "`write` has \"@tmp\" (built-in), which covers {} in the commands' own /tmp",
            shown("/tmp/a")
        )
    );
    let opened = profile("workspace", "[shell.profile.workspace]\nread = ['/tmp/a']");
    assert!(opened.why_existing(Path::new("/tmp/a/b"), Access::Read, &places()).allowed);
}

#[test]
fn a_home_folder_below_tmp_is_not_in_the_tmp_of_commands_whether_a_file_is_there_or_not() {
    let places = Places { home: Some("/tmp/me".into()), ..places() };
    let workspace = profile("workspace", "");
    let path = Path::new("/tmp/me/.ssh/id");
    for access in [Access::Read, Access::Write] {
        let verdict = workspace.why_path(path, access, &places);
        assert_eq!(verdict, workspace.why_existing(path, access, &places));
        assert!(!verdict.allowed);
        assert_eq!(
            verdict.because,
            format!("commands have a /tmp of their own, and {} is not in it", shown("/tmp/me/.ssh/id"))
        );
        assert!(verdict.would_allow.expect("a line").contains("\"~/.ssh/id\"]"));
        assert!(workspace.why_path(Path::new("/tmp/other"), access, &places).allowed);
    }
    let opened = profile("workspace", "[shell.profile.workspace]\nread = ['~/.ssh']");
    assert!(opened.why_path(path, Access::Read, &places).allowed);
    assert!(!opened.why_path(path, Access::Write, &places).allowed);
    let in_tmp_itself = Places { home: Some("/tmp".into()), ..places };
    assert!(workspace.why_path(path, Access::Write, &in_tmp_itself).allowed);
}

#[test]
fn skills_are_read_where_a_profile_names_them_and_never_written() {
    let places = Places { skills: vec!["/home/me/.claude/skills/pdf".into()], ..places() };
    let why = |profile: &Profile, access, path: &str| {
        let Verdict { allowed, because, .. } = profile.why_path(Path::new(path), access, &places);
        (allowed, because)
    };
    let workspace = profile("workspace", "");
    let file = "/home/me/.claude/skills/pdf/scripts/a.py";
    assert_eq!(
        why(&workspace, Access::Read, file),
        (true, format!("`read` has \"@skills\" (built-in), which covers {}", shown(file)))
    );
    assert!(!why(&workspace, Access::Write, file).0);
    assert!(!why(&workspace, Access::Read, "/home/me/.claude/skills/pdf/.env").0, "deny holds inside");
    assert!(!why(&workspace, Access::Read, "/home/me/.claude/settings.json").0);
    let without = profile("workspace", "[shell.profile.workspace]\nread = ['@system']");
    assert!(!why(&without, Access::Read, file).0);
}

#[test]
fn the_rule_of_the_smallest_folder_decides_whether_it_may_be_written() {
    let nested = profile(
        "workspace",
        "[shell.profile.workspace]\nread = [\"/srv/a\", \"/tmp\", \"/srv/both\"]\nwrite = [\"/srv\", \"/srv/a/b\", \"/srv/both\"]",
    );
    for (path, allowed) in [
        ("/srv/x", true),
        ("/srv/a/x", false),
        ("/srv/a/b/x", true),
        ("/srv/both/x", true),
        ("/tmp/x", false),
    ] {
        assert_eq!(why(&nested, Access::Write, path).0, allowed, "{path}");
    }
    let (_, because, would_allow) = why(&nested, Access::Write, "/srv/a/x");
    assert_eq!(
        because,
        format!(
            "`read` has \"/srv/a\" (policy.toml line 3), which covers {}, for reading alone",
            shown("/srv/a/x")
        )
    );
    assert!(would_allow.unwrap().contains("\"/srv/a/x\"]"));
}

#[test]
fn what_stands_in_for_a_project_is_written_and_nothing_else_of_this_programs_own() {
    let own = Path::new("/home/me/.scorpiox");
    let places = Places::standard(own.join("workspace"), Some("/home/me".into()), own);
    let profile = &Policy::builtin().shell.profiles[crate::DEFAULT_PROFILE];
    let writes = |path: &str| profile.why_path(Path::new(path), Access::Write, &places).allowed;
    assert!(writes("a.txt") && !writes("/home/me/.scorpiox/policy.toml") && !writes(".mcp.json"));
    // A project that contains this program's folder allows no access to that folder.
    let places = Places::standard("/home/me".into(), Some("/home/me".into()), Path::new("/home/me/own"));
    assert!(!profile.why_path(Path::new("own/workspace/a"), Access::Write, &places).allowed);
}

#[cfg(windows)] // other systems have no drive letters
#[test]
fn a_path_on_a_drive_gets_the_line_that_would_and_is_closed_by_globs_from_the_root() {
    let at = |workspace: &str| {
        Places::standard(workspace.into(), Some(r"C:\Users\me".into()), Path::new(r"C:\own"))
    };
    let why =
        |profile: &Profile, access, path: &str| profile.why_path(Path::new(path), access, &at(r"C:\work"));
    let workspace = profile("workspace", "");
    for (path, entry) in
        [(r"C:\data\a", "C:/data/a"), (r"D:\data", "D:/data"), (r"C:\Users\me\.ssh\id", "~/.ssh/id")]
    {
        let line = why(&workspace, Access::Read, path).would_allow.unwrap();
        assert!(line.starts_with("read = [") && line.contains(&format!(", \"{entry}\"]")), "{line}");
        let line = line.strip_suffix(" in [shell.profile.workspace]").unwrap();
        let opened = profile("workspace", &format!("[shell.profile.workspace]\n{line}"));
        assert!(why(&opened, Access::Read, path).allowed, "{line}");
    }
    let closed = profile("x", "[shell.profile.x]\nread = ['C:\\data']\ndeny = ['/data/keys']");
    assert!(why(&closed, Access::Read, r"C:\data\a").allowed);
    assert!(!why(&closed, Access::Read, r"C:\data\Keys\a").allowed);
    // A rule for the root covers only the workspace's drive; other drives are not below it.
    let root = profile("x", "[shell.profile.x]\nread = ['/']");
    let other = profile("x", "[shell.profile.x]\nread = ['C:/data', 'D:/data']");
    let places = at(r"C:\work");
    for both in [root.narrowed(&other, &places), other.narrowed(&root, &places)] {
        let read: Vec<_> = both.read.iter().map(|rule| rule.place.to_string()).collect();
        assert_eq!(read, ["C:/data"]);
    }
}
