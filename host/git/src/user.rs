//! The user that starts git: the home folder, and the environment variables for git.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::parse::Entry;
use crate::read;

/// File that lists the home folders of users. A user missing from it is unknown.
const PASSWD: &str = "/etc/passwd";
/// Maximum number of bytes read from that file. A longer one is rare, and users beyond the limit are unknown.
const MAX_PASSWD_BYTES: u64 = 4 << 20;
/// Prefixes under which git may be installed, in addition to those derived from `PATH`.
const PREFIXES: [&str; 2] = ["/usr", "/usr/local"];
/// Maximum number of pairs of `GIT_CONFIG_KEY_n` and `GIT_CONFIG_VALUE_n` to read; git requires all of them
/// to exist.
const MAX_PAIRS: usize = 10_000;
/// Variables that contain commands, which git or its children run.
const COMMANDS: [&str; 13] = [
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "LESSOPEN",
    "PAGER",
    "SSH_ASKPASS",
    "VISUAL",
];
/// Variables that name folders with programs, and configuration keys with the same effect.
const FOLDERS: [(&str, &str); 2] =
    [("GIT_EXEC_PATH", "core.hookspath"), ("GIT_TEMPLATE_DIR", "init.templatedir")];
/// Variables that name git directories.
const REPOSITORIES: [&str; 2] = ["GIT_DIR", "GIT_COMMON_DIR"];

/// A user, as git sees it.
#[derive(Debug, Clone, Default)]
pub struct User {
    home: Option<PathBuf>,
    /// Configurations that apply in every repository. A relative path is resolved against the folder in which
    /// git is started.
    pub(crate) configs: Vec<PathBuf>,
    /// The user's own configurations without the system's, in git's order.
    global: Vec<PathBuf>,
    /// Configuration from the environment, as entries of a file.
    pub(crate) given: Vec<Entry>,
    /// Git directories, absolute or relative to the folder in which git is started.
    pub(crate) repositories: Vec<PathBuf>,
    path: Option<OsString>,
}

impl User {
    /// Creates a user with this home folder and no environment.
    pub fn at_home(home: Option<&Path>) -> Self {
        Self { home: home.map(Path::to_owned), ..Self::default() }
    }

    /// Creates a user with this home folder and this process's environment, as the best approximation to the
    /// environment of the user's git.
    pub fn of_process(home: Option<&Path>) -> Self {
        Self::new(home, |name| std::env::var_os(name))
    }

