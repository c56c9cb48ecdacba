//! `[audit]`: what is recorded of calls.

use scorpiox_rules::{Export, Source, Sourced};

/// What is recorded of calls, and how much of it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPolicy {
    /// Whether there is a line for each call.
    pub enabled: Sourced<bool>,
    /// Whether lines have the arguments' values.
    pub arguments: Sourced<bool>,
    /// Whether a call is refused when its line cannot be written.
    pub required: Sourced<bool>,
    /// The size, in bytes, at which a file is full.
    pub max_file_size: Sourced<u64>,
    /// Files that are kept.
    pub max_files: Sourced<usize>,
    /// Where else each line goes.
    pub export: Vec<Sourced<Export>>,
    /// Where that list stands.
    pub export_origin: Source,
    /// A file with the authorities that log servers are to be known by, in place of the system's.
    pub export_ca: Option<Sourced<String>>,
}

impl AuditPolicy {
    pub(crate) fn builtin() -> Self {
        Self {
            enabled: Sourced::builtin(true),
            arguments: Sourced::builtin(false),
            required: Sourced::builtin(false),
            max_file_size: Sourced::builtin(16 << 20),
            max_files: Sourced::builtin(8),
            export: Vec::new(),
            export_origin: Source::Builtin,
            export_ca: None,
        }
    }
}
