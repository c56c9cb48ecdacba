use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{Network, Places, Source, Tier};

fn parse(text: &str) -> Result<Policy, Problem> {
    Policy::parse(text, Path::new("/home/me/.scorpiox/policy.toml"))
}

#[cfg(unix)] // the paths are absolute only on Unix
mod http;
mod profile;
mod repository;
mod store;

/// Asserts the message for a text that follows the version on line 1.
#[track_caller]
fn says(text: &str, message: &str) {
    let text = format!("version = 1\n{text}");
    assert_eq!(parse(&text).unwrap_err().to_string(), format!("policy.toml {message}"));
}

#[track_caller]
fn profile_says(line: &str, message: &str) {
    says(&format!("[shell.profile.workspace]\n{line}"), &format!("line 3: {message}"));
}

#[test]
fn a_file_needs_the_version_it_is_written_for() {
    let message = |text| parse(text).unwrap_err().to_string();
    assert_eq!(message(""), "policy.toml has no `version`; write `version = 1` as its first line");
    assert_eq!(
        message("[future]\n[shell]"),
        "policy.toml has no `version`; write `version = 1` as its first line"
    );
    assert_eq!(
        message("version = 2\nnew = 1"),
        "policy.toml line 1: version 2 is not known to this program; write `version = 1`"
    );
    assert_eq!(
        message("version = '1'"),
        "policy.toml line 1: `version` is the string \"1\"; write `version = 1`"
    );
    assert_eq!(parse("version = 1"), Ok(Policy::builtin()));
}

#[test]
fn a_file_for_a_newer_program_is_refused_before_anything_else_in_it() {
    says(
        "min_version = '999.0.0'\n[newer]",
        &format!(
            "line 2: `min_version` is 999.0.0, and this program is {}; install the newer one",
            env!("CARGO_PKG_VERSION")
        ),
    );
    says("min_version = 'new'", "line 2: `min_version` is \"new\"; write a version such as \"0.1.0\"");
    assert_eq!(parse("version = 1\nmin_version = '0.0.1'"), Ok(Policy::builtin()));
}

#[test]
fn rules_for_tools_and_plugins_and_workspaces_are_read() {
    let policy = parse(
        "version = 1\n[tools]\ndeny = ['Bash']\n[plugins]\napprove = 'policy'\n[workspaces]\nallow = ['~/src']",
    );
    let policy = policy.unwrap();
    assert!(policy.tools.check_tool("Bash").is_err());
    assert_eq!(policy.plugins.approve.source, Source::Line(5));
    assert_eq!(policy.workspaces.allow.unwrap()[0].place.to_string(), "~/src");
    says(
        "[plugins]\napprove = 'all'",
        "line 3: unknown word \"all\" for `approve` in [plugins]; known words are `person`, `policy`",
    );
    says(
        "[workspaces]\nallow = ['@workspace']",
        "line 3: `allow` in [workspaces]: @workspace is not a folder that holds workspaces; write an absolute path, or one that begins with ~/",
    );
}

#[test]
fn an_unknown_key_gets_its_line_and_the_nearest_known_one() {
    says(
        "\n\n\n[shell.profile.workspace]\n\nraed = []",
        "line 7: unknown key `raed` in [shell.profile.workspace]; did you mean `read`? known keys are `read`, \
         `write`, `deny`, `network`, `unknown_hosts`, `local`, `publish`, `env`, `limits`",
    );
    says(
        "[shel]",
        "line 2: unknown key `shel`; did you mean `shell`? known keys are `version`, `min_version`, `last_good`, \
         `shell`, `web`, `files`, `search`, `tools`, `rules`, `narrow`, `approvers`, `approved`, `plugins`, `workspaces`, `audit`, `store`, `http`, `access`, `limits`, `workspace`, `grant`",
    );
    profile_says(
        "network = { mode = 'off', host = [] }",
        "unknown key `host` in [shell.profile.workspace.network]; did you mean `hosts`? known keys are `mode`, `hosts`, `allow_private`",
    );
    profile_says(
        "env = { posix = [] }",
        "unknown key `posix` in [shell.profile.workspace.env]; known keys are `pass`, `set`",
    );
    profile_says(
        "limits.procesess = 9",
        "unknown key `procesess` in [shell.profile.workspace.limits]; did you mean `processes`? known keys are \
         `processes`, `memory`, `open_files`, `file_size`, `tmp`",
    );
    says(
        "[shell]\nz = 1\na = 1",
        "line 3: unknown key `z` in [shell]; known keys are `min_tier`, `allow_unsandboxed`, `default_timeout_ms`, \
         `max_timeout_ms`, `max_background_tasks`, `profile`",
    );
    says(
        "[grant.x]\nshel = 1",
        "line 3: unknown key `shel` in [grant.\"x\"]; did you mean `shell`? known keys are `shell`",
    );
}

