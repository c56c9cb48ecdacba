use super::*;

type Shown = (String, Option<String>);

fn shown(bytes: &[u8]) -> (Vec<Shown>, bool) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let parsed = parse(bytes);
    let shown = |entry: &Entry| (text(&entry.name), entry.value.as_deref().map(text));
    (parsed.entries.iter().map(shown).collect(), parsed.is_broken)
}

#[track_caller]
fn reads(text: &[u8], wanted: &[(&str, &str)]) {
    let wanted: Vec<Shown> = wanted.iter().map(|(a, b)| ((*a).to_owned(), Some((*b).to_owned()))).collect();
    assert_eq!(shown(text), (wanted, false));
}

#[test]
fn a_configuration_is_read_as_git_reads_it() {
    reads(b"\xef\xbb\xbf[Core]\r\n\thooksPath = \"a b\"/c ; why\n", &[("core.hookspath", "a b/c")]);
    reads(b"[includeIf \"gitdir:/x]\\\"/\"] path=../e#x\n", &[("includeif.gitdir:/x]\"/.path", "../e")]);
    reads(b"[filter.lfs]\n  Clean = a \\\n b\n", &[("filter.lfs.clean", "a  b")]);
    reads(b"[alias]\nst = \"!sh \\\"s;s\\\" \"\n", &[("alias.st", "!sh \"s;s\" ")]);
    assert_eq!(shown(b"[alias] x\n").0, [("alias.x".to_owned(), None)]);
}

/// Regression test: each of these once hid a key.
#[test]
fn a_comment_ends_with_its_line_and_a_line_may_hold_more_than_a_section() {
    reads(b"# a\\\n[core]\nfsmonitor = x\n", &[("core.fsmonitor", "x")]);
    reads(b"[a]\nb = c ; d\\\n[core] fsmonitor = x", &[("a.b", "c"), ("core.fsmonitor", "x")]);
    reads(b"[a]\nb = c # \" \\\nfsmonitor = x", &[("a.b", "c"), ("a.fsmonitor", "x")]);
    reads(b"[a] [core] fsmonitor=x", &[("core.fsmonitor", "x")]);
    reads(b"[a][core]fsmonitor=x\n", &[("core.fsmonitor", "x")]);
    reads(b"[a] b = \"c\\\nd\" e\n", &[("a.b", "cd e")]);
    reads(b"[a]\n\rb=\rc\r\n", &[("a.b", "c")]);
    reads(b"[core \"fsmonitor\0x\"] y = a\0b\n", &[("core.fsmonitor", "a")]);
}

#[test]
fn what_git_would_not_accept_is_known_and_reading_goes_on_behind_it() {
    for text in [
        "[",
        "[\"",
        "=",
        "[a\\",
        "[a]x = \"",
        "[a]\nx = \\q",
        "\n]\n",
        "\u{e9}",
        "[a]x y",
        "\u{feff}\u{feff}",
    ] {
        assert!(shown(text.as_bytes()).1, "{text:?}");
        let (entries, is_broken) = shown(format!("{text}\n[core]\nfsmonitor = x\n").as_bytes());
        assert!(
            is_broken && entries.contains(&("core.fsmonitor".to_owned(), Some("x".to_owned()))),
            "{text:?}"
        );
    }
    assert_eq!(shown(b"").0, []);
    assert!(shown(b"\xef\xbb[a]\nb=c").1);
}

#[cfg(target_os = "linux")]
mod against_git;
