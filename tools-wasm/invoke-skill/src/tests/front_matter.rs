use crate::front_matter::{FrontMatter, MAX_BYTES, Refusal, is_good_name, parse, split};

fn read(yaml: &str) -> FrontMatter {
    parse(format!("---\n{yaml}\n---\nBody\n").as_bytes()).expect("usable")
}

fn refused(yaml: &str) -> Refusal {
    parse(format!("---\n{yaml}\n---\n").as_bytes()).expect_err("refused")
}

fn json(yaml: &str) -> String {
    serde_json::to_string(&read(yaml).whole).expect("serialises")
}

#[test]
fn a_skill_of_the_format_has_no_warnings() {
    let read = read("name: my-skill\ndescription: Does it.\nlicense: MIT\nallowed-tools: Read Bash(git:*)");
    assert_eq!(read.name.as_deref(), Some("my-skill"));
    assert_eq!(read.description, "Does it.");
    assert_eq!(read.warnings, [""; 0]);
}

#[test]
fn all_fields_are_kept_in_the_authors_order() {
    let yaml = "name: x\nmetadata:\n  version: 1.5\n  tags: [a, 2]\ndescription: d\nenabled: true\nnothing:";
    assert_eq!(
        json(yaml),
        r#"{"name":"x","metadata":{"version":1.5,"tags":["a",2]},"description":"d","enabled":true,"nothing":null}"#
    );
}

#[test]
fn the_fences_are_found() {
    for text in [
        "---\nd: x\n---\nBody\n---\n",
        "\u{feff}---\r\nd: x\r\n---\r\nBody\n---\n",
        "---  \nd: |\n  text\n  ---\n---\t\nBody\n---\n",
        "---\nd: x\n----\n --- \n---\nBody\n---\n",
    ] {
        let parts = split(text.as_bytes()).expect("a front matter");
        assert_eq!(&text[parts.body..], "Body\n---\n", "{text:?}");
    }
    assert_eq!(split(b"---\nd: x\n---").expect("ends at the end").body, 12);
    assert_eq!(split(b"---\n---\n").expect("empty").yaml, 4..4);
}

#[test]
fn what_has_no_front_matter_is_refused() {
    for text in ["# Title\n", "\n---\nd: x\n---\n", " ---\nd: x\n---\n", "----\n"] {
        assert_eq!(parse(text.as_bytes()), Err(Refusal::NoStart), "{text:?}");
    }
    for text in ["---", "---\n", "---\nname: x\ndescription: y\n", "---\nx: y\n --- \n"] {
        assert_eq!(parse(text.as_bytes()), Err(Refusal::NoEnd), "{text:?}");
    }
}

#[test]
fn a_skill_without_a_description_is_refused() {
    for yaml in [
        "",
        "name: x",
        "description:",
        "description: ''",
        "description: \"  \\n\"",
        "description: ~",
        "description: \"\\u200b\\e[0m\"",
        "# nothing",
    ] {
        assert_eq!(refused(yaml), Refusal::NoDescription(None), "{yaml}");
    }
    assert!(Refusal::NoDescription(None).to_string().starts_with("description is missing"));
}

#[test]
fn scalars_of_any_type_are_text_for_name_and_description() {
    let read = read("name: 2024\ndescription: 1.50");
    assert_eq!((read.name.as_deref(), read.description.as_str()), (Some("2024"), "1.50"));
}

#[test]
fn an_unquoted_colon_is_forgiven() {
    let read = read("name: x\ndescription: Use when: foo\nversion: 1");
    assert_eq!(read.description, "Use when: foo");
    assert_eq!(
        read.warnings,
        ["the value of \"description\" is not valid YAML and was read as text; put it in quotes"]
    );
}

#[test]
fn a_description_becomes_one_line() {
    for yaml in
        ["description: |\n  a\n  b\n\n  c", "description: >-\n  a b\n\n  c", "description: a\n  b\n\n  c"]
    {
        assert_eq!(read(yaml).description, "a b c");
        assert_eq!(read(yaml).warnings, [""; 0]);
    }
}

