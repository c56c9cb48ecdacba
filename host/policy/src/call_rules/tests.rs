use std::path::Path;

use super::*;
use crate::rule::Layer;
use crate::{Policy, UnknownHosts};

mod bounds;

fn rules(layer: Layer, text: &str) -> Result<CallRules, String> {
    let text = format!("version = 1\n{text}");
    let policy = crate::parse::policy(&text, Path::new("policy.toml"), layer, Policy::builtin());
    policy.map(|policy| policy.calls).map_err(|problem| problem.to_string())
}

fn parsed(text: &str, layer: Layer, before: Policy) -> Result<Policy, crate::Problem> {
    crate::parse::policy(text, Path::new("policy.toml"), layer, before)
}

fn own(text: &str) -> CallRules {
    rules(Layer::Own, text).expect("rules")
}

fn decided(rules: &CallRules, tool: &str, arguments: &str) -> String {
    let places = Places::standard("/home/a/src/x".into(), Some("/home/a".into()), Path::new("/home/a/.own"));
    let circumstances = &Circumstances::in_workspace(Path::new("/home/a/src/x"));
    match rules.covering(&CallFacts { tool, original: None, arguments, circumstances }, &places).into() {
        CallDecision::Unruled => "unruled".to_owned(),
        CallDecision::Deny(covering) => format!("deny {}", covering.rule.name),
        CallDecision::Ask(rules) => {
            rules.iter().fold("ask".to_owned(), |said, rule| format!("{said} {}", rule.name))
        }
    }
}

