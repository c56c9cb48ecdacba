//! Names that programs obey, from the list `obeyed.toml`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

/// The list.
const LIST: &str = include_str!("obeyed.toml");
/// The sign that stands for any letters in a name.
const ANY: char = '*';

/// Protected names, ready to be compared.
#[derive(Debug)]
struct Names {
    all: Vec<String>,
    plain: Vec<String>,
    /// Before and after what may be anything.
    patterns: Vec<(String, String)>,
    /// Folders' names, and the name in the last of them.
    in_folders: Vec<Vec<String>>,
}

static NAMES: LazyLock<Names> = LazyLock::new(Names::read);

/// The protected names in the order of the list. Each server needs them when it starts, so only the lines that have names
/// are read; a test holds this against a reader of TOML.
fn protected() -> impl Iterator<Item = &'static str> {
    let mut is_protected = false;
    let lines = LIST.lines().filter(move |line| {
        if line.starts_with('[') {
            is_protected = *line == "[[protected]]";
        }
        is_protected && line.starts_with("names = [")
    });
    lines.flat_map(|line| line.split('"').skip(1).step_by(2))
}

impl Names {
    fn read() -> Self {
        let all: Vec<String> = protected().map(str::to_owned).collect();
        let mut names = Self { plain: Vec::new(), patterns: Vec::new(), in_folders: Vec::new(), all };
        for name in &names.all {
            if let Some((before, after)) = name.split_once(ANY) {
                names.patterns.push((before.to_owned(), after.to_owned()));
            } else if name.contains('/') {
                names.in_folders.push(name.split('/').map(str::to_owned).collect());
            } else {
                names.plain.push(name.clone());
            }
        }
        names
    }

    fn hold(&self, name: &OsStr) -> bool {
        let name = name_of(name);
        let is_like = |(before, after): &(String, String)| {
            let starts = name.get(..before.len()).is_some_and(|start| start.eq_ignore_ascii_case(before));
            let rest = name.get(before.len()..).unwrap_or_default();
            let end = rest.len().checked_sub(after.len()).and_then(|start| rest.get(start..));
            starts && end.is_some_and(|end| end.eq_ignore_ascii_case(after))
        };
        self.plain.iter().any(|other| name.eq_ignore_ascii_case(other)) || self.patterns.iter().any(is_like)
    }
}

/// Protected names, as the guard of commands takes them: plain ones, ones with a `*`, and ones in folders (`a/b`).
pub fn protected_names() -> &'static [String] {
    &NAMES.all
}

/// Those of them that are plain.
pub fn plain_protected_names() -> &'static [String] {
    &NAMES.plain
}

/// Names that are protected in a folder because of its own name, and of those of the folders above it.
pub fn protected_names_in(folder: &Path) -> impl Iterator<Item = &'static str> {
    let last = folder.file_name().map(name_of);
    let may_be = NAMES.in_folders.iter().filter_map(|parts| parts.split_last());
    let here = may_be.filter(move |(_, folders)| {
        let is_last =
            folders.last().zip(last.as_deref()).is_some_and(|(one, last)| last.eq_ignore_ascii_case(one));
        is_last && ends_with(folder, folders)
    });
    here.map(|(name, _)| name.as_str())
}

/// Paths below a folder, or below a link to one, that are protected because of its own name, and of those of the folders
/// above it: `repo/config.toml` in `.jj`.
pub fn protected_below(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let last = folder.file_name().map(name_of).unwrap_or_default().into_owned();
    NAMES.in_folders.iter().flat_map(move |parts| {
        let folders = parts.len() - 1;
        let is_here =
            |at: &usize| last.eq_ignore_ascii_case(&parts[*at]) && ends_with(folder, &parts[..=*at]);
        let here: Vec<usize> = (0..folders).filter(is_here).collect();
        here.into_iter().map(|at| parts[at + 1..].iter().collect::<PathBuf>())
    })
}

fn ends_with(folder: &Path, names: &[String]) -> bool {
    let mut parts = folder.components().rev();
    names.iter().rev().all(|name| parts.next().is_some_and(|part| is_name(part.as_os_str(), name)))
}

/// Reports whether a name is one of the protected ones that stand in no folder, on the least particular disk.
pub fn is_protected_name(name: &OsStr) -> bool {
    NAMES.hold(name)
}

/// Reports whether a name is this one, which is ASCII, on the least particular disk.
pub fn is_name(name: &OsStr, other: &str) -> bool {
    name_of(name).eq_ignore_ascii_case(other)
}

/// Reports whether one of these parts of a path is protected, by its name or by those before it.
pub(crate) fn has_protected(parts: &[Component<'_>]) -> bool {
    let is = |part: &Component<'_>, name: &String| is_name(part.as_os_str(), name);
    let begins = |at: usize, names: &[String]| {
        parts.len() - at >= names.len() && parts[at..].iter().zip(names).all(|(part, name)| is(part, name))
    };
    (0..parts.len()).any(|at| {
        is_protected_name(parts[at].as_os_str()) || NAMES.in_folders.iter().any(|names| begins(at, names))
    })
}

/// A name as the least particular disk compares it, but for the case of letters where all are ASCII.
fn name_of(name: &OsStr) -> Cow<'_, str> {
    match name.to_str() {
        // Most names are told by their letters alone.
        Some(text) if text.is_ascii() => Cow::Borrowed(text.trim_end_matches(['.', ' '])),
        _ => Cow::Owned(scorpiox_text::folded(&name.to_string_lossy())),
    }
}

#[cfg(test)]
mod tests;
