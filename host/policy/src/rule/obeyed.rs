//! Names of files that programs obey, from the list `obeyed.toml`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

/// Text of the list.
const LIST: &str = include_str!("obeyed.toml");
/// Wildcard for any number of characters in a name.
const ANY: char = '*';

/// Protected names, prepared for comparison.
#[derive(Debug)]
struct Names {
    all: Vec<String>,
    plain: Vec<String>,
    /// Text before and after the wildcard.
    patterns: Vec<(String, String)>,
    /// Names of the parent folders, followed by the protected name in the last one.
    in_folders: Vec<Vec<String>>,
}

static NAMES: LazyLock<Names> = LazyLock::new(Names::read);

/// Returns the protected names in list order. Every server needs them at startup, so this reads only the
/// lines with names instead of parsing TOML. A test compares the result with a TOML parser's.
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

/// Returns the protected names in the form that the guard of commands expects: plain names, names with a `*`,
/// and names in folders (`a/b`).
pub fn protected_names() -> &'static [String] {
    &NAMES.all
}

/// Returns the protected names without a wildcard or a folder.
pub fn plain_protected_names() -> &'static [String] {
    &NAMES.plain
}

/// Returns the names that are protected in a folder because of its own name and the names of its parents.
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

/// Returns the paths below a folder, or below a link to one, that are protected because of its own name and
/// the names of its parents. An example is `repo/config.toml` in `.jj`.
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

/// Returns `true` if a name is protected regardless of its folder. Compares as the most permissive file
/// systems do.
pub fn is_protected_name(name: &OsStr) -> bool {
    NAMES.hold(name)
}

/// Returns `true` if a name equals `other`, which is ASCII. Compares as the most permissive file systems do.
pub fn is_name(name: &OsStr, other: &str) -> bool {
    name_of(name).eq_ignore_ascii_case(other)
}

/// Returns `true` if any of these path components is protected, by its own name or together with those before
/// it.
pub(crate) fn has_protected(parts: &[Component<'_>]) -> bool {
    let is = |part: &Component<'_>, name: &String| is_name(part.as_os_str(), name);
    let begins = |at: usize, names: &[String]| {
        parts.len() - at >= names.len() && parts[at..].iter().zip(names).all(|(part, name)| is(part, name))
    };
    (0..parts.len()).any(|at| {
        is_protected_name(parts[at].as_os_str()) || NAMES.in_folders.iter().any(|names| begins(at, names))
    })
}

/// Normalizes a name as the most permissive file systems do, except that ASCII names keep their case.
fn name_of(name: &OsStr) -> Cow<'_, str> {
    match name.to_str() {
        // Fast path: most names are ASCII.
        Some(text) if text.is_ascii() => Cow::Borrowed(text.trim_end_matches(['.', ' '])),
        _ => Cow::Owned(scorpiox_text::folded(&name.to_string_lossy())),
    }
}

#[cfg(test)]
mod tests;
