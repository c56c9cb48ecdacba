//! Decides if a profile allows access to a path, and names the deciding line.

use std::path::{Component, Path, PathBuf};

use crate::document::quote;
use crate::rule::{DenySet, File, PathRule, Place, Places, Source, slashed};

use crate::profile::{Access, Profile};

/// Key of the list of writable places, which are also readable.
const WRITE: &str = "write";

/// A decision and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// `true` if the access is allowed.
    pub allowed: bool,
    /// Deciding rule, with its source.
    pub because: String,
    /// Change to the policy that would allow the access; `None` if it is allowed or no change would.
    pub would_allow: Option<String>,
    /// File to make that change in.
    pub file: File,
}

impl Verdict {
    /// Returns a verdict that allows the access, because of this rule.
    pub fn allowed(because: String) -> Self {
        Self { allowed: true, because, would_allow: None, file: File::default() }
    }

    /// Returns a verdict that denies the access, because of this rule.
    pub fn denied(because: String) -> Self {
        Self { allowed: false, because, would_allow: None, file: File::default() }
    }

    /// Adds the change that would allow the access, and the file to make it in.
    #[must_use]
    pub fn unless(self, would_allow: Option<String>, file: File) -> Self {
        Self { would_allow, file, ..self }
    }
}

impl Profile {
    /// Decides if `path`, as a command sees it, may be read or written. A relative path is resolved against
    /// the workspace. Symbolic links are not followed, so the caller resolves them first. `deny` takes
    /// precedence, then protected names, then the most specific rule.
    pub fn why_path(&self, path: &Path, access: Access, places: &Places) -> Verdict {
        self.why(path, access, places, true)
    }

    /// Works like [`why_path`](Self::why_path), but for the file at `path` on this machine. Commands have a
    /// private folder for temporary files, which contains none of the machine's files.
    pub fn why_existing(&self, path: &Path, access: Access, places: &Places) -> Verdict {
        self.why(path, access, places, false)
    }

    fn why(&self, path: &Path, access: Access, places: &Places, own_tmp: bool) -> Verdict {
        if let Some(outer) = &self.outer {
            let verdict = outer.why(path, access, places, own_tmp);
            if !verdict.allowed {
                return verdict;
            }
        }
        let path: PathBuf = places.workspace.join(path).components().collect();
        let shown = printable(&path);
        if path.components().any(|part| part == Component::ParentDir) {
            return Verdict::denied(format!("{shown} has `..` in it; ask about the path it leads to"));
        }
        if let Some(rule) = self.denied(places).matches(&path) {
            let because = format!("`deny` has \"{}\" ({}), which covers {shown}", rule.glob(), rule.source);
            return self.unless(because, self.without_deny(&path, access, places));
        }
        if access == Access::Write && self.protects(&path, places) {
            let because =
                format!("{shown} is protected (built-in): programs outside the sandbox run what it names");
            return Verdict::denied(because);
        }
        match self.innermost(&path, places) {
            Some((_, rule)) if rule.place == Place::Tmp => {
                let own = covers(WRITE, rule, &shown);
                self.in_tmp(&path, access, places, own_tmp.then_some(&own))
            }
            Some((key, rule)) if key == WRITE || access == Access::Read => {
                Verdict::allowed(covers(key, rule, &shown))
            }
            Some((key, rule)) if self.write.iter().any(|rule| depth(rule, &path, places).is_some()) => {
                let because = format!("{}, for reading alone", covers(key, rule, &shown));
                self.not_covered(because, &path, access, places)
            }
            _ => {
                let (keys, origin) = match access {
                    Access::Read => ("`read` or `write`", both(self.origins.read, self.origins.write)),
                    Access::Write => ("`write`", self.origins.write.to_string()),
                };
                let because = format!("no entry of {keys} ({origin}) covers {shown}");
                self.not_covered(because, &path, access, places)
            }
        }
    }

    /// Returns `true` if the lists of places make a path writable.
    pub(crate) fn writes_in(&self, path: &Path, places: &Places) -> bool {
        self.innermost(path, places).is_some_and(|(key, _)| key == WRITE)
    }

    /// Returns the deciding rule and its key: the rule with the innermost folder that contains the path.
    fn innermost(&self, path: &Path, places: &Places) -> Option<(&'static str, PathRule)> {
        // Every command has a private `/tmp`, with or without a rule for it.
        let tmp = PathRule { place: Place::Tmp, source: Source::Builtin };
        let write = self.write.iter().chain([&tmp]).map(|rule| (WRITE, rule));
        let read = self.read.iter().map(|rule| ("read", rule));
        let covering =
            write.chain(read).filter_map(|(key, rule)| Some((depth(rule, path, places)?, key, rule)));
        let mut opened = self.read.iter().chain(&self.write).filter(|rule| rule.place == Place::Workspace);
        let lent = opened.next().and_then(|rule| Some((innermost(&places.lent, path)?, "read", rule)));
        let covering = covering.chain(lent);
        // A folder of the machine that is mounted at its own path takes precedence over the private `/tmp`.
        let innermost =
            covering.max_by_key(|(depth, key, rule)| (*depth, rule.place != Place::Tmp, *key == WRITE));
        innermost.map(|(_, key, rule)| (key, rule.clone()))
    }