#[test]
fn what_is_not_toml_gets_its_line() {
    says("a = 1\na = 2", "line 3 is not TOML: duplicate key; keep one of them");
    let broken = parse("version = 1\n[shell\n").unwrap_err();
    assert_eq!(broken.line, Some(2));
    assert!(broken.what.starts_with("is not TOML: "), "{broken}");
}

#[test]
fn a_wrong_type_is_shown_with_what_to_write() {
    says(
        "[shell]\nallow_unsandboxed = 'yes'",
        "line 3: `allow_unsandboxed` in [shell] is the string \"yes\"; write true or false",
    );
    says("shell = 1", "line 2: `shell` is the integer 1; write it as the table [shell]");
    says("[[shell]]", "line 2: `shell` is a list; write it as the table [shell]");
    says(
        "[shell]\nmin_tier = 'T0'",
        "line 3: `min_tier` in [shell] is the string \"T0\"; write \"T1\", \"T1b\" or \"T2\"",
    );
    says(
        "[shell]\nmin_tier = 1.5",
        "line 3: `min_tier` in [shell] is the number 1.5; write \"T1\", \"T1b\" or \"T2\"",
    );
    profile_says(
        "read = '@system'",
        "`read` in [shell.profile.workspace] is the string \"@system\"; write a list of paths, such as \
         [\"@workspace\", \"/opt/data\"]",
    );
    profile_says(
        "deny = [2020-01-01]",
        "`deny` in [shell.profile.workspace] is a date; write a list of globs, such as [\"**/.env*\"]",
    );
    profile_says(
        "env.set = { CI = 1 }",
        "`CI` in [shell.profile.workspace.env.set] is the integer 1; write a string, such as \"1\"",
    );
    profile_says(
        "network = 'off'",
        "`network` in [shell.profile.workspace] is the string \"off\"; write it as the table \
         [shell.profile.workspace.network]",
    );
}

#[test]
fn numbers_have_ranges() {
    for (key, range) in [
        ("default_timeout_ms", "1 to 600000"),
        ("max_timeout_ms", "1 to 600000"),
        ("max_background_tasks", "1 to 256"),
    ] {
        for number in [0, -1, 600_001] {
            says(
                &format!("[shell]\n{key} = {number}"),
                &format!("line 3: `{key}` in [shell] is {number}; write a number from {range}"),
            );
        }
    }
    for (key, range, bad) in
        [("processes", "8 to 32768", [7, 32_769]), ("open_files", "16 to 1048576", [15, 1_048_577])]
    {
        for bad in bad {
            profile_says(
                &format!("limits.{key} = {bad}"),
                &format!("`{key}` in [shell.profile.workspace.limits] is {bad}; write a number from {range}"),
            );
        }
    }
}

#[test]
fn the_default_timeout_is_not_longer_than_the_longest() {
    says(
        "[shell]\nmax_timeout_ms = 1000",
        "line 3: `default_timeout_ms` (30000, built-in) is longer than `max_timeout_ms` (1000, line 3) in [shell]; \
         write `default_timeout_ms = 1000` or less",
    );
    says(
        "[shell]\nmax_timeout_ms = 1000\ndefault_timeout_ms = 1001",
        "line 4: `default_timeout_ms` (1001, line 4) is longer than `max_timeout_ms` (1000, line 3) in [shell]; \
         write `default_timeout_ms = 1000` or less",
    );
}