#[test]
fn bad_names_are_warned_of() {
    for name in ["My Skill", "a_b", "-a", "a-", "a--b", "é", &"x".repeat(65)] {
        let read = read(&format!("name: {name}\ndescription: d"));
        assert_eq!(read.name.as_deref(), Some(name));
        assert!(read.warnings[0].contains("should have 1 to 64 lowercase letters"), "{:?}", read.warnings);
    }
    for name in ["[a]", "{a: b}", "\"\\u200b\"", &"x".repeat(129)] {
        let read = read(&format!("name: {name}\ndescription: d"));
        assert_eq!(read.name, None, "{name}");
        assert!(read.warnings.last().expect("a warning").contains("not used"));
    }
    assert_eq!(read("name:\ndescription: d").name, None);
    assert!(is_good_name("a") && is_good_name("a-1-b") && !is_good_name(""));
}

#[test]
fn long_descriptions_are_warned_of_and_kept() {
    let long = "ä".repeat(1025);
    let read = read(&format!("description: {long}"));
    assert_eq!(read.description, long);
    assert_eq!(read.warnings, ["the description has 1025 characters; the format allows 1024"]);
}

#[test]
fn hidden_characters_are_removed_and_warned_of() {
    let yaml = "name: \"a\\u202Eb\"\ndescription: \"x\\e[31my\\U000E0041z\"\nk: \"v\\u200b\\ntwo\"";
    let read = read(yaml);
    assert_eq!((read.name.as_deref(), read.description.as_str()), (Some("ab"), "xyz"));
    assert_eq!(
        read.warnings,
        ["name", "description"].map(|f| format!("control or invisible characters were removed from the {f}"))
    );
    assert_eq!(json(yaml), r#"{"name":"ab","description":"xyz","k":"v\ntwo"}"#);
}

#[test]
fn keys_that_become_equal_stand_once() {
    assert_eq!(json("description: d\n\"a\": 1\n\"a\\u200b\": 2"), r#"{"description":"d","a":1}"#);
}

#[test]
fn repeated_keys_are_warned_of() {
    let read = read("description: one\ndescription: two");
    assert_eq!(read.description, "one");
    assert_eq!(read.warnings, ["\"description\" stands there more than once; the first one counts"]);
}

#[test]
fn broken_utf8_is_replaced() {
    let read = parse(b"---\nname: x\ndescription: a\xffb\n---\n").expect("usable");
    assert_eq!(read.description, "a\u{fffd}b");
    assert!(read.warnings[0].contains("UTF-8"));
}

#[test]
fn hostile_yaml_is_refused_with_a_reason() {
    let laughs: Vec<String> =
        (1..12).map(|n| format!("a{n}: &a{n} [{}]", vec![format!("*a{}", n - 1); 9].join(","))).collect();
    for yaml in [
        format!("description: d\na0: &a0 lol\n{}", laughs.join("\n")),
        format!("description: d\na: {}", "[".repeat(60_000)),
        format!("description: d\na: {}", "{a: ".repeat(10_000)),
        format!("description: d\na: {}x{}", "[".repeat(100), "]".repeat(100)),
        format!("description: d\na:\n  {}", "- ".repeat(20_000)),
        format!("description: d\n{}", "? ".repeat(20_000)),
        format!("description: d\n{}", "a: &a b\n".repeat(7_000)),
        "description: &a [*a]".to_owned(),
        "{---".to_owned(),
    ] {
        let reason = refused(&yaml);
        assert!(matches!(reason, Refusal::Yaml(_)), "{reason:?} for {yaml:.60}");
        assert!(reason.to_string().len() < 300, "{reason}");
    }
    let long = format!("description: {}", "x".repeat(MAX_BYTES));
    assert_eq!(refused(&long), Refusal::TooLong);
}

#[test]
fn a_description_that_stands_there_in_plain_sight_is_not_called_missing() {
    let said = |yaml: &str| refused(yaml).to_string();
    for slip in ["license: x\nname: a\n\tdescription: d", "license: x\nname: a\n description: d"] {
        let said = said(slip);
        assert!(said.starts_with("the front matter cannot be read: ") && said.contains(" line "), "{said}");
    }
    assert_eq!(said("name: a\ndescription: [a, b]"), "description is a list or a mapping; write one text");
    let misspelled = said("name: a\ndescripton: d");
    assert!(misspelled.ends_with("is it what \"descripton\" stands for?"), "{misspelled}");
}

#[test]
fn what_is_no_text_in_utf_8_or_nothing_is_said_to_be_that() {
    let utf_16: Vec<u8> = "\u{feff}---\nname: a\n---\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(parse(&utf_16), Err(Refusal::NotUtf8));
    assert_eq!(parse(b"\xef\xbb\xbf \n"), Err(Refusal::Empty));
    assert_eq!(parse(b"# Title\n"), Err(Refusal::NoStart));
}
