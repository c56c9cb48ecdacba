//! A sentence about paths that commands do not see.

use std::path::{Path, PathBuf};

use scorpiox_command_output::{Said, Subject};
use scorpiox_fs::normalized;
use scorpiox_sandbox::Tier;

use crate::Started;

/// Folders of the system, which are in a sandbox as well, or differ from it for everybody.
const OF_SYSTEM: [&str; 17] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc", "/run", "/sbin",
    "/sys", "/tmp", "/usr", "/var", "/snap",
];
/// Characters around paths in messages.
const AROUND: [char; 11] = [':', '\'', '"', '`', '‘', '’', ',', '(', ')', ' ', '='];

/// Path that a program did not find.
#[derive(Debug, PartialEq, Eq)]
struct Outside {
    /// Path on the machine.
    path: PathBuf,
    /// Spelling for the person, if the command itself has that path.
    shown: Option<String>,
}

/// Roots of what a command sees.
struct View<'a> {
    workspace: &'a Path,
    /// Home folder of commands.
    home: &'a Path,
    sees: &'a dyn Fn(&Path) -> bool,
}

impl Started {
    /// Says what commands see, if a program did not find a path elsewhere. The sentence is the same whether the path exists
    /// or not.
    pub(super) fn about_outside(&self, said: &Said) -> Option<String> {
        if self.tier == Tier::None {
            return None;
        }
        let plan = &self.cell.plan;
        let system = self.operator.places().map(|places| places.system).unwrap_or_default();
        let sees = |path: &Path| {
            let open = plan.areas.iter().map(|area| &area.path).chain(&plan.toolchains).chain(&system);
            // Folders above those are there, too.
            open.chain([&plan.outputs]).any(|open| path.starts_with(open) || open.starts_with(path))
        };
        let (workspace, home) = (plan.spec.workspace.as_path(), plan.spec.home.as_path());
        let view = View { workspace, home, sees: &sees };
        let outside =
            said.lines(Subject::Missing).find_map(|line| view.outside(line, &self.facts.command))?;
        let shown = outside.shown.as_deref().and_then(scorpiox_text::argument);
        Some(format!(
            "outside: commands see the workspace, a home folder and a /tmp of their own, folders of the system and those of \
             `read` and `write`. Everything else looks as if it did not exist; the person can open it: `scorpiox-code \
             policy allow read {}{}`",
            shown.as_deref().unwrap_or("FOLDER"),
            self.under()
        ))
    }
}

impl View<'_> {
    /// Returns the path in a message that lies outside of what commands see.
    fn outside(&self, line: &str, command: &str) -> Option<Outside> {
        line.split(AROUND).find_map(|piece| self.judge(piece.trim_end_matches('.'), command))
    }

    fn judge(&self, piece: &str, command: &str) -> Option<Outside> {
        // A relative path counts from a folder that only the program knows.
        let is_above = piece.starts_with("../") && !command.contains("cd ") && command.contains(piece);
        if !(piece.len() > 1 && piece.starts_with('/') || is_above) {
            return None;
        }
        let path = normalized(&self.workspace.join(piece));
        if let Ok(inside) = path.strip_prefix(self.home) {
            let inside = inside.to_str()?;
            let spellings = [format!("~/{inside}"), format!("$HOME/{inside}"), path.display().to_string()];
            let is_told = !inside.is_empty() && spellings.iter().any(|spelling| command.contains(spelling));
            // Programs look for settings that need not exist.
            return is_told.then(|| Outside { shown: Some(format!("~/{inside}")), path: path.clone() });
        }
        let is_of_system = OF_SYSTEM.iter().any(|system| path.starts_with(system));
        if path.parent().is_none() || is_of_system || (self.sees)(&path) {
            return None;
        }
        let shown = command.contains(piece).then(|| path.display().to_string());
        Some(Outside { path, shown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(line: &str, command: &str) -> Option<(String, Option<String>)> {
        let sees = |path: &Path| {
            ["/srv/w", "/opt/sdk"].iter().any(|open| path.starts_with(open)) || path == Path::new("/srv")
        };
        let view = View { workspace: Path::new("/srv/w"), home: Path::new("/home/user"), sees: &sees };
        view.outside(line, command).map(|outside| (outside.path.display().to_string(), outside.shown))
    }

    #[test]
    fn a_path_that_commands_do_not_see_is_found() {
        for (line, command, path, shown) in [
            (
                "cat: /srv/lib/l.txt: No such file or directory",
                "cat /srv/lib/l.txt",
                "/srv/lib/l.txt",
                Some("/srv/lib/l.txt"),
            ),
            (
                "cat: ../lib/l.txt: No such file or directory",
                "cat ../lib/l.txt",
                "/srv/lib/l.txt",
                Some("/srv/lib/l.txt"),
            ),
            ("ls: cannot access '/data/x': No such file or directory", "make", "/data/x", None),
            ("fatal: '/srv/lib' does not appear to be a git repository", "git pull", "/srv/lib", None),
            (
                "cat: /home/user/.npmrc: No such file or directory",
                "cat ~/.npmrc",
                "/home/user/.npmrc",
                Some("~/.npmrc"),
            ),
        ] {
            let found = outside(line, command).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(found, (path.to_owned(), shown.map(str::to_owned)), "{line}");
        }
    }

    #[test]
    fn a_path_that_is_missing_otherwise_is_not() {
        for (line, command) in [
            ("cat: /srv/w/none: No such file or directory", "cat /srv/w/none"),
            ("cat: none: No such file or directory", "cat none"),
            ("cat: /usr/x: No such file or directory", "cat /usr/x"),
            ("cat: /tmp/x: No such file or directory", "cat /tmp/x"),
            ("/opt/sdk/x: No such file or directory", "/opt/sdk/x"),
            ("cat: ../x: No such file or directory", "cd a && cat ../x"),
            ("cat: ../x: No such file or directory", "make"),
            ("npm: /home/user/.npmrc: No such file or directory", "npm i"),
            ("bash: line 1: /srv: No such file or directory", "/srv"),
            ("ls: /: No such file or directory", "ls /"),
        ] {
            assert_eq!(outside(line, command), None, "{line}");
        }
    }
}
