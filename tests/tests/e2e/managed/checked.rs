//! Tests of `policy check`: it reports all mistakes at once, and rules that are probably unintended.

use scorpiox_tests::Program;
use scorpiox_tests::managed::{for_root, managed};

use super::program;

#[test]
fn names_that_nothing_uses_are_noted_and_strict_fails_with_them() {
    let program = Program::new();
    let policy = "version = 1\n[shell.profile.workspce]\nread = [\"@system\"]\n[grant.\"weather\"]\n\
                  shell = { profile = \"readonly\" }\n";
    program.put("home/.scorpiox/policy.toml", policy);
    program.put("workspace/team.toml", policy);
    for (file, name) in [(None, "policy.toml"), (Some("team.toml"), "team.toml")] {
        let arguments: Vec<_> = ["policy", "check"].into_iter().chain(file).collect();
        let (status, out, err) = program.run(&arguments);
        assert!(status.success(), "{out}{err}");
        for note in [
            format!("note: profile workspce ({name} line 2) is used by nothing"),
            "did you mean workspace?".to_owned(),
            format!("note: [grant] names \"weather\" ({name} line 4), and no component is called so"),
        ] {
            assert!(out.contains(&note), "{note}: {out}");
        }
        let strict: Vec<_> = arguments.into_iter().chain(["--strict"]).collect();
        assert_eq!(program.run(&strict).0.code(), Some(1));
    }
    program.put("workspace/good.toml", "version = 1\n[web]\nenabled = false\n");
    let (status, out, _) = program.run(&["policy", "check", "good.toml", "--strict"]);
    assert!(status.success() && out == "good.toml is valid.\n", "{out}");
}

#[test]
fn tables_that_nothing_refers_to_are_noted_with_their_line() {
    let program = Program::new();
    let key = |letter: &str| format!("RWTCF1j5TF+pmO92a9YVjktSWzXPfzT3ugK0UQkS8m9fBeN0IdALk{letter}ev");
    let policy = format!(
        "version = 1\n[search.engine.yahooo]\nenabled = false\n[search.engine.bing]\nenabled = false\n\
         [approvers.ann]\nkey = \"{}\"\n[approvers.bob]\nkey = \"{}\"\n\
         [[rules]]\nname = \"push\"\ntools = [\"Bash\"]\nthen = \"ask\"\nwho = [\"ann\"]\n\
         [plugins.signers.acme]\nkey = \"{}\"\n[plugins.signers.used]\nkey = \"{}\"\n\
         [plugins]\nallow = [\"x@signer:used\"]\n[plugins.secrets.weather]\nKEY = {{ variable = \"KEY\" }}\n",
        key("1"),
        key("2"),
        key("3"),
        key("4"),
    );
    program.put("home/.scorpiox/policy.toml", &policy);
    let (status, out, err) = program.run(&["policy", "check"]);
    assert!(status.success(), "{out}{err}");
    for note in [
        "note: [search.engine.yahooo] (policy.toml line 2) is for no engine of WebSearch; did you mean yahoo?",
        "note: [approvers.bob] (policy.toml line 8) is asked by no rule",
        "note: [plugins.signers.acme] (policy.toml line 15) decides nothing",
        "note: [plugins.secrets.weather.KEY] (policy.toml line 22) is for a plugin that is not installed here",
    ] {
        assert!(out.contains(note), "{note}: {out}");
    }
    for used in ["search.engine.bing", "approvers.ann", "signers.used"] {
        assert!(
            !out.contains(&format!("[{used}]")) && !out.contains(&format!("[plugins.{used}]")),
            "{used}: {out}"
        );
    }
    assert_eq!(program.run(&["policy", "check", "--strict"]).0.code(), Some(1));
    // A rule that names nobody asks all approvers.
    program.put("home/.scorpiox/policy.toml", policy.replace("who = [\"ann\"]\n", ""));
    let (_, out, _) = program.run(&["policy", "check"]);
    assert!(!out.contains("[approvers."), "{out}");
}

