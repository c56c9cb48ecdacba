//! Judges the state of unfinished operations of git: rebases, applied mails, cherry-picks and reverts.
//!
//! Git obeys these files when its user continues the operation: it starts the programs of a list, updates the references
//! that are named, and passes options on. A file is harmless only if it is known, and its content has the form in which
//! git writes it.

use std::time::{Duration, Instant};

use crate::index::judge::{Judged, judge_bytes};
use crate::object_hash::ObjectHash;
use crate::parse::parse;

/// Returns the part of a file because of which it is not harmless; takes its name and its content.
pub(crate) type Judge = fn(&str, &[u8]) -> Option<Vec<u8>>;

/// Folders with the state of operations, and the judges of the files in them.
pub(crate) const OPERATIONS: &[(&str, Judge)] =
    &[("rebase-merge", rebase), ("rebase-apply", mails), ("sequencer", sequence)];

/// Maximum time to judge an index in such a folder.
const JUDGE_TIME: Duration = Duration::from_secs(1);

/// Files with texts that git takes for messages, patches and names of authors.
const TEXTS: [&str; 12] = [
    "author-script",
    "done",
    "final-commit",
    "git-rebase-todo.backup",
    "info",
    "message",
    "message-fixup",
    "message-squash",
    "msg",
    "msg-clean",
    "original-commit",
    "patch",
];
/// Files with names of commits, numbers, and flags.
const PLAIN: [&str; 39] = [
    "abort-safety",
    "allow_rerere_autoupdate",
    "amend",
    "applying",
    "cdate_is_adate",
    "current-fixups",
    "dirtyindex",
    "drop_redundant_commits",
    "dropped",
    "end",
    "force-rebase",
    "gpg_sign_opt",
    "head",
    "ignore_date",
    "interactive",
    "keep",
    "keep_redundant_commits",
    "last",
    "messageid",
    "msgnum",
    "next",
    "no-reschedule-failed-exec",
    "no_inbody_headers",
    "onto",
    "orig-head",
    "quiet",
    "quoted-cr",
    "rebasing",
    "reschedule-failed-exec",
    "rewritten",
    "rewritten-list",
    "rewritten-pending",
    "scissors",
    "sign",
    "signoff",
    "squash-onto",
    "stopped-sha",
    "threeway",
    "utf8",
];

/// Strategies of git.
const STRATEGIES: [&str; 6] = ["octopus", "ort", "ours", "recursive", "resolve", "subtree"];

fn rebase(name: &str, text: &[u8]) -> Option<Vec<u8>> {
    match name {
        "git-rebase-todo" => list(text),
        "head-name" => head_name(text),
        "update-refs" => references(text.split(|byte| *byte == b'\n').step_by(3)),
        "refs-to-delete" => references(text.split(|byte| *byte == b'\n')),
        "strategy" => strategy(text),
        // Git applies it when the operation ends.
        "autostash" => Some(text.trim_ascii().to_owned()),
        // One option a word.
        "strategy_opts" | "verbose" => plain(text),
        _ => usual(name, text),
    }
}

fn mails(name: &str, text: &[u8]) -> Option<Vec<u8>> {
    match name {
        "head-name" => head_name(text),
        "autostash" => Some(text.trim_ascii().to_owned()),
        // Git takes each of its own options, with any path. By itself, it writes none.
        "apply-opt" => Some(text.trim_ascii().to_owned()).filter(|text| !text.is_empty()),
        // Git writes this index before each time that it reads it.
        "patch-merge-index" => index(name, text),
        // The mails.
        _ if name.bytes().all(|byte| byte.is_ascii_digit()) => None,
        _ => usual(name, text),
    }
}

/// Judges an index of a repository with an unknown hash function.
fn index(name: &str, text: &[u8]) -> Option<Vec<u8>> {
    let until = Instant::now() + JUDGE_TIME;
    let judged = ObjectHash::ALL.map(|hash| judge_bytes(text, Some(hash), until));
    for judged in &judged {
        if let Judged::Names(path) = judged {
            return Some(path.clone());
        }
    }
    (!judged.contains(&Judged::Plain)).then(|| name.as_bytes().to_owned())
}

fn sequence(name: &str, text: &[u8]) -> Option<Vec<u8>> {
    match name {
        "todo" => list(text),
        "opts" => options(text),
        _ => usual(name, text),
    }
}

fn usual(name: &str, text: &[u8]) -> Option<Vec<u8>> {
    if TEXTS.contains(&name) {
        None
    } else if PLAIN.contains(&name) {
        plain(text)
    } else {
        Some(name.as_bytes().to_owned())
    }
}

/// Judges a text that is no path: the names of programs and files would be.
fn plain(text: &[u8]) -> Option<Vec<u8>> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" \t\r\n-_=+'\"@<>".contains(byte);
    (!text.iter().all(is_plain)).then(|| text.trim_ascii().to_owned())
}

/// Judges the name of a merge strategy: git starts `git merge-NAME`, and `merge-file`, for example, is no strategy.
fn strategy(text: &[u8]) -> Option<Vec<u8>> {
    let name = text.trim_ascii();
    (!STRATEGIES.iter().any(|known| known.as_bytes() == name)).then(|| name.to_owned())
}

/// Judges the list of a rebase: it can start programs, and update any name.
fn list(text: &[u8]) -> Option<Vec<u8>> {
    text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find_map(|line| {
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        let is_found = match word {
            b"exec" | b"x" => true,
            b"update-ref" | b"u" => !rest.trim_ascii().starts_with(b"refs/"),
            _ => false,
        };
        is_found.then(|| line.to_owned())
    })
}

/// Judges the name of the branch that is updated in the end.
fn head_name(text: &[u8]) -> Option<Vec<u8>> {
    let name = text.trim_ascii();
    (!name.starts_with(b"refs/") && name != b"detached HEAD").then(|| name.to_owned())
}

/// Judges the names of references that are updated or deleted.
fn references<'a>(mut names: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let other = names.find(|name| {
        let name = name.trim_ascii();
        !name.is_empty() && !name.starts_with(b"refs/")
    });
    other.map(<[u8]>::to_owned)
}

/// Judges the options of a cherry-pick or revert, which are written like a configuration.
fn options(text: &[u8]) -> Option<Vec<u8>> {
    parse(text).entries.iter().find_map(|entry| match &*entry.key() {
        b"strategy" => strategy(entry.value()),
        _ => plain(entry.value()),
    })
}
