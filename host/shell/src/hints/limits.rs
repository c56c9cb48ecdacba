//! Sentences about the limits of a profile that a command met.

use scorpiox_command_output::{Said, Subject};
use scorpiox_policy::document::show_size;
use scorpiox_policy::{Limits, Origins, Profile, Source};
use scorpiox_sandbox::{Ended, Outcome, RawPath};

/// Limits of a profile, with their sources.
#[derive(Debug)]
pub(super) struct Bounds {
    profile: String,
    limits: Limits,
    origins: Origins,
}

impl Bounds {
    pub(super) fn of(profile: &Profile) -> Self {
        Self { profile: profile.name.clone(), limits: profile.limits, origins: profile.origins }
    }

    /// Returns a sentence for each limit that ended the command, or that its output complains about.
    pub(super) fn sentences(&self, said: &Said, outcome: &Outcome) -> Vec<String> {
        let Self { limits, origins, .. } = self;
        let met = |ended, subject| outcome.ended == Some(ended) || said.speaks_of(subject);
        let memory = met(Ended::Memory, Subject::Memory).then(|| {
            let most = format!("a command has at most {} of memory", show_size(limits.memory));
            self.sentence(&most, "memory", origins.memory)
        });
        let processes = met(Ended::Processes, Subject::Processes).then(|| {
            let most = format!("a command has at most {} processes and threads", limits.processes);
            self.sentence(&most, "processes", origins.processes)
        });
        let full = said.speaks_of(Subject::Full).then(|| self.about_full(&outcome.full));
        [memory, processes, full.flatten()].into_iter().flatten().collect()
    }

    fn about_full(&self, full: &[RawPath]) -> Option<String> {
        let folders: Vec<_> = full.iter().map(|folder| folder.as_path().display().to_string()).collect();
        let (named, holds) = match folders.as_slice() {
            [] => return None,
            [folder] => (folder.clone(), "is full, and holds"),
            folders => (folders.join(", "), "are full, and hold"),
        };
        let most = format!(
            "{named} {holds} at most {}, until commands delete something",
            show_size(self.limits.tmp)
        );
        Some(self.sentence(&most, "tmp", self.origins.tmp))
    }

    fn sentence(&self, most: &str, key: &str, source: Source) -> String {
        format!("limit: {most} (`limits.{key}` of profile {}, {source})", self.profile)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use scorpiox_policy::Policy;
    use scorpiox_sandbox::{Names, Status};

    use super::*;

    fn sentences(output: &str, ended: Option<Ended>, full: &[&str]) -> Vec<String> {
        let policy = Policy::builtin();
        let mut said = Said::default();
        said.look(output.as_bytes());
        let outcome = Outcome {
            status: Status::Code(1),
            ended,
            leftover: 0,
            duration_ms: 1,
            processor_us: 0,
            names: Names::default(),
            full: full.iter().map(|path| Path::new(path).into()).collect(),
        };
        Bounds::of(&policy.shell.profiles["workspace"]).sentences(&said, &outcome)
    }

    #[test]
    fn a_limit_is_named_with_its_value_and_key() {
        assert_eq!(
            sentences("MemoryError\n", None, &[]),
            ["limit: a command has at most 4GiB of memory (`limits.memory` of profile workspace, built-in)"]
        );
        assert_eq!(
            sentences("", Some(Ended::Processes), &[]),
            [
                "limit: a command has at most 512 processes and threads (`limits.processes` of profile workspace, built-in)"
            ]
        );
        let full = sentences("No space left on device", None, &["/tmp"]);
        let said = "limit: /tmp is full, and holds at most 1GiB, until commands delete something (`limits.tmp` of profile \
                    workspace, built-in)";
        assert_eq!(full, [said]);
        // The disk of the workspace is full, or the program recovered.
        assert!(sentences("No space left on device", None, &[]).is_empty());
        assert!(sentences("done", Some(Ended::Timeout), &["/tmp"]).is_empty());
    }
}
