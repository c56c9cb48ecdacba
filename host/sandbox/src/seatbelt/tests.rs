//! Compares profiles with stored ones, and checks that they conform to the language. `BLESS=1` accepts the
//! current profiles.

use std::path::PathBuf;

use super::*;
use crate::wire::{HomeLink, Limits, RawPath};

const MARKED: &str = "scorpiox.command.1-0-abc";

fn raw(path: &str) -> RawPath {
    Path::new(path).into()
}

fn cell(tier: Tier, network: Network, write: bool) -> CellSpec {
    let exposed = |path: &str, write| Exposed { path: raw(path), write };
    CellSpec {
        tier,
        workspace: raw("/Users/ada/project one"),
        exposed: vec![
            exposed("/Users/ada/.scorpiox/output/project", false),
            exposed("/usr", false),
            exposed("/bin", false),
            exposed("/opt/homebrew", false),
            exposed("/Users/ada/project one", write),
        ],
        home: raw("/Users/ada/.scorpiox/scratch/1"),
        home_links: Vec::<HomeLink>::new(),
        home_files: Vec::new(),
        stand_ins: Vec::new(),
        scratch: raw("/Users/ada/.scorpiox/scratch/1"),
        tmp_bytes: 1 << 30,
        network,
        ssh_config: None,
        local: Vec::new(),
        landlock_at_most: None,
    }
}

fn command(covers: Vec<Cover>) -> CommandSpec {
    let limits = Limits { processes: 512, memory: 1 << 32, open_files: 4096, file_size: 1 << 30 };
    CommandSpec {
        covers,
        absent_names: [".mcp.json", ".vscode", "*.code-workspace", ".hg/hgrc"].map(str::to_owned).to_vec(),
        packages: vec!["node_modules".to_owned()],
        ..CommandSpec::new("true".to_owned(), Vec::new(), limits)
    }
}

fn covers() -> Vec<Cover> {
    let at = |path: &str| raw(&format!("/Users/ada/project one/{path}"));
    vec![
        Cover::Hide(at(".env")),
        Cover::Freeze(at("deep/er/.git/config")),
        Cover::Keep(at("link")),
        Cover::Pin(at("pinned")),
        Cover::Absent(at("deep/.git/hooks \"ü\"")),
    ]
}

/// Returns the profiles to compare with the stored ones.
fn profiles() -> Vec<(&'static str, String)> {
    let written = |tier, network, write, covers, proxy| {
        profile(&cell(tier, network, write), &command(covers), MARKED, proxy).expect("a profile")
    };
    vec![
        ("workspace", written(Tier::Seatbelt, Network::Off, true, covers(), None)),
        ("readonly", written(Tier::Seatbelt, Network::Off, false, Vec::new(), None)),
        ("hosts", written(Tier::Seatbelt, Network::Proxy, true, Vec::new(), Some(4321))),
        ("open", written(Tier::Seatbelt, Network::Host, true, Vec::new(), None)),
        ("none", written(Tier::None, Network::Host, true, covers(), None)),
        ("worker", of_worker(Path::new("/private/var/folders/ab/worker")).expect("a profile")),
    ]
}

#[test]
fn profiles_are_as_they_were() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/seatbelt/golden");
    for (name, text) in profiles() {
        let path = folder.join(format!("{name}.sb"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(&path, &text).expect("writes");
        }
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == before, "{} (BLESS=1 accepts it):\n{text}", path.display());
    }
}

/// Expression of the language.
#[derive(Debug)]
enum Term {
    Word(String),
    Text(String),
    List(Vec<Term>),
}

/// Reads expressions to the end of the text, or to the parenthesis that closes a list.
fn read(text: &mut std::iter::Peekable<std::str::Chars<'_>>, inside: bool) -> Vec<Term> {
    let mut terms = Vec::new();
    loop {
        match text.next() {
            None => {
                assert!(!inside, "a list is not closed");
                return terms;
            }
            Some(')') => {
                assert!(inside, "a list is closed that was not opened");
                return terms;
            }
            Some('(') => terms.push(Term::List(read(text, true))),
            Some(';') => while text.next().is_some_and(|c| c != '\n') {},
            Some('"') => terms.push(Term::Text(read_text(text, true))),
            Some('#') => {
                assert_eq!(text.next(), Some('"'), "a regular expression begins with #\"");
                terms.push(Term::Text(read_text(text, false)));
            }
            Some(c) if c.is_whitespace() => {}
            Some(c) => {
                let mut word = String::from(c);
                while let Some(c) = text.next_if(|c| !c.is_whitespace() && !"()\";".contains(*c)) {
                    word.push(c);
                }
                terms.push(Term::Word(word));
            }
        }
    }
}

fn read_text(text: &mut std::iter::Peekable<std::str::Chars<'_>>, escapes: bool) -> String {
    let mut read = String::new();
    loop {
        match text.next().expect("a text is closed") {
            '"' => return read,
            '\\' if escapes => match text.next() {
                Some(c @ ('"' | '\\')) => read.push(c),
                other => panic!("an escape that the language does not have: {other:?}"),
            },
            c => {
                assert!(!c.is_control(), "{c:?} in a text");
                read.push(c);
            }
        }
    }
}

