//! The user's agreement to skills, which is bound to a hash of their files and recorded.

use anyhow::{Result, bail};
use scorpiox_audit::{APPROVAL, Outcome, Uses};
use scorpiox_metering::records::NOT_APPROVED;
use scorpiox_plugin::Fingerprint;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, wrapped};

use super::offered::Offered;
use crate::cli::environment::Environment;
use crate::cli::recorder::Recorder;

/// Name of the capability in records.
const SKILLS: &str = "skills";

/// An action on skills that the user must agree to.
pub(super) struct Action<'a> {
    /// Name of the action in the audit: `skills add`.
    pub(super) name: &'a str,
    pub(super) question: &'a str,
    /// The action in the past: `added`.
    pub(super) done: &'a str,
    /// Skills with their hash, which covers the names and files of all of them.
    pub(super) skills: &'a [&'a Offered],
    pub(super) hash: &'a Fingerprint,
}

/// Returns the hash of skills: of their names and files, in whatever form and order they were given.
pub(super) fn hash_of<'a>(skills: impl IntoIterator<Item = &'a Offered>) -> Fingerprint {
    let lines = skills.into_iter().map(|skill| format!("{} {}\n", skill.files.fingerprint(), skill.name));
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    Fingerprint::of(lines.concat().as_bytes())
}

impl Action<'_> {
    /// Asks the user, unless `yes` is the hash of these skills. Returns `true` if the user agreed. Records the
    /// answer before the action takes effect; a wrong hash is an error.
    pub(super) fn is_agreed(&self, environment: &Environment, yes: Option<&str>) -> Result<bool> {
        let Self { question, done, hash, .. } = self;
        match yes {
            Some(given) if given == hash.as_str() => {}
            Some(given) => {
                self.refused(environment, "--yes names the hash of other skills");
                bail!("--yes {given} is not the hash of this, which is {hash}; nothing was {done}")
            }
            None if !terminal::can_ask() => {
                self.refused(environment, "there was no terminal to ask at");
                let said = format!(
                    "Nothing was {done}: there is no terminal to ask at. Give --yes the hash that its reviewer gave you."
                );
                terminal::print(&Shown::line(&said));
                return Ok(false);
            }
            None => {
                let question = wrapped(&format!("{question} [y/N] "), columns()).join("\n");
                if !terminal::ask(&format!("\n{} ", question.trim_end()))? {
                    self.refused(environment, "the person said no");
                    terminal::print(&Shown::line(&format!("Nothing was {done}.")));
                    return Ok(false);
                }
            }
        }
        let uses = Uses::default();
        for skill in self.skills {
            uses.allowed(SKILLS, shown(skill), APPROVAL);
        }
        Recorder::new(environment).record(self.name, None, &uses, Outcome::Ok)?;
        Ok(true)
    }

    fn refused(&self, environment: &Environment, why: &str) {
        let uses = Uses::default();
        for skill in self.skills {
            uses.denied(SKILLS, shown(skill), why, APPROVAL);
        }
        // The action is refused in any case. The recorder has already reported a failure to record.
        _ = Recorder::new(environment).record(self.name, None, &uses, Outcome::Refused(NOT_APPROVED));
    }
}

/// Formats a skill and its hash for the audit.
fn shown(skill: &Offered) -> String {
    format!("{}@sha256:{}", skill.name, hash_of([skill]))
}
