//! Compares the parser with the installed git.
//!
//! A single file includes many configurations with a mark after each, so that git reads them in one run. Git
//! stops at the first error, and is then restarted after it.

#![allow(clippy::disallowed_methods, reason = "nothing but git tells how git reads")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;
use crate::STARTS;

/// Number of configurations to test, unless `GIT_CONFIG_CASES` is set.
const CASES: usize = 2_000;
/// Number of configurations included by one file.
const AT_ONCE: usize = 250;
/// Maximum size of a random configuration, in bytes.
const MAX_RANDOM: usize = 40;

/// Fragments of configurations that are easily parsed differently from git.
const PIECES: &[&str] = &[
    "[core]",
    "[a]",
    "[A.b]",
    "[a \"B c\"]",
    "[a \"x\\\"]\"]",
    "[a\t\"\"]",
    "[a.b \"c\"]",
    "[a \"\\\\\"]",
    "[include]",
    "[alias]",
    "[]",
    "[.a]",
    "[a.]",
    "[core \"fsmonitor\0\"]",
    "[a \"b]",
    "[a b]",
    "[ a]",
    "[a ]",
    "[a \"b\" ]",
    "fsmonitor",
    "path",
    "b",
    "X-1",
    "1x",
    "b_c",
    "é",
    " ",
    "\t",
    "\u{b}",
    "\u{c}",
    "\u{a0}",
    "=",
    " = ",
    "==",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\\\n",
    "\\\r\n",
    "\\",
    "\\t",
    "\\b",
    "\\n",
    "\\\"",
    "\\\\",
    "\\q",
    "\"",
    "\"a;b\"",
    "\"a\\\nb\"",
    "\"\"",
    "#",
    ";",
    "# c\\",
    " ; c\\",
    "#\"",
    ";[core]",
    "\0",
    "\u{feff}",
    "x",
    "a b  c",
    "true",
    "~none/x",
    "\u{7f}",
    "'",
];
/// Lines that mostly form valid configurations.
const LINES: &[&str] = &[
    "[core]\n",
    "[a] ",
    "[a \"b\"]\r\n",
    "[a][core]",
    "\tb = c\n",
    "fsmonitor = x y # z\\\n",
    "b=\"c d\" e;f\r\n",
    "b\n",
    "b = \\\n c\n",
    "b = c\\\n",
    "# \\\n",
    "; \"\n",
    "\r\n",
    " \t\n",
    "b = a\0b\n",
    "b=\"a\\\"b\\\\\" \n",
    "b =  c  \"  \"  \n",
    "[core \"f\0g\"]c=d\n",
];

/// Deterministic pseudorandom numbers (`xorshift64*`).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).expect("31 bits") % end
    }

    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a [u8] {
        texts[self.below(texts.len())].as_bytes()
    }

    fn configuration(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.below(20) == 0 {
            bytes.extend_from_slice("\u{feff}".as_bytes());
        }
        match self.below(8) {
            0 => bytes
                .extend((0..self.below(MAX_RANDOM)).map(|_| u8::try_from(self.below(256)).expect("a byte"))),
            1 => (0..self.below(12)).for_each(|_| bytes.extend_from_slice(self.one_of(PIECES))),
            kind => {
                if kind > 2 {
                    bytes.extend_from_slice(b"[core]\n");
                }
                (0..self.below(12)).for_each(|_| bytes.extend_from_slice(self.one_of(LINES)));
                if kind == 7 {
                    bytes.extend_from_slice(self.one_of(PIECES));
                }
            }
        }
        bytes
    }
}

/// Entries that git finds in a configuration, with or without a syntax error.
#[derive(Debug, Default, Clone)]
struct Listed {
    entries: Vec<Shown>,
    is_broken: bool,
}

/// Returns the entries that git finds in these configurations, up to the first error.
fn listed(folder: &Path, names: &[String]) -> Vec<Listed> {
    let include = |name: &String| format!("[include]\npath = {name}\n[mark]\nend\n");
    fs::write(folder.join("all"), names.iter().map(include).collect::<String>()).expect("a file");
    let mut git = Command::new("git");
    git.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.args(["config", "--file", "all", "--includes", "--list", "--show-origin", "-z"]);
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let running = {
        let _alone = STARTS.write().expect("no test failed");
        git.spawn().expect("git is installed")
    };
    let output = running.wait_with_output().expect("its output");
    let mut fields = output.stdout.split(|byte| *byte == 0);
    let mut all = vec![Listed::default()];
    while let (Some(origin), Some(entry)) = (fields.next(), fields.next()) {
        let at = all.len() - 1;
        if origin == b"file:all" {
            if entry == b"mark.end" {
                all.push(Listed::default());
            }
        } else if names.get(at).is_some_and(|name| origin.ends_with(name.as_bytes())) {
            let end = entry.iter().position(|byte| *byte == b'\n');
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let value = end.map(|end| text(&entry[end + 1..]));
            all[at].entries.push((text(&entry[..end.unwrap_or(entry.len())]), value));
        }
    }
    if output.status.success() {
        all.pop();
    } else {
        all.last_mut().expect("one").is_broken = true;
    }
    all
}

/// Normalizes blanks, because some versions of git convert them all to spaces.
fn with_blanks((name, value): &Shown) -> Shown {
    (name.clone(), value.as_ref().map(|value| value.replace(['\t', '\r'], " ")))
}

#[track_caller]
fn agrees(bytes: &[u8], of_git: &Listed) {
    let (ours, is_broken) = shown(bytes);
    let ours: Vec<_> = ours.iter().map(with_blanks).collect();
    let theirs: Vec<_> = of_git.entries.iter().map(with_blanks).collect();
    let case = || format!("{:?}\nours: {ours:?}\ngit: {theirs:?}", String::from_utf8_lossy(bytes));
    assert!(ours.starts_with(&theirs), "git finds more in {}", case());
    assert!(is_broken || ours.len() == theirs.len(), "git finds less in {}", case());
    // Git also stops at an include of an unknown user's path.
    assert!(
        is_broken || !of_git.is_broken || ours.iter().any(|(name, _)| name == "include.path"),
        "{}",
        case()
    );
    assert!(of_git.is_broken || !is_broken, "git accepts {}", case());
}

#[test]
fn whatever_git_finds_is_found() {
    let cases = std::env::var("GIT_CONFIG_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let seed = std::env::var("GIT_CONFIG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let mut numbers = Numbers(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let (mut entries, mut broken, mut done) = (0, 0, 0);
    while done < cases {
        let texts: Vec<_> = (0..AT_ONCE).map(|_| numbers.configuration()).collect();
        let names: Vec<_> = (0..AT_ONCE).map(|at| format!("case-{at:03}")).collect();
        for (name, text) in names.iter().zip(&texts) {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        let mut at = 0;
        while at < AT_ONCE {
            let listed = listed(folder.path(), &names[at..]);
            assert!(!listed.is_empty(), "git reads at least one");
            for (text, of_git) in texts[at..].iter().zip(&listed) {
                agrees(text, of_git);
                entries += of_git.entries.len();
                broken += usize::from(of_git.is_broken);
            }
            at += listed.len();
        }
        done += AT_ONCE;
    }
    eprintln!("{done} configurations, {entries} entries, {broken} that git does not accept");
    assert!(entries > done / 4 && broken > done / 50 && broken < done, "{entries} entries, {broken} broken");
}