#[test]
fn what_is_recorded_is_switched_and_bounded() {
    let policy =
        parse("version = 1\n[audit]\narguments = true\nmax_file_size = '1MiB'\nmax_files = 3").unwrap();
    let audit = policy.audit;
    assert_eq!((audit.enabled.value, audit.arguments.value, audit.required.value), (true, true, false));
    assert_eq!((audit.max_file_size.value, audit.max_files.value), (1 << 20, 3));
    assert_eq!(audit.arguments.source, Source::Line(3));
    says("[audit]\nenabled = 1", "line 3: `enabled` in [audit] is the integer 1; write true or false");
    says(
        "[audit]\nenabled = false\nrequired = true",
        "line 4: `required` in [audit] is true, but `enabled` is false; write `enabled = true`, or remove `required`",
    );
    says("[audit]\nmax_files = 1", "line 3: `max_files` in [audit] is 1; write a number from 2 to 1000");
    assert!(parse("version = 1\n[audit]\nmax_file_size = 100").is_err());
}

#[test]
fn places_that_lines_go_to_have_their_own_lines() {
    let text = "version = 1\n[audit]\nexport = [\n  \"/var/log/{user}.jsonl\",\n  \"tls://logs.example.com\",\n]\n\
                export_ca = \"/etc/scorpiox/ca.pem\"\n";
    let audit = parse(text).unwrap().audit;
    let places: Vec<_> = audit.export.iter().map(|to| (to.value.to_string(), to.source)).collect();
    assert_eq!(
        places,
        [
            ("/var/log/{user}.jsonl".to_owned(), Source::Line(4)),
            ("tls://logs.example.com:6514".to_owned(), Source::Line(5)),
        ]
    );
    assert_eq!(
        audit.export_ca,
        Some(crate::Sourced::new("/etc/scorpiox/ca.pem".to_owned(), Source::Line(7)))
    );
    says(
        "[audit]\nexport = [\"log.jsonl\"]",
        "line 3: `export` in [audit]: \"log.jsonl\" is not a place for lines; write an absolute path, \"journald\", \
         \"tcp://HOST:PORT\", \"tls://HOST:PORT\", or the address of a collector such as \"https://HOST:4318/v1/logs\"",
    );
    says(
        "[audit]\nenabled = false\nexport = [\"journald\"]",
        "line 4: `export` in [audit] has places, but `enabled` is false; write `enabled = true`, or remove `export`",
    );
    says(
        "[audit]\nexport = [\"tcp://logs.example.com\"]\nexport_ca = \"/ca.pem\"",
        "line 4: `export_ca` in [audit] is for no place of `export`; write a place that begins with tls://, or \
         remove it",
    );
    let nine = format!("version = 1\n[audit]\nexport = [{}]", "\"journald\", ".repeat(9));
    assert!(parse(&nine).unwrap_err().to_string().contains("has 9 places"));
}

#[test]
fn a_grant_names_a_profile_that_exists() {
    says(
        "[grant.\"a skill\"]\nshell = { profile = 'readony' }",
        "line 3: unknown profile \"readony\" in [grant.\"a skill\".shell]; did you mean `readonly`? known profiles \
         are `build`, `open`, `readonly`, `workspace`",
    );
    says(
        "[grant.x]\nshell = {}",
        "line 3: [grant.\"x\".shell] has no `profile`; write `profile = \"readonly\"`, or the name of another profile",
    );
    says(
        "[grant.'']",
        "line 2: grant \"\" is not a skill name; write 1 to 128 characters without control characters",
    );
    let policy =
        parse("version = 1\n[grant.x]\nshell = { profile = 'mine' }\n[grant.y]\n[shell.profile.mine]")
            .unwrap();
    let shell = ShellGrant { profile: "mine".into(), source: Source::Line(3) };
    assert_eq!(policy.grants["x"], Grant { shell: vec![shell], source: Source::Line(2) });
    assert_eq!(policy.grants["y"], Grant { shell: vec![], source: Source::Line(4) });
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    const DEPTH: usize = 200_000;
    for text in [
        format!("a = {}", "[".repeat(DEPTH)),
        format!("a = {}", "{a=".repeat(DEPTH)),
        format!("a{} = 1", ".a".repeat(DEPTH)),
        format!("[a{}]", ".a".repeat(DEPTH)),
    ] {
        assert!(parse(&format!("version = 1\n{text}")).is_err());
    }
}

