//! Options that select records and files.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use scorpiox_audit::read::Line;
use scorpiox_audit::{APPROVAL, BUILT_IN, ComponentId, Copies, Filter, Glob, time};

#[derive(Args)]
pub(super) struct Chosen {
    /// Only calls of this tool; * stands for anything
    #[arg(long, value_name = "NAME")]
    pub(super) tool: Option<String>,
    /// Only calls that this line of a policy decided about: policy.toml:12, or "policy.toml line 12"; also
    /// built-in, approval
    #[arg(long, value_name = "FILE:LINE", value_parser = rule_named)]
    line: Option<String>,
    /// Only calls decided by a policy line with these words, even if its number has changed; * stands for
    /// anything
    #[arg(long, value_name = "WORDS")]
    rule: Option<String>,
    /// Only calls of this component, and decisions about it: the hash that `plugin hash` prints, or its
    /// beginning
    #[arg(long, value_name = "HASH")]
    component: Option<ComponentId>,
    /// Only calls of this user, by name or number; * stands for anything
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only calls of this client; * stands for anything
    #[arg(long, value_name = "NAME")]
    pub(super) client: Option<String>,
    /// Only calls of this principal, over HTTP; * stands for anything
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// Only calls since this time (UTC): 90s, 30m, 2h, 7d, 2026-11-22, 2026-11-22T09:30
    #[arg(long, value_name = "TIME", value_parser = time::since)]
    since: Option<u64>,
    /// Only calls that ended with an error, were refused or were stopped
    #[arg(long)]
    failed: bool,
    /// Only calls that were denied something
    #[arg(long)]
    denied: bool,
    /// Only commands whose output says that the name of a file was refused
    #[arg(long)]
    hidden: bool,
    /// Read this file instead of your own audit: another user's, or a copy. Can be repeated
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
}

impl Chosen {
    /// Returns the filter for records. `workspace` restricts it to a workspace.
    pub(super) fn filter(&self, workspace: Option<String>) -> Filter {
        let glob = |text: &Option<String>| text.as_deref().map(Glob::new);
        Filter {
            tool: glob(&self.tool),
            client: glob(&self.client),
            principal: glob(&self.principal),
            user: glob(&self.user),
            rule: self.line.clone(),
            rule_text: glob(&self.rule),
            component: self.component.clone(),
            since: self.since,
            failed: self.failed,
            denied: self.denied,
            hidden: self.hidden,
            workspace,
        }
    }

    /// Returns `true` if the user named files.
    pub(super) fn is_of_files(&self) -> bool {
        !self.file.is_empty()
    }

    /// Reads the lines of the named files, without duplicates.
    pub(super) fn read_files(&self, take: impl FnMut(Line)) -> Result<()> {
        self.read_files_and(&[], take)
    }

    /// Like [`read_files`](Self::read_files), with additional files.
    pub(super) fn read_files_and(&self, others: &[PathBuf], mut take: impl FnMut(Line)) -> Result<()> {
        let mut copies = Copies::default();
        self.file.iter().chain(others).try_for_each(|file| {
            copies.read(file, &mut take).with_context(|| {
                let hint = if file.is_dir() { "; name the files in it, such as audit*.jsonl" } else { "" };
                format!("{} cannot be read{hint}", file.display())
            })
        })
    }
}

/// Converts a rule to the form used in records. The error describes the syntax.
fn rule_named(text: &str) -> Result<String, String> {
    if matches!(text, BUILT_IN | APPROVAL) {
        return Ok(text.to_owned());
    }
    // Accepts the form of messages and records, and a shorter form with a colon.
    let parts =
        text.rsplit_once(" line ").or_else(|| text.rsplit_once(':')).filter(|(file, _)| !file.is_empty());
    let line = parts.and_then(|(file, line)| Some((file, line.parse::<usize>().ok()?)));
    line.map(|(file, line)| format!("{file} line {line}"))
        .ok_or_else(|| "write a file and a line, such as policy.toml:12".to_owned())
}
