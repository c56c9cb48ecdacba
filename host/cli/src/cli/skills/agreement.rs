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
    pub(super) skills: &'a [&'a Offered],
}

/// Returns the hash of skills: of the names and files of all of them, in whatever form and order they were given.
pub(super) fn hash_of<'a>(skills: impl IntoIterator<Item = &'a Offered>) -> Fingerprint {
    let lines = skills.into_iter().map(|skill| format!("{} {}\n", skill.files.fingerprint(), skill.name));
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    Fingerprint::of(lines.concat().as_bytes())
}

/// Agreement given in advance on the command line: to skills with one hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreed(bool);

impl Agreed {
    /// Compares the hash that the user agreed to, if any, with that of the skills. A wrong one is an error, also if
    /// nothing is to be done. `done` is the action in the past.
    pub(super) fn check(
        environment: &Environment,
        (action, done): (&str, &str),
        skills: &[&Offered],
        yes: Option<&str>,
    ) -> Result<Self> {
        let hash = hash_of(skills.iter().copied());
        let Some(given) = yes.filter(|given| *given != hash.as_str()) else { return Ok(Self(yes.is_some())) };
        refused(environment, action, skills, "--yes names the hash of other skills");
        bail!("--yes {given} is not the hash of this, which is {hash}; nothing was {done}")
    }
}

/// Records a refused action on skills.
pub(super) fn refused(environment: &Environment, action: &str, skills: &[&Offered], why: &str) {
    let uses = Uses::default();
    for skill in skills {
        uses.denied(SKILLS, shown(skill), why, APPROVAL);
    }
    // The action is refused in any case. The recorder has already reported a failure to record.
    _ = Recorder::new(environment).record(action, None, &uses, Outcome::Refused(NOT_APPROVED));
}

impl Action<'_> {
    /// Asks the user, unless they agreed in advance. Returns `true` if the user agreed. Records the answer before the
    /// action takes effect.
    pub(super) fn is_agreed(&self, environment: &Environment, agreed: Agreed) -> Result<bool> {
        let Self { question, done, .. } = self;
        match agreed {
            Agreed(true) => {}
            _ if !terminal::can_ask() => {
                self.refused(environment, "there was no terminal to ask at");
                let said = format!(
                    "Nothing was {done}: there is no terminal to ask at. Give --yes the hash that its reviewer gave you."
                );
                terminal::print(&Shown::line(&said));
                return Ok(false);
            }
            _ => {
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
        refused(environment, self.name, self.skills, why);
    }
}

/// Formats a skill and its hash for the audit.
fn shown(skill: &Offered) -> String {
    format!("{}@sha256:{}", skill.name, hash_of([skill]))
}
