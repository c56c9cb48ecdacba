//! Callers choose the arguments: whatever they choose, rules are decided soon, and nothing passes unjudged.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::call_rules::texts::MAX_TEXT_BYTES;

/// Returns the rules that cover a call, with their outcomes and doubts.
fn covering(rules: &CallRules, arguments: &Value) -> Vec<(String, Then, String)> {
    let places = Places::standard("/home/a/src/x".into(), Some("/home/a".into()), Path::new("/home/a/.own"));
    let circumstances = &Circumstances::in_workspace(Path::new("/home/a/src/x"));
    let arguments = &arguments.to_string();
    let call = CallFacts { tool: "Bash", original: None, arguments, circumstances };
    let covering = rules.covering(&call, &places);
    covering.iter().map(|covering| (covering.rule.name.clone(), covering.then, covering.because())).collect()
}

/// Returns one rule for each number, about an argument of the command.
fn many(count: usize) -> CallRules {
    let rule = |at: usize| {
        format!(
            "[[rules]]\nname = \"{at}\"\narguments = {{ \"/command\" = \"*terraform apply{at}*\" }}\nthen = \"deny\"\n"
        )
    };
    own(&(0..count).map(rule).collect::<Vec<_>>().concat())
}

/// A text of a length with as many and as long spellings as possible.
fn adverse(bytes: usize) -> String {
    let (path, query) = ("/\x7f".repeat(bytes / 4), "\x7f%41".repeat(bytes / 8));
    let mut text = format!(" http://h/{path}?{query}#x");
    text.truncate(bytes);
    text
}

#[test]
fn a_long_argument_is_covered_by_each_rule_about_it_and_by_no_other() {
    let rules = own(
        "[[rules]]\nname = \"denies\"\narguments = { \"/command\" = \"*git push*\" }\nthen = \"deny\"\n\
         [[rules]]\nname = \"asks\"\narguments = { \"/command\" = \"*git push*\" }\nthen = \"ask\"\n\
         [[rules]]\nname = \"other\"\narguments = { \"/path\" = \"*\" }\nthen = \"deny\"\n\
         [[rules]]\nname = \"both\"\narguments = { \"/command\" = \"*\", \"/mode\" = \"fast\" }\nthen = \"deny\"\n",
    );
    let fits = json!({ "command": "x".repeat(MAX_TEXT_BYTES), "mode": "slow" });
    assert_eq!(covering(&rules, &fits), []);
    let because = ", because the argument /command is longer than 65536 bytes, or has too many spellings";
    let expected =
        [("denies".to_owned(), Then::Deny, because.to_owned()), ("asks".into(), Then::Ask, because.into())];
    for command in [
        json!("x".repeat(MAX_TEXT_BYTES + 1)),
        json!("é".repeat(MAX_TEXT_BYTES / 2 + 1)),
        json!(vec!["x"; MAX_TEXT_BYTES / 4]),
        json!({ "x": "y".repeat(MAX_TEXT_BYTES) }),
        json!(format!("[\"{}\"]", "x".repeat(MAX_TEXT_BYTES))),
    ] {
        assert_eq!(covering(&rules, &json!({ "command": command, "mode": "slow" })), expected);
    }
}

#[test]
fn the_reason_of_a_doubt_is_said() {
    let rules = own("[[rules]]\nname = \"a\"\narguments = { \"/x/y\" = \"secret\" }\nthen = \"deny\"\n");
    let doubt = |arguments: Value| covering(&rules, &arguments).pop().map(|(_, _, because)| because);
    assert_eq!(doubt(json!({ "x": { "y": "secret" } })).as_deref(), Some(""));
    let twice = doubt(json!({ "x": r#"{"y":1,"y":2}"# })).unwrap();
    assert_eq!(twice, ", because the argument /x/y can be read in more than one way");
    let values = doubt(json!({ "x": vec![0; 100_000] })).unwrap();
    assert!(
        values.starts_with(", because its arguments are not clear") && values.ends_with("too many values")
    );
    let mut deep = json!("x");
    for _ in 0..8 {
        deep = (0..100).fold(deep, |value, _| json!([value]));
        deep = json!(deep.to_string());
    }
    let deep = doubt(json!({ "x": { "y": deep } })).unwrap();
    assert_eq!(deep, ", because the argument /x/y is nested too deeply");
}

#[test]
fn bytes_are_compared_in_base64_however_they_are_sent() {
    let rule = |pattern: &str| {
        own(&format!("[[rules]]\nname = \"a\"\narguments = {{ \"/x\" = \"{pattern}\" }}\nthen = \"deny\"\n"))
    };
    for given in [
        json!("cm0gLXI="),
        json!("cm0gLXI"),
        json!(" cm0gLXI "),
        json!([114, 109, 32, 45, 114]),
        json!("[114, 109, 32.0, 45, \"114\"]"),
    ] {
        for pattern in ["cm0gLXI=", "cm0gLXI", "cm0*I="] {
            assert_eq!(covering(&rule(pattern), &json!({ "x": given })).len(), 1, "{pattern} {given}");
        }
    }
    for given in
        [json!("cm0gLXJ="), json!([114, 109, 32, 45]), json!([114, 109, 32, 45, 114, 256]), json!([])]
    {
        assert_eq!(covering(&rule("cm0gLXI="), &json!({ "x": given })), [], "{given}");
    }
}

#[test]
fn rules_are_decided_soon_whatever_the_arguments_are() {
    let begun = Instant::now();
    let rules = many(500);
    // Arguments beyond the bound take no time.
    assert_eq!(covering(&rules, &json!({ "command": adverse(15 << 20) })).len(), 500);
    // All spellings of an argument within the bound are compared, until it takes too long.
    let adverse = covering(&rules, &json!({ "command": adverse(MAX_TEXT_BYTES) }));
    let too_much = ", because the argument /command has too much text to compare with all patterns";
    assert!(adverse.last().is_some_and(|(_, _, because)| because == too_much), "{:?}", adverse.last());
    assert!(adverse.len() < 500, "nothing was compared");
    assert_eq!(
        covering(&rules, &json!({ "command": "x".repeat(20_000) })),
        [],
        "usual arguments are compared"
    );
    let elapsed = begun.elapsed();
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
}

#[test]
fn many_arguments_share_the_work() {
    let rule = |at: usize| {
        format!("[[rules]]\nname = \"{at}\"\narguments = {{ \"/{at}\" = \"secret\" }}\nthen = \"deny\"\n")
    };
    let rules = own(&(0..250).map(rule).collect::<Vec<_>>().concat());
    let begun = Instant::now();
    let given = (0..250).map(|at| (at.to_string(), json!(adverse(MAX_TEXT_BYTES)))).collect();
    let covering = covering(&rules, &Value::Object(given));
    assert!(covering.iter().all(|(_, _, because)| because.ends_with("to compare with all patterns")));
    assert!((100..250).contains(&covering.len()), "{}", covering.len());
    let elapsed = begun.elapsed();
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
}