#[test]
fn a_conflict_of_two_files_names_both_of_them() {
    for (own, for_all, told) in [
        (
            "[audit]\nrequired = true\n",
            "[audit]\nenabled = false\n",
            "policy.toml line 3: `required` in [audit] is true, but `enabled` is false (/etc/scorpiox/policy.toml line 3)",
        ),
        (
            "[audit]\nexport = [\"journald\"]\n",
            "[audit]\nenabled = false\n",
            "has places, but `enabled` is false (/etc/scorpiox/policy.toml line 3)",
        ),
        (
            "[shell.profile.workspace]\nunknown_hosts = \"ask\"\n",
            "[shell.profile.workspace]\nnetwork = { mode = \"off\" }\n",
            "under the network mode \"off\" (/etc/scorpiox/policy.toml line 3); remove it: only the administrator can",
        ),
        (
            "[shell]\ndefault_timeout_ms = 60000\n",
            "[shell]\nmax_timeout_ms = 40000\n",
            "policy.toml line 3: `default_timeout_ms` (60000, line 3) is longer than `max_timeout_ms` (40000, \
             /etc/scorpiox/policy.toml line 3)",
        ),
    ] {
        let program = program();
        program.put("home/.scorpiox/policy.toml", format!("version = 1\n{own}"));
        let program = managed(program, &format!("version = 1\n{for_all}"), "");
        let (status, out, err) = program.run(&["policy", "check"]);
        let said = format!("{out}{err}");
        assert!(status.code() == Some(2) && said.contains(told), "{told}: {said}");
        assert!(said.contains(": policy.toml line 3: "), "the person's file has the mistake: {said}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let program = Program::new();
    let policy = "version = 1\n[web]\nenabled = 1\nredirect = \"any\"\n[tols]\n";
    program.put("home/.scorpiox/policy.toml", policy);
    program.put("workspace/team.toml", policy);
    for (arguments, file) in
        [(vec!["policy", "check"], "policy.toml"), (vec!["policy", "check", "team.toml"], "team.toml")]
    {
        let (status, _, err) = program.run(&arguments);
        assert_eq!(status.code(), Some(2), "{err}");
        for mistake in [
            format!("{file} line 3: `enabled` in [web] is the integer 1; write true or false"),
            format!("{file} line 4: unknown key `redirect` in [web]; did you mean `redirects`?"),
            format!("{file} line 5: unknown key `tols`; did you mean `tools`?"),
            "3 mistakes; every tool is refused under such a policy".to_owned(),
        ] {
            assert!(err.contains(&mistake), "{mistake}: {err}");
        }
    }
}

#[test]
fn what_does_nothing_beside_the_policy_for_all_is_noted() {
    let program = program();
    program.put(
        "home/.scorpiox/policy.toml",
        "version = 1\n[web]\nallow = [\"*\"]\nbrowser = false\n[shell.profile.build]\n\
         network = { mode = \"allowlist\", hosts = [\n\"a.example.com\",\n\"b.example.com\"] }\n",
    );
    let for_all = "version = 1\n[web]\nallow = [\"a.example.com\"]\n[shell.profile.build]\n\
                   network = { mode = \"allowlist\", hosts = [\"a.example.com\", \"c.example.com\"] }\n";
    let program = managed(program, for_all, "");
    let (status, out, err) = program.run(&["policy", "check"]);
    assert!(status.success(), "{out}{err}");
    let notes: Vec<_> = out.lines().filter_map(|line| line.trim().strip_prefix("note: ")).collect();
    assert_eq!(
        notes,
        [
            "`allow` in [web] changes nothing (policy.toml line 3): the policy for all users says no more without it",
            "\"b.example.com\" of `network` in [shell.profile.build] changes nothing (policy.toml line 8): the policy \
             for all users says no more without it",
        ],
        "{out}"
    );
    // The explanation names the file that denies a host, which is also the file to change.
    let (_, out, _) = program.run(&["policy", "why", "host", "z.example.com", "--profile", "build"]);
    assert!(out.contains("in /etc/scorpiox/policy.toml, which only the administrator"), "{out}");
    let (_, out, _) = program.run(&["policy", "why", "host", "c.example.com", "--profile", "build"]);
    assert!(out.contains("`scorpiox-code policy allow host c.example.com --profile build`"), "{out}");
}

#[test]
fn a_policy_for_all_that_only_root_can_read_is_noted() {
    let text = "version = 1\n";
    let says = "/etc/scorpiox/policy.toml cannot be read by all users (mode 0600)";
    for (mode, kept) in [(0o600, true), (0o644, false)] {
        let program = for_root(Program::new(), &[("policy.toml", text, mode)]);
        let (status, out, err) = program.run(&["policy", "check", "--strict"]);
        assert_eq!(status.code(), Some(i32::from(kept)), "{out}{err}");
        let (_, report, _) = program.run(&["doctor"]);
        for told in [out, report].map(|told| told.split_whitespace().collect::<Vec<_>>().join(" ")) {
            assert_eq!(told.contains(says), kept, "{told}");
            assert_eq!(told.contains("run `chmod a+r /etc/scorpiox/policy.toml` as root"), kept, "{told}");
        }
    }
}

#[test]
fn an_address_for_monitoring_that_others_reach_is_noted() {
    let program = Program::new();
    let policy = |listen: &str| {
        format!(
            "version = 1\n[http.observe]\nlisten = {listen}\n[tools]\ndeny = [\"Bash\", \"BackgroundBash\"]\n"
        )
    };
    for (listen, address) in [
        ("\"127.0.0.1:9464\"", None),
        ("[\"[::1]:9464\", \"127.0.0.2:9464\"]", None),
        ("\"0.0.0.0:9464\"", Some("0.0.0.0:9464")),
        ("[\"127.0.0.1:9464\", \"[::]:9464\"]", Some("[::]:9464")),
        ("\"192.0.2.7:9464\"", Some("192.0.2.7:9464")),
    ] {
        program.put("home/.scorpiox/policy.toml", policy(listen));
        program.put("workspace/other.toml", policy(listen));
        let (status, out, err) = program.run(&["policy", "check", "--strict"]);
        let note = |file: &str| {
            address
                .map(|address| format!("note: [http.observe] listens on {address} ({file} line 3), where "))
        };
        let is_noted =
            |out: &str, file| note(file).map_or(!out.contains("[http.observe]"), |note| out.contains(&note));
        assert_eq!(status.success(), address.is_none(), "{listen}: {out}{err}");
        assert!(is_noted(&out, "policy.toml"), "{listen}: {out}");
        // Another file may be for a container, where the address has to be open.
        let (status, out, err) = program.run(&["policy", "check", "other.toml", "--strict"]);
        assert!(status.success() && is_noted(&out, "other.toml"), "{listen}: {out}{err}");
    }
}

#[test]
fn a_database_that_cannot_be_reached_is_noted() {
    let program = Program::new();
    let policy =
        "version = 1\n[store]\nkind = \"postgres\"\naddress = \"postgres://scorpiox@127.0.0.1:9/scorpiox\"\n";
    program.put("home/.scorpiox/policy.toml", policy);
    let (status, out, err) = program.run(&["policy", "check"]);
    assert!(status.success() && out.contains("note: tools would refuse what they store: "), "{out}{err}");
}

#[test]
fn strict_says_where_every_valid_token_may_run_commands() {
    const JWT: &str = "[http]\nurl = \"https://mcp.example.com/mcp\"\n[http.auth]\nkind = \"jwt\"\nissuer = \"https://id.example.com\"\n\
                       audiences = [\"https://mcp.example.com/mcp\"]\njwks_url = \"https://id.example.com/keys\"\nscopes = [\"mcp\"]\n\
                       groups_claim = \"groups\"\n";
    const TOKENS: &str = "[http.auth]\nkind = \"token\"\n\
                          [http.auth.tokens.ann]\nsha256 = \"e7de771cdbff4ec629ced18855f2414100076bda072be0b81c90d98686e803ca\"\ngroups = [\"dev\"]\n\
                          [http.auth.tokens.bob]\nsha256 = \"fbe7eb0ebdfba83e50f7c6ce197ba6ff97c3405a96931331f35b2c243afaca4b\"\ngroups = [\"dev\"]\n";
    const OWN: &str = "[http.auth]\nkind = \"token\"\n";
    const BOTH: &str = ": every valid token may use Bash, and BackgroundBash; write a rule of [access]";
    const DEVELOPERS: &str = "[access.developers]\ngroups = [\"dev\"]\nallow = [\"*\"]\n";
    const SAFE: &str = "[access.everybody]\nallow = [\"TaskManager\"]\n";
    let program = Program::new();
    let said = |auth: &str, access: &str| {
        program.put("workspace/served.toml", format!("version = 1\n{auth}{access}"));
        let (status, out, err) = program.run(&["policy", "check", "served.toml", "--strict"]);
        assert!(err.is_empty(), "{err}");
        (status.success(), out)
    };
    for (auth, access, note) in [
        (JWT, String::new(), Some("note: no rule of [access] has `allow` (served.toml line 4)")),
        (TOKENS, String::new(), Some("note: no rule of [access] has `allow` (served.toml line 2)")),
        (OWN, String::new(), Some("note: no rule of [access] has `allow` (served.toml line 2)")),
        (
            JWT,
            "[access.a]\nallow = [\"*\"]\n".to_owned(),
            Some("note: [access.a] is for everybody (served.toml line 12)"),
        ),
        (
            JWT,
            "[access.a]\nprincipals = [\"*\"]\nallow = [\"B*\"]\n".to_owned(),
            Some("note: [access.a] is for everybody"),
        ),
        // Every token has this scope, and every token in the file has this group.
        (
            JWT,
            "[access.a]\nscopes = [\"mcp\"]\nallow = [\"*\"]\n".to_owned(),
            Some("note: [access.a] is for everybody"),
        ),
        (TOKENS, DEVELOPERS.to_owned(), Some("note: [access.developers] is for everybody")),
        (
            JWT,
            "[access.a]\ndeny = [\"TaskManager\"]\n".to_owned(),
            Some("note: no rule of [access] has `allow`"),
        ),
        (JWT, format!("{SAFE}{DEVELOPERS}"), None),
        (OWN, format!("{SAFE}[access.owner]\nprincipals = [\"owner\"]\nallow = [\"*\"]\n"), None),
        (JWT, "[access.a]\nallow = [\"*\"]\n[access.b]\ndeny = [\"Ba*\"]\n".to_owned(), None),
        (JWT, "[tools]\ndeny = [\"Bash\", \"BackgroundBash\"]\n".to_owned(), None),
    ] {
        let (is_good, out) = said(auth, &access);
        assert_eq!(is_good, note.is_none(), "{auth}{access}{out}");
        assert!(note.is_none_or(|note| out.contains(note) && out.contains(BOTH)), "{auth}{access}{out}");
    }
    let (_, out) = said(JWT, "[access.a]\ndeny = [\"Bash\"]\n");
    assert!(out.contains(": every valid token may use BackgroundBash; write"), "{out}");
    // A group that no token can have grants nothing.
    let (is_good, out) =
        said(&JWT.replace("groups_claim = \"groups\"\n", ""), &format!("{SAFE}{DEVELOPERS}"));
    assert!(!is_good && out.contains("note: [access.developers] is for groups"), "{out}");
    // Without `--strict`, the policy is valid.
    let (status, out, _) = program.run(&["policy", "check", "served.toml"]);
    assert!(status.success(), "{out}");
    // The shipped policies also pass with `--strict`.
    for shipped in ["kustomize/base", "kustomize/overlays/example", "compose"] {
        let path = format!("{}/../deploy/{shipped}/policy.toml", env!("CARGO_MANIFEST_DIR"));
        let (status, out, err) = program.run(&["policy", "check", &path, "--strict"]);
        assert!(status.success(), "{shipped}: {out}{err}");
    }
}
