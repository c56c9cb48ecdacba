//! Sentences about programs that commands do not have, and about what they cannot do to the machine.

use std::env;
use std::path::{Path, PathBuf};

use scorpiox_command_output::{Said, Subject};
use scorpiox_sandbox::Tier;

use crate::Started;

/// Programs that give a command the rights of another user.
const OF_RIGHTS: [&str; 3] = ["sudo", "doas", "pkexec"];
/// Programs that name another one that they did not find by themselves.
const STARTERS: [&str; 3] = ["env: ", "/usr/bin/env: ", "make: "];
/// Characters around names in messages.
const AROUND: [char; 7] = [':', ' ', '\'', '"', '`', '‘', '’'];

impl Started {
    /// Names the folder of a program that commands do not see, and that the `PATH` of the server has.
    pub(super) fn about_programs(&self, said: &Said) -> Option<String> {
        if self.tier == Tier::None || !self.facts.is_local {
            return None;
        }
        let of_starters = said.lines(Subject::Missing).filter(|line| is_of_starter(line));
        let lines = said.lines(Subject::Program).chain(of_starters);
        let closed = self.closed_folders();
        let (name, folder) = lines.flat_map(names).find_map(|name| {
            closed.iter().find(|folder| folder.join(name).is_file()).map(|folder| (name, folder))
        })?;
        let folder = scorpiox_text::argument(folder.to_str()?)?;
        Some(format!(
            "not found: {name} is in {folder}, a folder of the server's PATH that commands do not see; the person can open it: \
             `scorpiox-code policy allow read {folder}{}`",
            self.under()
        ))
    }

    /// Returns the folders of the server's `PATH` that commands do not see.
    fn closed_folders(&self) -> Vec<PathBuf> {
        let plan = &self.cell.plan;
        let system = self.operator.places().map(|places| places.system).unwrap_or_default();
        let is_seen = |folder: &Path| {
            let open = plan.areas.iter().map(|area| &area.path).chain(&plan.toolchains).chain(&system);
            open.into_iter().any(|open| folder.starts_with(open))
        };
        let own = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&own).filter(|folder| folder.is_absolute());
        let resolved = folders.filter_map(|folder| dunce::canonicalize(folder).ok());
        resolved.filter(|folder| !is_seen(folder)).collect()
    }

    /// Says what no command does to the machine, if a program tried.
    pub(super) fn about_system(&self, said: &Said) -> Vec<String> {
        if self.tier == Tier::None {
            return Vec::new();
        }
        let mut sentences = Vec::new();
        let wants_rights = said.lines(Subject::Program).flat_map(names).any(|name| OF_RIGHTS.contains(&name));
        if wants_rights || said.speaks_of(Subject::Packages) {
            sentences.push(
                "system: commands do not change the system, and install no packages of it; the person can",
            );
        }
        if said.speaks_of(Subject::Containers) {
            sentences.push(
                "containers: commands do not reach the Docker or Podman of this machine, which could do anything to it; the \
                 person can run this",
            );
        }
        let is_refused = |line: &str| line.to_ascii_lowercase().contains("permission denied");
        if said.lines(Subject::Port).any(is_refused) {
            sentences.push("port: commands listen at ports from 1024 on, such as 8080");
        }
        sentences.into_iter().map(str::to_owned).collect()
    }

    /// Says how long settings in the home folder of commands last.
    pub(super) fn about_home(&self) -> Option<String> {
        let is_setting = is_global_setting(&self.facts.command);
        (self.tier != Tier::None && is_setting).then(|| {
            "home: the home folder of commands is theirs alone, and is empty again when the server ends; a global setting of \
             git that is to last, the person can make"
                .to_owned()
        })
    }
}

/// Returns `true` if a line is about a program that another one did not find.
fn is_of_starter(line: &str) -> bool {
    STARTERS.iter().any(|starter| line.starts_with(starter))
}

/// Returns `true` if a command writes a setting of git for all repositories.
fn is_global_setting(command: &str) -> bool {
    let reads = ["--get", "--list", " -l", "--unset"].iter().any(|option| command.contains(option));
    command.contains("git config ") && command.contains("--global ") && !reads
}

/// Returns what can be the name of a program in a message.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_name = |piece: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        !piece.is_empty()
            && !piece.starts_with(['.', '-'])
            && piece.len() <= 64
            && piece.chars().all(is_plain)
    };
    line.split(AROUND).filter(is_name).take(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_programs_are_among_the_words() {
        for line in [
            "bash: line 1: cargo: command not found",
            "sh: 1: cargo: not found",
            "/usr/bin/env: ‘cargo’: No such file or directory",
            "make: cargo: No such file or directory",
        ] {
            assert!(names(line).any(|name| name == "cargo"), "{line}");
        }
        assert!(names("bash: ./x/cargo: command not found").all(|name| name != "cargo"));
        assert!(is_of_starter("env: 'node': No such file or directory"));
        assert!(!is_of_starter("cat: node: No such file or directory"));
    }

    #[test]
    fn a_setting_for_all_repositories_is_told_from_others() {
        assert!(is_global_setting("git config --global user.name x"));
        for other in ["git config user.name x", "git config --global --list", "echo --global git"] {
            assert!(!is_global_setting(other), "{other}");
        }
    }
}