    pub(crate) fn global(&self) -> &[PathBuf] {
        &self.global
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Creates a user with this home folder. `variable` looks up environment variables by name.
    pub fn new(home: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name: &str| variable(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let mut configs = vec![PathBuf::from("/etc/gitconfig")];
        configs.extend(PREFIXES.iter().map(|prefix| Path::new(prefix).join("etc/gitconfig")));
        let own = |home: &Path| {
            let folder = path("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
            [folder.join("git/config"), home.join(".gitconfig")]
        };
        let own: Vec<_> = home.into_iter().flat_map(own).collect();
        configs.extend(own.iter().cloned());
        configs.extend(["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(path));
        let mut user = Self {
            home: home.map(Path::to_owned),
            configs,
            global: path("GIT_CONFIG_GLOBAL").map_or(own, |only| vec![only]),
            given: Vec::new(),
            repositories: REPOSITORIES.into_iter().filter_map(path).collect(),
            path: variable("PATH"),
        };
        user.note_environment(&variable);
        user
    }

    fn note_environment(&mut self, variable: &impl Fn(&str) -> Option<OsString>) {
        let mut give = |name: &[u8], value: &OsStr| {
            self.given.push(Entry::new(name, Some(value.as_encoded_bytes())));
        };
        for name in COMMANDS {
            if let Some(value) = variable(name) {
                give(name.as_bytes(), &value);
            }
        }
        for (name, key) in FOLDERS {
            if let Some(value) = variable(name) {
                give(key.as_bytes(), &value);
            }
        }
        if let Some(tree) = variable("GIT_WORK_TREE") {
            give(b"core.worktree", &tree);
        }
        let count = variable("GIT_CONFIG_COUNT").and_then(|count| count.to_str()?.trim().parse().ok());
        for at in 0..count.unwrap_or(0).min(MAX_PAIRS) {
            let key = variable(&format!("GIT_CONFIG_KEY_{at}"));
            let Some((key, value)) = key.zip(variable(&format!("GIT_CONFIG_VALUE_{at}"))) else { break };
            give(key.as_encoded_bytes(), &value);
        }
        if let Some(text) = variable("GIT_CONFIG_PARAMETERS") {
            self.given.extend(parameters(text.as_encoded_bytes()));
        }
    }

    /// Returns the paths that git may resolve a value to; several if this depends on the git installation.
    /// Empty for an empty value. `Err` if the home folder of a user is unknown.
    pub(crate) fn expand(&self, value: &[u8]) -> Result<Vec<PathBuf>, UnknownUser> {
        let value = value.strip_prefix(b":(optional)").unwrap_or(value);
        let as_path = |bytes: &[u8]| read::path(bytes).filter(|path| !path.as_os_str().is_empty());
        if let Some(inside) = value.strip_prefix(b"%(prefix)/") {
            let Some(inside) = read::path(inside) else { return Ok(Vec::new()) };
            return Ok(self.prefixes().map(|prefix| prefix.join(&inside)).collect());
        }
        let Some(rest) = value.strip_prefix(b"~") else { return Ok(as_path(value).into_iter().collect()) };
        let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
        let (name, inside) = rest.split_at(end);
        let home = if name.is_empty() { self.home.clone() } else { home_of(name) };
        let home = home.ok_or(UnknownUser)?;
        let inside = read::path(inside.strip_prefix(b"/").unwrap_or(inside)).ok_or(UnknownUser)?;
        Ok(vec![if inside.as_os_str().is_empty() { home } else { home.join(inside) }])
    }

    fn prefixes(&self) -> impl Iterator<Item = PathBuf> {
        let path = self.path.clone().unwrap_or_default();
        let around: Vec<PathBuf> = std::env::split_paths(&path)
            .filter(|folder| folder.join("git").exists())
            .filter_map(|folder| folder.parent().map(Path::to_owned))
            .collect();
        PREFIXES.iter().map(PathBuf::from).chain(around)
    }
}

/// A value begins with `~name`, and this user is unknown.
#[derive(Debug)]
pub(crate) struct UnknownUser;

/// Returns the home folder of another user.
fn home_of(name: &[u8]) -> Option<PathBuf> {
    let text = read::text(Path::new(PASSWD), MAX_PASSWD_BYTES)?;
    let mut lines = text.bytes.split(|byte| *byte == b'\n');
    let line = lines.find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(b":")))?;
    line.split(|byte| *byte == b':').nth(5).filter(|home| !home.is_empty()).and_then(read::path)
}

/// Parses `GIT_CONFIG_PARAMETERS`: `'key=value'`, `'key'='value'` or `'key'`, separated by blanks. Any other
/// text becomes a single entry with the complete text as its value; git refuses to start with it.
fn parameters(text: &[u8]) -> Vec<Entry> {
    let (mut entries, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return entries;
        }
        let Some((first, after)) = unquoted(rest) else { break };
        let (name, value, after) = match after.strip_prefix(b"=") {
            Some(after) if after.starts_with(b"'") => {
                let Some((value, after)) = unquoted(after) else { break };
                (first, Some(value), after)
            }
            Some(after) => (first, None, after),
            None => {
                let equals = first.iter().position(|byte| *byte == b'=');
                let name = first[..equals.unwrap_or(first.len())].to_owned();
                (name, equals.map(|equals| first[equals + 1..].to_owned()), after)
            }
        };
        entries.push(Entry::new(name.trim_ascii(), value.as_deref()));
        rest = after;
    }
    entries.push(Entry::new(b"", Some(text)));
    entries
}

/// Parses a text in single quotes, in which `'\''` and `'\!'` are escapes for `'` and `!`. Returns it with
/// the rest of the input.
fn unquoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"'")?;
    let mut value = Vec::new();
    loop {
        let end = rest.iter().position(|byte| *byte == b'\'')?;
        value.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest {
            [b'\\', byte @ (b'\'' | b'!'), b'\'', after @ ..] => {
                value.push(*byte);
                rest = after;
            }
            _ => return Some((value, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(variables: &[(&str, &str)]) -> User {
        let find = |name: &str| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| value.into());
        User::new(Some(Path::new("/home/me")), find)
    }

    fn given(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        user(variables).given.iter().map(|entry| (text(&entry.name), text(entry.value()))).collect()
    }

    #[test]
    fn paths_are_those_that_git_takes_a_value_for() {
        let user = user(&[("PATH", "/none/bin")]);
        let paths = |value: &str| user.expand(value.as_bytes());
        assert_eq!(paths("~/a/b").unwrap(), [Path::new("/home/me/a/b")]);
        assert_eq!(paths("~").unwrap(), [Path::new("/home/me")]);
        assert_eq!(paths("a~/b").unwrap(), [Path::new("a~/b")]);
        assert_eq!(paths(":(optional)~/b").unwrap(), [Path::new("/home/me/b")]);
        assert_eq!(paths("%(prefix)/../x").unwrap(), ["/usr/../x", "/usr/local/../x"].map(Path::new));
        assert!(paths("").unwrap().is_empty());
        assert!(paths("~nobody-has-this-name/a").is_err());
        assert!(User::default().expand(b"~/a").is_err());
    }

    #[cfg(target_os = "linux")] // other systems do not list all users in the file
    #[test]
    fn other_users_are_known_by_their_names() {
        let root = user(&[]).expand(b"~root/a").unwrap();
        assert_eq!(root, [Path::new("/root/a")]);
    }

    #[test]
    fn what_the_environment_says_counts() {
        let variables = [
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_0", "./x"),
            ("GIT_CONFIG_KEY_1", "include.path"),
            ("GIT_CONFIG_VALUE_1", "/y"),
            ("GIT_CONFIG_PARAMETERS", r"'a.b=c='  'core.editor'='it'\''s' 'd.e'= 'f.g'"),
            ("GIT_SSH_COMMAND", "tools/ssh"),
            ("GIT_WORK_TREE", "/tree"),
        ];
        let given = given(&variables);
        for (name, value) in [
            ("core.fsmonitor", "./x"),
            ("include.path", "/y"),
            ("a.b", "c="),
            ("core.editor", "it's"),
            ("d.e", ""),
            ("f.g", ""),
            ("GIT_SSH_COMMAND", "tools/ssh"),
            ("core.worktree", "/tree"),
        ] {
            assert!(given.contains(&(name.to_owned(), value.to_owned())), "{name}: {given:?}");
        }
    }

    #[test]
    fn parameters_that_git_refuses_lose_nothing() {
        for text in ["a.b=tools/x", "'a.b=tools/x", "'a'='tools/x"] {
            let given = given(&[("GIT_CONFIG_PARAMETERS", text)]);
            assert!(given.iter().any(|(_, value)| value.contains("tools/x")), "{given:?}");
        }
    }

    #[test]
    fn configurations_are_where_the_environment_says() {
        let user =
            user(&[("XDG_CONFIG_HOME", "/xdg"), ("GIT_CONFIG_GLOBAL", "mine"), ("GIT_CONFIG_SYSTEM", "")]);
        for path in
            ["/xdg/git/config", "/home/me/.gitconfig", "mine", "/etc/gitconfig", "/usr/local/etc/gitconfig"]
        {
            assert!(user.configs.contains(&PathBuf::from(path)), "{path}");
        }
        assert!(!user.configs.contains(&PathBuf::new()));
    }
}