#[test]
fn the_documented_example_is_valid() {
    let text = r#"
version = 1
[shell]
min_tier = "T2"                 # T1 | T1b | T2
allow_unsandboxed = false
default_timeout_ms = 30000
max_timeout_ms = 600000
max_background_tasks = 16
[shell.profile.workspace]       # the default; also readonly, build, open
read = ["@system"]              # /usr, /bin, /lib*, a minimal /etc; no $HOME
write = ["@workspace", "@tmp"]
deny = ["**/.env*"]
network = { mode = "off" }      # off | allowlist {hosts} | open
env = { pass = ["LANG"], set = { CI = "1" } }
limits = { processes = 512, memory = "4GiB", open_files = 4096 }
[grant."skill-name"]
shell = { profile = "readonly" }
"#;
    let policy = parse(text).unwrap();
    assert_eq!(policy.shell.max_background_tasks, crate::Sourced::new(16, Source::Line(8)));
    assert_eq!(policy.shell.profiles["workspace"].read[0].source, Source::Line(10));
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_panic(text in "\\PC*") {
        _ = parse(&text);
        _ = parse(&format!("version = 1\n{text}"));
    }

    #[test]
    fn text_that_looks_like_a_policy_is_parsed_without_panic(
        lines in prop::collection::vec("(\\[shell(\\.profile(\\.(a|readonly|open))?)?\\]|\\[grant\\.a\\]|shell|read|write|deny|network|env|env\\.set|limits\\.memory|min_tier|max_timeout_ms|profile)( = (\\[('[@~/.*a\\[{}!:é-]{0,6}',? ?){0,3}\\]|\\{ (mode|hosts|pass|A|profile|shell) = ('off'|\\[\\]|'open') \\}|'[0-9]{0,3}[KMG]?i?B'|-?[0-9]{1,21}|true|'T1'))?", 0..8),
    ) {
        let text = format!("version = 1\n{}", lines.join("\n"));
        if let Ok(policy) = parse(&text) {
            prop_assert_eq!(meaning(&parse(&crate::render(&policy)).unwrap()), meaning(&policy));
        }
    }
}

/// Renders a policy without the sources.
fn meaning(policy: &Policy) -> String {
    let rendered = crate::render(policy);
    let lines = rendered.lines().map(|line| line.rsplit_once('#').map_or(line, |(line, _)| line).trim());
    lines.collect::<Vec<_>>().concat()
}

#[test]
fn the_web_files_and_engines_are_read_strictly() {
    says(
        "[web]\nalow = []",
        "line 3: unknown key `alow` in [web]; did you mean `allow`? known keys are `enabled`, `allow`, `deny`, `allow_private`, `redirects`, `browser`, `browser_path`",
    );
    says(
        "[web]\nallow_private = [\"10.0.0.1/8\"]",
        "line 3: `allow_private` in [web]: network \"10.0.0.1/8\" has bits behind its prefix; write a network such as \"10.0.0.0/8\" or \"127.0.0.1/32\"",
    );
    says(
        "[web]\nbrowser_path = \"chromium\"",
        "line 3: `browser_path` in [web] is not an absolute path; write the absolute path of Chromium or Chrome, such as \"/usr/bin/chromium\"",
    );
    says(
        "[search.engine.Bing]",
        "line 2: \"Bing\" is not the name of an engine; write it in lower case, such as \"duckduckgo\" or \"brave-api\"",
    );
    says(
        "[search.engine.bing]\nbase_url = \"bing.com\"",
        "line 3: `base_url` in [search.engine.bing] is \"bing.com\"; write where the engine is, such as \"https://search.example.com\"",
    );
    says(
        "[search.engine.exa]\nkey = \"my secret\"",
        "line 3: `key` in [search.engine.exa] is not a valid key; write 1 to 512 ASCII characters without spaces",
    );
    let policy = parse("version = 1\n[search.engine.bing]\nenabled = false\nbase_url = \"http://127.0.0.1:8/bing/\"\nkey = \"k\"").unwrap();
    let bing = &policy.search.engines["bing"];
    assert_eq!(bing.base_url.as_ref().unwrap().value, "http://127.0.0.1:8/bing");
    assert!(!bing.enabled.as_ref().unwrap().value);
    assert!(!crate::render(&policy).contains("\"k\""), "keys are not shown");
    assert!(!format!("{policy:?}").contains("\"k\""), "nor logged");
}

