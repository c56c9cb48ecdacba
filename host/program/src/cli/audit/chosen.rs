//! Which lines somebody wants to see, and of which files.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use scorpiox_audit::read::Line;
use scorpiox_audit::{Copies, Filter, Glob};

use super::{rule, since};

#[derive(Args)]
pub(super) struct Chosen {
    /// Only calls of this tool; * stands for anything
    #[arg(long, value_name = "NAME")]
    pub(super) tool: Option<String>,
    /// Only calls that this line of a policy decided about: policy.toml:12, or "policy.toml line 12"; also
    /// built-in, approval
    #[arg(long, value_name = "FILE:LINE", value_parser = rule)]
    line: Option<String>,
    /// Only calls of this user, by name or number; * stands for anything
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only calls of this client; * stands for anything
    #[arg(long, value_name = "NAME")]
    pub(super) client: Option<String>,
    /// Only calls since this time (UTC): 90s, 30m, 2h, 7d, 2026-11-22, 2026-11-22T09:30
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<u64>,
    /// Only calls that ended with an error, were refused or were stopped
    #[arg(long)]
    failed: bool,
    /// Only calls that were denied something
    #[arg(long)]
    denied: bool,
    /// Read this file instead of your own audit: another user's, or a copy. Can be repeated
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
}

impl Chosen {
    /// What lines have to have; those of one workspace, where somebody names it.
    pub(super) fn filter(&self, workspace: Option<String>) -> Filter {
        let glob = |text: &Option<String>| text.as_deref().map(Glob::new);
        Filter {
            tool: glob(&self.tool),
            client: glob(&self.client),
            user: glob(&self.user),
            rule: self.line.clone(),
            since: self.since,
            failed: self.failed,
            denied: self.denied,
            workspace,
        }
    }

    /// Whether files are named.
    pub(super) fn is_of_files(&self) -> bool {
        !self.file.is_empty()
    }

    /// Gives the lines of the files that are named, each once.
    pub(super) fn read_files(&self, mut take: impl FnMut(Line)) -> Result<()> {
        let mut copies = Copies::default();
        self.file.iter().try_for_each(|file| {
            copies.read(file, &mut take).with_context(|| {
                let hint = if file.is_dir() { "; name the files in it, such as audit*.jsonl" } else { "" };
                format!("{} cannot be read{hint}", file.display())
            })
        })
    }
}

/// What is said of what was left out.
pub(super) fn left_out(count: u64, is_of_files: bool) -> Option<String> {
    match (count, is_of_files) {
        (0, _) => None,
        (1, true) => Some("1 line that is none of an audit was left out".to_owned()),
        (count, true) => Some(format!("{count} lines that are none of an audit were left out")),
        (1, false) => Some("1 damaged line was left out".to_owned()),
        (count, false) => Some(format!("{count} damaged lines were left out")),
    }
}
