use crate::arguments::{Filled, Given, TooLarge, words};

fn fill(body: &str, arguments: &str, folder: &str, limit: usize) -> Result<String, TooLarge> {
    let variables = [("CLAUDE_SKILL_DIR".to_owned(), folder.to_owned())];
    let given = Given { arguments, names: &[], variables: &variables };
    crate::arguments::fill(body, &given, limit).map(|filled| filled.text)
}

fn filled(body: &str, arguments: &str) -> String {
    fill(body, arguments, "/skills/x", 10_000).expect("small enough")
}

fn named(body: &str, arguments: &str) -> String {
    let names = ["issue", "issue-number", "branch"].map(str::to_owned);
    let given = Given { arguments, names: &names, variables: &[] };
    crate::arguments::fill(body, &given, 10_000).expect("small enough").text
}

#[test]
fn words_are_filled_in_by_the_names_that_the_front_matter_gives_them() {
    for (body, arguments, expected) in [
        ("Fix $issue on $branch.", "a b 'c d'", "Fix a on c d."),
        ("$issue-number, $issue-name, ${issue}", "a b c", "b, a-name, ${issue}"),
        (
            "$issues $issue_id US$issue $$issue $issue[0] $ISSUE $branch",
            "a b c",
            "$issues $issue_id US$issue $$issue $issue[0] $ISSUE c",
        ),
        (r"\$issue $issue", "a b c", "$issue a"),
        ("$branch $0", "a", "$branch a"),
        ("$issue", "$branch b c", "$branch"),
        ("$issue", "", "$issue"),
    ] {
        assert_eq!(named(body, arguments), expected, "{body}");
    }
}

#[test]
fn variables_that_nobody_knows_stay_as_written_and_are_named() {
    let variables = [("CLAUDE_PROJECT_DIR".to_owned(), "/p".to_owned())];
    let given = Given { arguments: "", names: &[], variables: &variables };
    let body =
        "${CLAUDE_PROJECT_DIR}/a ${CLAUDE_SESSION_ID} ${CLAUDE_SESSION_ID} ${HOME} ${CLAUDE_x} ${CLAUDE_";
    let Filled { text, unknown } = crate::arguments::fill(body, &given, 1000).expect("small enough");
    assert_eq!(text, body.replace("${CLAUDE_PROJECT_DIR}", "/p"));
    assert_eq!(unknown, ["CLAUDE_SESSION_ID"]);
}

#[test]
fn placeholders_are_filled() {
    for (body, arguments, expected) in [
        ("$ARGUMENTS", "a  'b c'", "a  'b c'"),
        ("<$ARGUMENTS>", "x", "<x>"),
        ("$0 $1 $2", "a 'b c' d", "a b c d"),
        ("$ARGUMENTS[0]-$ARGUMENTS[1]", "a \"b c\"", "a-b c"),
        ("Look at `$0`, then \"$1\".", "x y", "Look at `x`, then \"y\"."),
        ("($0)[$1]{$2}/$3", "a b c d", "(a)[b]{c}/d"),
        ("$0.txt $0, $0.", "a", "a.txt a, a."),
        ("$0$1$ARGUMENTS[0]$1", "a b", "abab"),
        ("$10", "0 1 2 3 4 5 6 7 8 9 ten", "ten"),
        ("$ARGUMENTS[10]", "0 1 2 3 4 5 6 7 8 9 ten", "ten"),
        ("$ARGUMENTS[x] $ARGUMENTS[] $ARGUMENTS.", "a", "a[x] a[] a."),
        ("cd ${CLAUDE_SKILL_DIR}/scripts && ./run $0", "a", "cd /skills/x/scripts && ./run a"),
    ] {
        assert_eq!(filled(body, arguments), expected, "{body}");
    }
}

#[test]
fn what_only_looks_like_a_placeholder_stays() {
    let words = "a b c d e f g h i j k l";
    for body in [
        "$10.00",
        "$1.50 each",
        "$5,000",
        "$1,5",
        "$100",
        "$5k",
        "$5M",
        "$B$6",
        "$A$1:$B$6",
        "='Sheet'!$B$2",
        "US$5",
        "$$1",
        "$1_a",
        "$5$ and $10$",
        "$1$",
        "$HOME",
        "${1}",
        "$(date)",
        "$",
        "$$",
        "$é",
        "$ARGUMENTS_X",
        "$ARGUMENTSX",
        "awk '{print $1}'",
        "x | awk -F: '{print $1, $2}' | y",
        "gawk '$3 > 5 {print $0}' file",
        "!`date`",
    ] {
        assert_eq!(filled(body, words), format!("{body}\n\nARGUMENTS: {words}"), "{body}");
    }
}