/// Operations, as named by the system's own profiles.
const OPERATIONS: &[&str] = &[
    "default",
    "file-clone",
    "file-ioctl",
    "file-issue-extension",
    "file-link",
    "file-map-executable",
    "file-read*",
    "file-read-metadata",
    "file-test-existence",
    "file-write*",
    "file-write-data",
    "iokit-get-properties",
    "ipc-posix-sem",
    "ipc-posix-shm*",
    "mach-lookup",
    "network*",
    "network-bind",
    "network-inbound",
    "network-outbound",
    "process-exec",
    "process-exec*",
    "process-fork",
    "process-info*",
    "process-info-pidinfo",
    "signal",
    "sysctl-read",
    "system-info",
    "system-socket",
];

/// Filters with a single string argument.
const FILTERS: &[&str] = &["literal", "subpath", "regex", "global-name", "sysctl-name", "sysctl-name-prefix"];

fn check_filter(term: &Term) {
    let Term::List(parts) = term else { panic!("a filter is a list: {term:?}") };
    let [Term::Word(name), rest @ ..] = &parts[..] else { panic!("a filter has a name: {term:?}") };
    match (name.as_str(), rest) {
        (name, [Term::Text(text)]) if FILTERS.contains(&name) => {
            assert!(!text.is_empty());
            assert!(!matches!(name, "literal" | "subpath") || text.starts_with('/'), "{text}");
        }
        ("require-all" | "require-any", filters @ [_, _, ..]) => filters.iter().for_each(check_filter),
        ("require-not", [filter]) => check_filter(filter),
        ("target", [Term::Word(word)]) => assert!(["self", "same-sandbox"].contains(&word.as_str())),
        ("remote" | "local", [Term::Word(word)]) => assert_eq!(word, "ip"),
        ("remote", [Term::Word(word), Term::Text(text)]) => {
            assert_eq!(word, "tcp");
            let (host, port) = text.split_once(':').expect("a port");
            assert!(host == "localhost" && port.parse::<u16>().is_ok(), "{text}");
        }
        _ => panic!("no filter of the language: {term:?}"),
    }
}

#[test]
fn profiles_are_in_the_language_and_deny_by_default() {
    for (name, text) in profiles() {
        let terms = read(&mut text.chars().peekable(), false);
        let mut allows_all = None;
        for (at, term) in terms.iter().enumerate() {
            let Term::List(parts) = term else { panic!("{name}: {term:?}") };
            let [Term::Word(action), rest @ ..] = &parts[..] else { panic!("{name}: {term:?}") };
            if at == 0 {
                assert!(action == "version" && matches!(rest, [Term::Word(one)] if one == "1"), "{name}");
                continue;
            }
            assert!(["allow", "deny"].contains(&action.as_str()), "{name}: {action}");
            let is_operation = |term: &&Term| matches!(term, Term::Word(_));
            let operations: Vec<_> = rest.iter().take_while(is_operation).collect();
            assert!(!operations.is_empty(), "{name}: {term:?}");
            for operation in &operations {
                let Term::Word(word) = operation else { unreachable!("taken as words") };
                assert!(OPERATIONS.contains(&word.as_str()), "{name}: {word} is no operation");
                if word == "default" {
                    assert_eq!(at, 1, "{name}: the default comes first");
                    allows_all = Some(action == "allow");
                }
            }
            rest[operations.len()..].iter().for_each(check_filter);
        }
        assert_eq!(allows_all, Some(name == "none"), "{name}");
    }
}

#[test]
fn what_closes_comes_after_what_opens() {
    let text = profile(&cell(Tier::Seatbelt, Network::Host, true), &command(covers()), MARKED, None)
        .expect("as it is made");
    let last_allow = text.rfind("(allow file").expect("it opens");
    assert!(text.find("; Names").expect("names") > last_allow);
    assert!(text.find("; What is closed.").expect("covers") > last_allow);
    let folders = ["/Users/ada/project one", "/Users/ada/project one/deep", "/Users/ada/project one/deep/er"];
    for folder in folders {
        assert!(text.contains(&format!("(deny {WRITES} (literal \"{folder}\"))")), "{folder}:\n{text}");
    }
    assert!(!text.contains("(deny file-write* file-link file-clone (literal \"/Users/ada\"))"));
}

#[test]
fn a_path_that_the_language_cannot_say_is_an_error() {
    let odd = Cover::Hide(raw("/Users/ada/project one/a\n(allow default)"));
    let error = profile(&cell(Tier::Seatbelt, Network::Off, true), &command(vec![odd]), MARKED, None);
    assert!(error.expect_err("refused").to_string().contains("rename it"));
    let error = profile(&cell(Tier::Seatbelt, Network::Proxy, true), &command(Vec::new()), MARKED, None);
    assert!(error.expect_err("refused").to_string().contains("nobody listens"));
    let many = (0..9000).map(|n| Cover::Hide(raw(&format!("/Users/ada/project one/{n:0100}")))).collect();
    let error = profile(&cell(Tier::Seatbelt, Network::Off, true), &command(many), MARKED, None);
    assert!(error.expect_err("refused").to_string().contains("smaller folder"));
}