fn mistakes(text: &str) -> Vec<String> {
    Policy::mistakes(text, Path::new("policy.toml")).iter().map(ToString::to_string).collect()
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_and_none_that_comes_of_another() {
    let text = "version = 1\n\
        [shel]\n\
        [web]\nallow = [\"*\", 5]\nenabled = 1\nredirect = \"any\"\n\
        [shell]\nmin_tier = \"T9\"\n\
        [shell.profile.workspace]\nnetwork = { mode = \"allow\", hosts = [\"a b\"] }\nlimits = { memory = \"x\", processes = 1 }\n\
        [shell.profile.\"A B\"]\n\
        [search.engine.x]\nkey = 5\nbase_url = \"y\"\n\
        [audit]\nexport = [\"nowhere\"]\nexport_ca = \"/x\"\n";
    let told = mistakes(text);
    let lines: Vec<_> = told.iter().map(|said| said.split(':').next().unwrap_or_default()).collect();
    let expected = [2, 4, 5, 6, 8, 10, 11, 11, 12, 14, 15, 17].map(|line| format!("policy.toml line {line}"));
    assert_eq!(lines, expected, "{told:#?}");
    // The server stops at the first mistake and reports it.
    let first = Policy::parse(text, Path::new("policy.toml")).unwrap_err().to_string();
    assert!(told.contains(&first), "{first}");
    assert!(mistakes("version = 1\n[web]\nenabled = false\n").is_empty());
    // A signer with an invalid key is dropped, and rules that refer to it are not reported separately.
    let signer = "version = 1\n[plugins]\nallow = [\"signer:acme\", \"b@signer:nobody\"]\n[plugins.signers.acme]\nkey = \"RWx\"\n";
    let told = mistakes(signer);
    assert!(
        told.len() == 2 && told[0].contains("no signer \"nobody\"") && told[1].contains("\"RWx\""),
        "{told:#?}"
    );
    assert_eq!(mistakes("version = 2\n[x]\n").len(), 1);
    assert_eq!(mistakes("x = \n").len(), 1);
}

#[test]
fn what_changes_nothing_beside_the_file_for_all_is_found() {
    let places = Places::standard("/w".into(), Some("/h".into()), Path::new("/h/.scorpiox"));
    let managed = "version = 1\n[web]\nallow = [\"example.com\"]\n\
        [shell.profile.build]\nnetwork = { mode = \"allowlist\", hosts = [\"a.example\", \"c.example\"] }\n\
        [audit]\nrequired = true\n";
    let own = "version = 1\n[web]\nallow = [\"*\"]\nenabled = false\n\
        [shell]\nmax_background_tasks = 256\n\
        [shell.profile.build]\nnetwork = { mode = \"allowlist\", hosts = [\n\"a.example\",\n\"b.example\" ] }\n\
        [audit]\nrequired = false\n";
    let found: Vec<_> = super::idle(&[managed], own, Layer::Own, &places)
        .into_iter()
        .map(|idle| format!("{} ({})", idle.what, idle.source))
        .collect();
    assert_eq!(
        found,
        [
            "`allow` in [web] (policy.toml line 3)",
            "`max_background_tasks` in [shell] (policy.toml line 6)",
            "\"b.example\" of `network` in [shell.profile.build] (policy.toml line 10)",
            "`required` in [audit] (policy.toml line 12)",
        ]
    );
    assert!(
        super::idle(&["version = 1"], "version = 1\n[web]\nenabled = false\n", Layer::Own, &places)
            .is_empty()
    );
}