    /// Decides about a path below `/tmp`, where commands have a private folder. `own` is the rule for that
    /// folder if the query is about the command's own files. A home folder below `/tmp` always refers to the
    /// user's files.
    fn in_tmp(&self, path: &Path, access: Access, places: &Places, own: Option<&String>) -> Verdict {
        let mut homes =
            places.home.iter().filter(|home| home.starts_with(&places.tmp) && **home != places.tmp);
        let in_home = homes.find_map(|home| path.strip_prefix(home).ok());
        match (own, access, in_home) {
            (Some(own), _, None) => return Verdict::allowed(format!("{own} in the commands' own /tmp")),
            (None, Access::Write, None) => {
                let because =
                    "commands have a /tmp of their own, where they may write; it is not this machine's";
                return Verdict::allowed(because.to_owned());
            }
            _ => {}
        }
        let because = format!("commands have a /tmp of their own, and {} is not in it", printable(path));
        let add = |place: &str| match access {
            Access::Read => Place::parse(place).is_ok().then(|| self.with("read", &self.read, place)),
            Access::Write if self.is_read_only() => None,
            Access::Write => {
                Place::parse_writable(place).is_ok().then(|| self.with(WRITE, &self.write, place))
            }
        };
        let place = match in_home {
            Some(rest) => rest.to_str().map(|rest| format!("~/{}", slashed(rest))),
            None => path.to_str().map(|path| slashed(path).into_owned()),
        };
        self.unless(because, place.as_deref().and_then(add))
    }

    fn not_covered(&self, because: String, path: &Path, access: Access, places: &Places) -> Verdict {
        if access == Access::Read {
            let place = written(path, places).filter(|text| Place::parse(text).is_ok());
            return self.unless(because, place.map(|place| self.with("read", &self.read, &place)));
        }
        if self.is_read_only() && !is_in(path, &Place::Tmp, places) {
            return Verdict::denied(format!("{because}, and profile `readonly` only writes @tmp"));
        }
        let programs = [Place::System, Place::Toolchains];
        if programs.iter().any(|place| is_in(path, place, places)) {
            return Verdict::denied(format!("{because}, and programs that run next cannot be written"));
        }
        match written(path, places).map(|text| (Place::parse_writable(&text), text)) {
            Some((Err(refusal), _)) => Verdict::denied(format!("{because}, and {refusal}")),
            place => self.unless(because, place.map(|(_, place)| self.with(WRITE, &self.write, &place))),
        }
    }

    /// Denies the access, with the change to the profile's file that would allow it.
    fn unless(&self, because: String, would_allow: Option<String>) -> Verdict {
        Verdict::denied(because).unless(would_allow, self.origins.file)
    }

    /// Returns the line with one more entry.
    fn with(&self, key: &str, rules: &[PathRule], place: &str) -> String {
        let entries = rules.iter().map(|rule| rule.place.to_string()).chain([place.to_owned()]);
        self.line(key, entries, &format!("add {} to `{key}`", quote(place)))
    }

    /// Returns the `deny` line without the globs that match `path`, and any further change that is needed.
    fn without_deny(&self, path: &Path, access: Access, places: &Places) -> Option<String> {
        let within = self.deny_places();
        let (gone, rest): (Vec<_>, Vec<_>) = self.deny.iter().cloned().partition(|rule| {
            DenySet::at(std::slice::from_ref(rule), &within, places).matches(path).is_some()
        });
        let gone: Vec<_> = gone.iter().map(|rule| quote(rule.glob())).collect();
        let entries = rest.iter().map(|rule| rule.glob().to_owned());
        let line = self.line("deny", entries, &format!("remove {} from `deny`", gone.join(" and ")));
        let then = Profile { deny: rest.clone(), ..self.clone() }.why_path(path, access, places);
        if then.allowed { Some(line) } else { then.would_allow.map(|more| format!("{line}, and {more}")) }
    }

    /// Returns the complete line for a profile, because a line in the file replaces the list. A narrowed
    /// profile is in no file, so the text describes the change for the profiles it comes from.
    fn line(&self, key: &str, entries: impl Iterator<Item = String>, change: &str) -> String {
        if self.name.contains('+') {
            let parts: Vec<_> = self.name.split('+').map(|name| format!("[shell.profile.{name}]")).collect();
            return format!("{change} in {}, where it is not so", parts.join(" and "));
        }
        let list: Vec<_> = entries.map(|entry| quote(&entry)).collect();
        format!("{key} = [{}] in [shell.profile.{}]", list.join(", "), self.name)
    }
}

/// Formats a path for a message: in full, with control characters escaped for the terminal.
fn printable(path: &Path) -> String {
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        if c.is_control() {
            text.extend(c.escape_debug());
        } else {
            text.push(c);
        }
    }
    text
}

fn covers(key: &str, PathRule { place, source }: PathRule, shown: &str) -> String {
    format!("`{key}` has \"{place}\" ({source}), which covers {shown}")
}

fn both(a: Source, b: Source) -> String {
    if a == b { a.to_string() } else { format!("{a}, {b}") }
}

fn depth(rule: &PathRule, path: &Path, places: &Places) -> Option<usize> {
    innermost(&places.folders(&rule.place), path)
}

/// Returns the depth of the innermost folder that contains a path.
fn innermost(folders: &[PathBuf], path: &Path) -> Option<usize> {
    let around = folders.iter().filter(|folder| path.starts_with(folder));
    around.map(|folder| folder.components().count()).max()
}

fn is_in(path: &Path, place: &Place, places: &Places) -> bool {
    places.folders(place).iter().any(|folder| path.starts_with(folder))
}

/// Returns the rule for a path as written in the file; `None` if the path is not UTF-8.
fn written(path: &Path, places: &Places) -> Option<String> {
    let named = [Place::Workspace, Place::Tmp, Place::System, Place::Toolchains, Place::Skills];
    if let Some(place) = named.iter().find(|place| is_in(path, place, places)) {
        return Some(place.to_string());
    }
    let in_home = places.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    match in_home {
        Some(rest) => Some(format!("~/{}", slashed(rest.to_str()?))),
        None => path.to_str().map(|path| slashed(path).into_owned()),
    }
}

#[cfg(test)]
mod tests;
