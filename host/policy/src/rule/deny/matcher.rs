//! Compiled globs, with the names that they leave out.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Begin of a list of what the rest of a name is not.
const EXCEPT: &str = "!(";
/// Characters with a meaning in a glob.
const WILDCARDS: [char; 5] = ['*', '?', '[', '{', '\\'];

/// A compiled glob.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    glob: GlobSet,
    /// Globs for paths that the glob leaves out.
    except: Option<GlobSet>,
}

impl Matcher {
    /// Compiles a pattern. `.env!(.a|.b*)` at its end matches each name that `.env*` matches, except those that `.env.a`
    /// and `.env.b*` match.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let Some((before, list)) = pattern.split_once(EXCEPT) else {
            return Ok(Self { glob: compile([pattern])?, except: None });
        };
        let Some(list) = list.strip_suffix(')') else {
            return Err("`!(` needs a `)` at the end".to_owned());
        };
        let name = before.rsplit('/').next().unwrap_or_default();
        if has_wildcard(name) || name.is_empty() {
            return Err("`!(` needs the beginning of a name before it, without wildcards".to_owned());
        }
        let is_plain = |rest: &str| !rest.is_empty() && !rest.contains(['/', '(', ')', '[', '{', '\\', '!']);
        let is_narrow = |rest: &str| is_plain(rest) && rest.contains(|c| c != '*' && c != '?');
        if !list.split('|').all(is_narrow) {
            return Err("`!(` needs the ends of names, such as `!(.example|*.sample)`".to_owned());
        }
        let except: Vec<_> = list.split('|').map(|rest| format!("{before}{rest}")).collect();
        Ok(Self {
            glob: compile([&*format!("{before}*")])?,
            except: Some(compile(except.iter().map(String::as_str))?),
        })
    }

    pub(super) fn is_match(&self, path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        self.glob.is_match(path) && !self.except.as_ref().is_some_and(|except| except.is_match(path))
    }
}

/// Returns `true` if a name of a glob stands for more than itself.
pub(super) fn has_wildcard(name: &str) -> bool {
    name.contains(WILDCARDS) || name.contains(EXCEPT)
}

fn compile<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<GlobSet, String> {
    // Uses a set even for one glob, because a single matcher panics in cases where a set returns an error.
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(true).build();
        set.add(glob.map_err(|e| e.kind().to_string())?);
    }
    set.build().map_err(|e| e.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_left_out_at_the_end_of_a_glob_only() {
        let env = Matcher::new("**/.env!(*.example|.dist)").unwrap();
        for name in
            [".env", "a/.env", ".ENV.local", ".env.dist2", ".env.x.dist", ".envrc", ".env.example.local"]
        {
            assert!(env.is_match(name), "{name}");
        }
        for name in
            [".env.example", "a/b/.Env.Example", ".env.local.example", ".env.dist", "env", ".env.example/x"]
        {
            assert!(!env.is_match(name), "{name}");
        }
        for (pattern, why) in [
            (".env!(", "needs a `)`"),
            (".env!(a)b", "needs a `)`"),
            (".env!(a", "needs a `)`"),
            (".env!(a)/b", "needs a `)`"),
            ("!(a)", "the beginning of a name"),
            ("x/!(a)", "the beginning of a name"),
            ("*.env!(a)", "the beginning of a name"),
            (".env!()", "the ends of names"),
            (".env!(a|)", "the ends of names"),
            (".env!(*)", "the ends of names"),
            (".env!(a/b)", "the ends of names"),
            (".env!(a|!(b))", "the ends of names"),
            (".env!({a,b})", "the ends of names"),
        ] {
            let error = Matcher::new(pattern).unwrap_err();
            assert!(error.contains(why), "{pattern}: {error}");
        }
    }
}
