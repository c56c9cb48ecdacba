use crate::fields::Fields;
use crate::front_matter::parse;

fn read(yaml: &str) -> (Fields, Vec<String>) {
    let read = parse(format!("---\ndescription: d\n{yaml}\n---\nBody\n").as_bytes()).expect("usable");
    (read.fields, read.warnings)
}

fn fields(yaml: &str) -> Fields {
    let (fields, warnings) = read(yaml);
    assert_eq!(warnings, [""; 0], "{yaml}");
    fields
}

#[test]
fn a_skill_is_for_models_and_people_unless_it_says_otherwise() {
    let who = |yaml| {
        let fields = fields(yaml);
        (fields.for_models, fields.for_people)
    };
    assert_eq!(who("k: v"), (true, true));
    assert_eq!(who("disable-model-invocation: true"), (false, true));
    assert_eq!(who("disable-model-invocation: 'Yes'"), (false, true));
    assert_eq!(who("disable-model-invocation: false\nuser-invocable: false"), (true, false));
    assert_eq!(who("disable-model-invocation:\nuser-invocable: ~"), (true, true));
}

#[test]
fn what_is_neither_true_nor_false_closes_a_skill_for_models() {
    for value in ["maybe", "[true]", "{a: b}", "''"] {
        let (fields, warnings) = read(&format!("disable-model-invocation: {value}"));
        assert!(!fields.for_models, "{value}");
        assert_eq!(warnings, ["disable-model-invocation should be true or false; true is assumed"]);
    }
    let (fields, warnings) = read("user-invocable: 5");
    assert!(fields.for_people);
    assert_eq!(warnings, ["user-invocable should be true or false; true is assumed"]);
    let (_, warnings) = read("disable-model-invocation: true\nuser-invocable: false");
    assert_eq!(warnings, ["neither models nor people can invoke it"]);
}

#[test]
fn arguments_have_names_as_words_or_as_a_list() {
    let names = |yaml: &str| fields(yaml).arguments;
    assert_eq!(names("arguments: issue branch"), ["issue", "branch"]);
    assert_eq!(names("arguments: [issue, branch-name]"), ["issue", "branch-name"]);
    assert_eq!(names("arguments:\n  - name: area\n    description: a\n  - _x"), ["area", "_x"]);
    assert!(names("arguments:").is_empty());
    for (yaml, why) in [
        (
            "arguments: 1 b",
            "\"1\" is no name for an argument: those have letters from a to z, digits, \"-\" and \"_\"; no argument has a name",
        ),
        (
            "arguments: [a, [b]]",
            "\"\" is no name for an argument: those have letters from a to z, digits, \"-\" and \"_\"; no argument has a name",
        ),
        (
            "arguments: a ARGUMENTS",
            "\"ARGUMENTS\" is no name for an argument: those have letters from a to z, digits, \"-\" and \"_\"; no argument has a name",
        ),
        ("arguments: a b a", "arguments names \"a\" twice; no argument has a name"),
    ] {
        let (fields, warnings) = read(yaml);
        assert_eq!((fields.arguments.len(), warnings), (0, vec![why.to_owned()]), "{yaml}");
    }
    let many: Vec<String> = (0..17).map(|n| format!("a{n}")).collect();
    let (fields, warnings) = read(&format!("arguments: {}", many.join(" ")));
    assert_eq!((fields.arguments.len(), warnings.len()), (16, 1));
}

#[test]
fn texts_are_one_clean_line_of_bounded_length() {
    let hint = |yaml: &str| fields(yaml).argument_hint;
    assert_eq!(hint("argument-hint: [issue-number]").as_deref(), Some("[issue-number]"));
    assert_eq!(hint("argument-hint: <a|b> [c]").as_deref(), Some("<a|b> [c]"));
    assert_eq!(hint("argument-hint: ''"), None);
    let (read_fields, warnings) = read("compatibility: \"a\\u202e\\nb\"\nwhen_to_use: {a: b}");
    assert_eq!((read_fields.compatibility.as_deref(), read_fields.when_to_use), (Some("a b"), None));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let (read_fields, warnings) = read(&format!("argument-hint: {}", "x".repeat(300)));
    assert_eq!(read_fields.argument_hint.map(|hint| hint.len()), Some(200));
    assert_eq!(warnings, ["argument-hint has 300 characters; only 200 are used"]);
}

#[test]
fn what_has_no_effect_is_named_with_the_reason() {
    let ignored = |yaml: &str| -> Vec<String> {
        let ignored = fields(yaml).ignored.into_iter();
        ignored.map(|field| format!("{}: {}", field.key, field.why)).collect()
    };
    assert_eq!(
        ignored(
            "license: MIT\nmetadata: {a: b}\nallowed-tools: Bash\nmodel: opus\nhooks: {a: b}\nversion: 1"
        ),
        [
            "allowed-tools: a skill grants nothing; the policy and the client decide what tools may do",
            "model: a server cannot choose that for its client",
            "hooks: the server runs no command of a skill",
            "version: it is unknown",
        ]
    );
    assert_eq!(
        ignored("Disable_Model_Invocation: true\nwhen-to-use: x"),
        [
            "Disable_Model_Invocation: it is unknown; did you mean disable-model-invocation?",
            "when-to-use: it is unknown; did you mean when_to_use?",
        ]
    );
    let many = (0..100).map(|n| format!("k{n}: v\n")).collect::<Vec<_>>().concat();
    assert_eq!(ignored(&many).len(), 32);
}