#[test]
fn awk_programs_end_with_their_quote() {
    assert_eq!(filled("awk '{print $1}' $0", "a b"), "awk '{print $1}' a");
    assert_eq!(filled("awk 'x'\n'$0'", "a b"), "awk 'x'\n'a'");
    assert_eq!(filled("awk -v n=$0 '{print $1}'", "a b"), "awk -v n=a '{print $1}'");
    assert_eq!(filled("awkward '$0'", "a b"), "awkward 'a'");
}

#[test]
fn missing_words_stay_as_written() {
    assert_eq!(filled("$0 $1 $ARGUMENTS[7] $5 fee", "a"), "a $1 $ARGUMENTS[7] $5 fee");
    assert_eq!(filled("a $5 fee", "x y"), "a $5 fee\n\nARGUMENTS: x y");
}

#[test]
fn one_backslash_makes_a_literal() {
    for (body, expected) in [
        (r"\$1 $0", "$1 a"),
        (r"\$1.00 $0", "$1.00 a"),
        (r"\$ARGUMENTS $0", "$ARGUMENTS a"),
        (r"\\$1 $0", r"\\b a"),
        (r"\$HOME \n \$ $0", r"\$HOME \n \$ a"),
        (r"\${CLAUDE_SKILL_DIR} $0", r"\/skills/x a"),
        (r"$0\$1\$0", "a$1$0"),
    ] {
        assert_eq!(filled(body, "a b"), expected, "{body}");
    }
}

#[test]
fn filled_in_text_is_not_looked_at_again() {
    assert_eq!(filled("$0|$1|$ARGUMENTS", "$1 $ARGUMENTS"), "$1|$ARGUMENTS|$1 $ARGUMENTS");
    assert_eq!(filled("$0", "${CLAUDE_SKILL_DIR}"), "${CLAUDE_SKILL_DIR}");
    assert_eq!(filled("$0$1 $0$", "$ 0"), "$0 $0$");
}

#[test]
fn arguments_without_a_place_follow_the_body() {
    assert_eq!(filled("Do it.", "now"), "Do it.\n\nARGUMENTS: now");
    assert_eq!(filled("Do it.\n", "now"), "Do it.\n\nARGUMENTS: now");
    assert_eq!(filled("", "now"), "\nARGUMENTS: now");
    assert_eq!(filled("See ${CLAUDE_SKILL_DIR}.", "now"), "See /skills/x.\n\nARGUMENTS: now");
}

#[test]
fn without_arguments_hardly_anything_changes() {
    for arguments in ["", "  \n"] {
        assert_eq!(filled("Do it.", arguments), "Do it.");
        assert_eq!(filled("[$ARGUMENTS] $0 $ARGUMENTS[0] $1", arguments), "[] $0 $ARGUMENTS[0] $1");
        assert_eq!(
            filled(r"\$1 costs $10.00 in ${CLAUDE_SKILL_DIR}", arguments),
            "$1 costs $10.00 in /skills/x"
        );
    }
}

#[test]
fn words_are_split_as_a_shell_does() {
    let split: &[(&str, &[&str])] = &[
        ("", &[]),
        ("  a\tb\nc ", &["a", "b", "c"]),
        ("'a b' \"c d\"", &["a b", "c d"]),
        ("a'b'\"c\"d", &["abcd"]),
        ("'' \"\"", &["", ""]),
        (r#"'a\b' "a\"b\\c\d""#, &[r"a\b", r#"a"b\c\d"#]),
        (r"a\ b \'c \\", &["a b", "'c", r"\"]),
        (r"C:\Users\me", &[r"C:\Users\me"]),
        ("don't do this", &["don't", "do", "this"]),
        ("say \"hi there", &["say", "\"hi", "there"]),
        ("it's 'a b' isn't", &["its a", "b isnt"]),
        (r"end\", &[r"end\"]),
        ("„é“ 漢 字", &["„é“", "漢", "字"]),
    ];
    for (text, expected) in split {
        assert_eq!(words(text), *expected, "{text}");
    }
}

#[test]
fn the_filled_text_is_bounded() {
    let body = "$0".to_owned() + &" $0".repeat(1000);
    assert_eq!(fill(&body, &"x".repeat(1000), "/", 100_000), Err(TooLarge));
    assert_eq!(fill("abc", "", "/", 2), Err(TooLarge));
    assert_eq!(fill("abc", "d", "/", 10), Err(TooLarge));
}

#[test]
fn hostile_text_takes_linear_time() {
    let limit = usize::MAX;
    for piece in ["$ARGUMENTS[", "$0 ", "$1\\", "awk '$0", "${", "$issue", "\"\\\"", "'\"", "\\"] {
        let text = piece.repeat(60_000);
        assert!(fill(&text, "a", "/", limit).is_ok());
        words(&text);
    }
}