#[test]
fn the_strictest_rule_wins_in_any_order_and_all_conditions_have_to_hold() {
    let push = "[[rules]]\nname = \"push\"\ntools = [\"Bash\"]\narguments = { \"/command\" = \"*git push*\" }\nthen = \"ask\"\n";
    let force = "[[rules]]\nname = \"force\"\ntools = [\"Ba*\"]\narguments = { \"/command\" = [\"*--force*\", \"* -f *\"] }\nthen = \"deny\"\n";
    for text in [format!("{push}{force}"), format!("{force}{push}")] {
        let rules = own(&text);
        for (tool, arguments, decision) in [
            ("Bash", r#"{"command":"git push"}"#, "ask push"),
            ("Bash", r#"{"command":"cd a\ngit push\n"}"#, "ask push"),
            ("Bash", r#"{"command":"git push --force"}"#, "deny force"),
            ("Bash", r#"{"command":"rm -f a"}"#, "deny force"),
            ("Bash", r#"{"command":"ls"}"#, "unruled"),
            ("Bash", "{}", "unruled"),
            ("BackgroundBash", r#"{"command":"git push"}"#, "unruled"),
            ("BackgroundBash", r#"{"command":"git push --force"}"#, "deny force"),
        ] {
            assert_eq!(decided(&rules, tool, arguments), decision, "{tool} {arguments}");
        }
    }
}

#[test]
fn arguments_that_cannot_be_parsed_are_covered_by_every_rule() {
    let rules = own("[[rules]]\nname = \"a\"\narguments = { \"/x/0\" = \"7\" }\nthen = \"deny\"\n");
    assert_eq!(decided(&rules, "Bash", "{"), "deny a");
    assert_eq!(decided(&rules, "Bash", r#"{"x":[7]}"#), "deny a");
    assert_eq!(decided(&rules, "Bash", r#"{"x":["7"]}"#), "deny a");
    assert_eq!(decided(&rules, "Bash", r#"{"x":[8]}"#), "unruled");
}

#[test]
fn a_value_that_is_sent_as_its_json_text_is_judged_as_the_value() {
    let rule = |pointer: &str, pattern: &str| {
        own(&format!(
            "[[rules]]\nname = \"a\"\narguments = {{ \"{pointer}\" = '{pattern}' }}\nthen = \"deny\"\n"
        ))
    };
    let nested = rule("/filter/path", "secret*");
    let text = |value: &str| serde_json::json!({ "filter": value }).to_string();
    let twice = serde_json::json!(r#"{"path":"secret"}"#).to_string();
    for arguments in [
        r#"{"filter":{"path":"secret"}}"#.to_owned(),
        text(r#"{"path":"secret"}"#),
        text("\n {\"path\": \"secret\"}"),
        text(r#"{"path":"s\u0065cret"}"#),
        text(r#"{"p\u0061th":"secret"}"#),
        // Readers take either of two members.
        text(r#"{"path":"secret","path":"public"}"#),
        text(r#"{"path":"public","other":{"a":1,"a":2}}"#),
    ] {
        assert_eq!(decided(&nested, "p.find", &arguments), "deny a", "{arguments}");
    }
    for arguments in [text(r#"{"path":"public"}"#), text("{path: secret}"), text("secret"), text(&twice)] {
        assert_eq!(decided(&nested, "p.find", &arguments), "unruled", "{arguments}");
    }
    let deep = rule("/items/0/path", "secret");
    let item = serde_json::json!({ "path": "secret" }).to_string();
    let list = serde_json::json!([item]).to_string();
    for arguments in [serde_json::json!({ "items": [item] }), serde_json::json!({ "items": list })] {
        assert_eq!(decided(&deep, "p.find", &arguments.to_string()), "deny a", "{arguments}");
    }
    // A value as a whole is compared in its usual notation; `?` stands for a bracket here.
    for (pattern, given) in [
        (r#"?"a"?"#, serde_json::json!(r#"[ "\u0061" ]"#)),
        (r#"??"a"??"#, serde_json::json!([r#"[ "a" ]"#])),
        (r#"??"a"??"#, serde_json::json!(r#"["[ \"\\u0061\" ]"]"#)),
        ("??1??", serde_json::json!(r#"["[1]"]"#)),
        ("no", serde_json::json!([r#"{"a":1,"a":2}"#])),
    ] {
        let arguments = serde_json::json!({ "tags": given }).to_string();
        assert_eq!(decided(&rule("/tags", pattern), "p.find", &arguments), "deny a", "{pattern} {given}");
    }
}

#[test]
fn a_rule_covers_all_ways_to_write_a_url_a_path_and_a_name() {
    let denies = |pattern: &str, given: &str| {
        let rule = "[[rules]]\nname = \"a\"\narguments = { \"/x\" = ";
        let rules = own(&format!("{rule}{pattern:?} }}\nthen = \"deny\"\n"));
        decided(&rules, "T", &serde_json::json!({ "x": given }).to_string()) == "deny a"
    };
    let pattern = "https://docs.example.com/admin/*";
    for given in [
        "https://docs.example.com./admin/x",
        "https://docs.example.com/%61dmin/x",
        "https://docs.example.com//admin///x",
        "https://docs.example.com:443/a/../admin/x#page=2",
        "https://somebody@docs.example.com/admin/x",
        " HTTPS://DOCS.example.com/admin/x?q=1",
    ] {
        assert!(denies(pattern, given), "{given}");
    }
    assert!(!denies(pattern, "https://docs.example.com/administration/x"));
    assert!(denies("https://docs.example.com/secret", "https://docs.example.com/secret#page=2"));
    for pattern in ["/home/a/src/x/finance/*", "finance/*", "~/src/x/finance/*", "*/finance/*"] {
        for given in [
            "/home/a/src/x/finance/a.png",
            "/home/a/src/x/./finance//a.png",
            "finance/a.png",
            "./finance/a.png",
            "other/../finance/a.png",
            "~/src/x/finance/a.png",
            "file:///home/a/src/x/finance/a.png",
            "FILE://localhost/home/a/src/x/%66inance/a.png#page=2",
            "%66inance/a.png",
            "finance/a.png#page=2",
            "x\n/../finance/a.png",
            "/home/a/src/x/x\0/../finance/a.png",
            &format!("{}finance/a.png", "x/../".repeat(2000)),
        ] {
            assert!(denies(pattern, given), "{pattern} {given}");
        }
        assert!(!denies(pattern, "finances/a.png"), "{pattern}");
    }
    assert!(denies("finance/a.png", "finance/a.png#page=2"));
    assert!(denies("*?q=secret", "https://x.example.com/?q=%73ecret"));
    assert!(denies("deploy", "deploy/SKILL.md") && denies("deploy", " deploy"));
    assert!(denies("deploy", "deploy/my notes.md") && denies("deploy", "deploy/a\nb"));
    assert!(!denies("deploy", "deployment") && !denies("deploy", "deploy it"));
}

#[cfg(unix)]
#[test]
fn a_rule_for_a_folder_covers_links_that_lead_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = folder.path().canonicalize().expect("a path");
    std::fs::create_dir(workspace.join("finance")).expect("a folder");
    std::fs::write(workspace.join("finance/a.png"), "").expect("a file");
    std::os::unix::fs::symlink("finance", workspace.join("other")).expect("a link");
    let rules = own("[[rules]]\nname = \"a\"\narguments = { \"/x\" = \"finance/*\" }\nthen = \"deny\"\n");
    let places = Places::standard(workspace.clone(), None, Path::new("/own"));
    let circumstances = &Circumstances::in_workspace(&workspace);
    let call = CallFacts { tool: "T", original: None, arguments: r#"{"x":"other/a.png"}"#, circumstances };
    assert!(matches!(rules.covering(&call, &places).into(), CallDecision::Deny(_)));
}

#[test]
fn a_rule_covers_all_spellings_that_tools_take_for_an_argument() {
    let rule = |pointer: &str, pattern: &str| {
        own(&format!(
            "[[rules]]\nname = \"a\"\narguments = {{ \"/{pointer}\" = \"{pattern}\" }}\nthen = \"deny\"\n"
        ))
    };
    for given in ["\"exit\"", "\" exit\"", "\"exit\\n\""] {
        assert_eq!(
            decided(&rule("action", "exit"), "PlanMode", &format!("{{\"action\":{given}}}")),
            "deny a"
        );
    }
    for given in ["1", "1.0", "\" 1 \"", "\"01\"", "1e0"] {
        assert_eq!(
            decided(&rule("id", "1"), "KillBgTask", &format!("{{\"id\":{given}}}")),
            "deny a",
            "{given}"
        );
    }
    let large = rule("id", "18446744073709551615");
    for (rule, given) in [
        (&rule("id", "0"), "-0"),
        (&rule("id", "0"), "-0.0"),
        (&rule("id", "0"), "\"-0.0\""),
        (&large, "\"018446744073709551615\""),
        (&large, "18446744073709551615"),
    ] {
        assert_eq!(decided(rule, "KillBgTask", &format!("{{\"id\":{given}}}")), "deny a", "{given}");
    }
    for given in [" https://intern.example.com/x", "HTTPS://INTERN.example.com", "https:/intern.example.com/"]
    {
        let arguments = format!("{{\"url\":\"{given}\"}}");
        assert_eq!(
            decided(&rule("url", "https://intern.example.com/*"), "ReadDocs", &arguments),
            "deny a",
            "{given}"
        );
    }
    assert_eq!(decided(&rule("id", "1"), "KillBgTask", r#"{"id":11}"#), "unruled");
}

#[test]
fn a_rule_holds_in_its_workspaces() {
    let rule = |folder: &str| {
        own(&format!("[[rules]]\nname = \"a\"\nworkspaces = [\"{folder}\"]\nthen = \"deny\"\n"))
    };
    assert_eq!(decided(&rule("~/src"), "Bash", "{}"), "deny a");
    assert_eq!(decided(&rule("/home/a/src/x"), "Bash", "{}"), "deny a");
    assert_eq!(decided(&rule("~/src/y"), "Bash", "{}"), "unruled");
}

#[test]
fn a_rule_covers_a_renamed_tool_under_both_names() {
    let rules = own("[[rules]]\nname = \"a\"\ntools = [\"weather.*\"]\nthen = \"deny\"\n");
    let places = Places::standard("/w".into(), None, Path::new("/own"));
    let circumstances = &Circumstances::in_workspace(Path::new("/w"));
    let call = |tool, original| CallFacts { tool, original, arguments: "{}", circumstances };
    let is_denied = |tool, original| {
        matches!(rules.covering(&call(tool, original), &places).into(), CallDecision::Deny(_))
    };
    assert!(is_denied("weather.now", None) && is_denied("sky.now", Some("weather.now")));
    assert!(is_denied("weather.now", Some("sky.now")) && !is_denied("sky.now", None));
}

#[test]
fn rules_that_cannot_have_their_effect_are_refused_with_their_line() {
    let asked = "name = \"a\"\ntools = [\"Bash\"]\nthen = \"ask\"\n";
    for (layer, text, said) in [
        (Layer::Own, "then = \"ask\"\n", "no `name`"),
        (Layer::Own, "name = \"a\"\ntools = [\"Bash\"]\n", "no `then`"),
        (Layer::Own, "name = \"a\"\nthen = \"deny\"\n", "has no condition"),
        (Layer::Own, "name = \"a\"\ntools = [\"Bash\"]\nthen = \"allow\"\n", "is \"allow\""),
        (Layer::Own, "name = \"a\"\ntools = []\nthen = \"deny\"\n", "covers no call"),
        (
            Layer::Own,
            "name = \"a\"\narguments = { command = \"*\" }\nthen = \"deny\"\n",
            "write \"/command\"",
        ),
        (Layer::Own, "name = \"a\"\narguments = { \"/a\" = \"[\" }\nthen = \"deny\"\n", "is not valid"),
        (Layer::Own, "name = \"a\"\ntools = [\"Bash\"]\nthen = \"deny\"\nself = true\n", "has no effect"),
        (Layer::Own, "name = \"a\"\nbranches = [\"main\"]\nthen = \"deny\"\n", "unknown key `branches`"),
        (Layer::Managed, asked, "channel = \"weak\""),
    ] {
        let problem = rules(layer, &format!("[[rules]]\n{text}")).expect_err(said);
        assert!(problem.contains(said) && problem.contains("line "), "{said}: {problem}");
    }
    let twice = rules(Layer::Own, &format!("[[rules]]\n{asked}[[rules]]\n{asked}")).expect_err("twice");
    assert!(twice.contains("line 6") && twice.contains("line 2"), "{twice}");
    assert_eq!(
        rules(Layer::Managed, &format!("[[rules]]\n{asked}channel = \"weak\"\n")).map(|it| it.0.len()),
        Ok(1)
    );
}

#[test]
fn the_administrator_accepts_in_words_that_answers_about_hosts_prove_nothing() {
    let channels = |layer: Layer, word: &str| {
        let text = format!("version = 1\n[shell.profile.workspace]\nunknown_hosts = \"{word}\"\n");
        let policy = parsed(&text, layer, Policy::builtin()).expect("a policy");
        let rule = policy.shell.profiles["workspace"].host_rule().expect("it asks");
        [false, true].map(|is_principal| rule.channel_for(is_principal).to_string())
    };
    assert_eq!(channels(Layer::Managed, "ask"), ["strong", "strong"]);
    assert_eq!(channels(Layer::Managed, "ask-weak"), ["weak", "weak"]);
    assert_eq!(channels(Layer::Own, "ask"), ["weak", "strong"]);
    assert_eq!(channels(Layer::Own, "ask-weak"), ["weak", "weak"]);
    assert!(Policy::builtin().shell.profiles["workspace"].host_rule().is_none(), "nobody is asked");
}

#[test]
fn the_stricter_of_two_files_decides_who_answers_about_hosts() {
    let text = |word: &str| format!("version = 1\n[shell.profile.workspace]\nunknown_hosts = \"{word}\"\n");
    let profile = |word: &str, layer: Layer| {
        let policy = parsed(&text(word), layer, Policy::builtin()).expect("a policy");
        policy.shell.profiles["workspace"].clone()
    };
    let places = Places::standard("/home/a/src/x".into(), Some("/home/a".into()), Path::new("/home/a/.own"));
    let both = |managed: &str, own: &str| {
        let managed = profile(managed, Layer::Managed);
        managed.narrowed(&profile(own, Layer::Own), &places).unknown_hosts.value
    };
    assert_eq!(both("ask", "ask-weak"), UnknownHosts::AskApprover);
    assert_eq!(both("ask", "ask"), UnknownHosts::AskApprover);
    assert_eq!(both("ask-weak", "ask"), UnknownHosts::Ask);
    assert_eq!(both("ask-weak", "deny"), UnknownHosts::Deny);
}

#[test]
fn rules_of_both_files_hold_and_equal_ones_are_one() {
    let text = "[[rules]]\nname = \"a\"\ntools = [\"Bash\"]\nthen = \"deny\"\n";
    let (managed, mine) = (rules(Layer::Managed, text).expect("rules"), own(text));
    let both = managed.and(&mine);
    assert_eq!(both, managed);
    let other = own("[[rules]]\nname = \"a\"\ntools = [\"Read*\"]\nthen = \"ask\"\n");
    let both = managed.and(&other);
    assert_eq!(
        (decided(&both, "Bash", "{}"), decided(&both, "ReadDocs", "{}")),
        ("deny a".into(), "ask a".into())
    );
}

fn pushing(keys: &str) -> CallRules {
    own(&format!("[[rules]]\nname = \"push\"\nprograms = [\"git push *\", \"terraform apply *\"]\n{keys}\n"))
}

#[test]
fn a_rule_about_programs_is_about_commands() {
    let rules = pushing("then = \"ask\"");
    for (tool, command, decision) in [
        ("Bash", "git push", "ask push"),
        ("BackgroundBash", "cd x && sudo git -C y push origin", "ask push"),
        ("Bash", "git pull", "unruled"),
        ("Bash", "echo 'git push'", "unruled"),
        ("Bash", "./x", "ask push"),
        ("Bash", "git push; (", "ask push"),
        ("ReadDocs", "git push", "unruled"),
    ] {
        let arguments = serde_json::json!({ "command": command }).to_string();
        assert_eq!(decided(&rules, tool, &arguments), decision, "{tool} {command}");
    }
    assert_eq!(decided(&rules, "Bash", "{}"), "ask push", "the tool refuses it");
    assert_eq!(decided(&rules, "Bash", "{"), "ask push");
}

#[test]
fn unknown_programs_are_asked_about_refused_or_allowed() {
    for (keys, known, unknown) in [
        ("then = \"ask\"", "ask push", "ask push"),
        ("then = \"deny\"", "deny push", "ask push"),
        ("then = \"deny\"\nunknown = \"deny\"", "deny push", "deny push"),
        ("then = \"ask\"\nunknown = \"deny\"", "ask push", "deny push"),
        ("then = \"ask\"\nunknown = \"allow\"", "ask push", "unruled"),
        ("then = \"deny\"\nunknown = \"allow\"", "deny push", "unruled"),
    ] {
        let rules = pushing(keys);
        for (command, decision) in
            [("git push", known), ("git $x", unknown), ("eval x", unknown), ("ls", "unruled")]
        {
            let arguments = serde_json::json!({ "command": command }).to_string();
            assert_eq!(decided(&rules, "Bash", &arguments), decision, "{keys}: {command}");
        }
    }
    let rules = pushing("then = \"ask\"");
    assert!(rules.0[0].doubt(r#"{"command":"eval x"}"#).ends_with("any program: it has `eval`"));
    assert!(
        rules.0[0].doubt(r#"{"command":"git $x"}"#).ends_with("it has an argument that is not written out")
    );
    assert_eq!(rules.0[0].doubt(r#"{"command":"git push"}"#), "");
}

#[test]
fn mistakes_in_programs_are_named() {
    let rule = |keys: &str| rules(Layer::Own, &format!("[[rules]]\nname = \"a\"\nthen = \"deny\"\n{keys}\n"));
    for (keys, said) in [
        ("programs = []", "line 5: `programs` in [[rules]] is empty"),
        ("programs = [\"/bin/git push\"]", "program \"/bin/git push\" begins with a path"),
        ("programs = [\"git 'push'\"]", "has quotes or a backslash"),
        ("tools = [\"Bash\"]\nunknown = \"ask\"", "line 6: `unknown` in [[rules]] has no effect"),
        ("programs = [\"git\"]\nunknown = \"perhaps\"", "line 6: `unknown` in [[rules]] is \"perhaps\""),
        ("programs = [\"git\"]\ntools = [\"ReadDocs\"]", "covers no call: its tools run no commands"),
        ("programs = [\"git\"]\nunknown = \"deny\"\nself = true", "`self` in [[rules]] has no effect"),
    ] {
        let problem = rule(keys).unwrap_err();
        assert!(problem.contains(said), "{keys}: {problem}");
    }
    assert!(rule("programs = [\"git\"]\nself = true").is_ok(), "it asks about unknown programs");
    let managed = |keys: &str| {
        rules(
            Layer::Managed,
            &format!("[[rules]]\nname = \"a\"\nprograms = [\"git\"]\nthen = \"deny\"\n{keys}\n"),
        )
    };
    assert!(managed("").unwrap_err().contains("or `unknown = \"deny\"`"));
    assert!(managed("unknown = \"deny\"").is_ok() && managed("channel = \"weak\"").is_ok());
}

#[test]
fn rules_are_counted() {
    let rule = |at: usize| format!("[[rules]]\nname = \"{at}\"\ntools = [\"*\"]\nthen = \"deny\"\n");
    let many = |count: usize| (0..count).map(rule).collect::<Vec<_>>().concat();
    assert_eq!(own(&many(500)).0.len(), 500);
    let problem = rules(Layer::Own, &many(501)).unwrap_err();
    assert!(problem.contains("`rules` has 501 entries; write at most 500"), "{problem}");
}

#[test]
fn programs_are_shown_and_compared() {
    let text = "version = 1\n[[rules]]\nname = \"a\"\nprograms = [\"git push *\"]\nthen = \"ask\"\n";
    let page = |text: &str| crate::render(&Policy::parse(text, Path::new("policy.toml")).unwrap());
    let shown = page(text);
    assert!(shown.contains("programs = [\"git push *\"]") && shown.contains("unknown = \"ask\""), "{shown}");
    let policy = |text: &str| Policy::parse(text, Path::new("policy.toml")).unwrap();
    let other = text.replace("then =", "unknown = \"allow\"\nthen =");
    let changed = crate::differences(&policy(text), &policy(&other));
    assert_eq!(changed, "[[rules]] \"a\"\n- unknown = \"ask\"\n+ unknown = \"allow\"\n");
    let places = Places::standard("/work".into(), None, Path::new("/home/ann/.scorpiox"));
    let lost = policy("version = 1").lost_sections(&policy(text), &places);
    assert_eq!(lost.into_iter().collect::<Vec<_>>(), ["[[rules]] \"a\""]);
}

#[test]
fn a_rule_that_only_reports_decides_nothing() {
    let reporting =
        "[[rules]]\nname = \"r\"\nprograms = [\"git push *\"]\nthen = \"deny\"\nmode = \"report\"\n";
    let rules = own(&format!("{reporting}[[rules]]\nname = \"a\"\ntools = [\"Bash\"]\nthen = \"ask\"\n"));
    let arguments = r#"{"command":"git push"}"#;
    assert_eq!(decided(&rules, "Bash", arguments), "ask a");
    let places = Places::standard("/work".into(), None, Path::new("/own"));
    let circumstances = &Circumstances::in_workspace(Path::new("/work"));
    let of = |arguments| {
        let call = CallFacts { tool: "Bash", original: None, arguments, circumstances };
        let covering = rules.covering(&call, &places);
        let reporting = covering.iter().filter(|covering| covering.rule.reports);
        reporting.map(|covering| (covering.rule.name.clone(), covering.then)).collect::<Vec<_>>()
    };
    assert_eq!(of(arguments), [("r".to_owned(), Then::Deny)]);
    assert_eq!(of(r#"{"command":"eval x"}"#), [("r".to_owned(), Then::Ask)]);
    assert_eq!(of(r#"{"command":"ls"}"#), []);
    // It takes nothing away, until it is enforced.
    let policy =
        |text: &str| Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml")).unwrap();
    let lost = |before: &str, after: &str| policy(before).lost_sections(&policy(after), &places).len();
    let enforced = reporting.replace("mode = \"report\"\n", "");
    assert_eq!((lost("", reporting), lost(reporting, &enforced), lost(&enforced, reporting)), (0, 1, 0));
    assert!(crate::render(&policy(reporting)).contains("mode = \"report\""));
    let managed = reporting.replace("deny", "ask");
    assert!(self::rules(Layer::Managed, &managed).is_ok(), "nobody is asked");
    let problem = self::rules(Layer::Own, &reporting.replace("report\"", "warn\"")).unwrap_err();
    assert!(problem.contains("line 6: `mode` in [[rules]] is \"warn\"; write \"report\""), "{problem}");
}
