//! `[audit]`: recording of tool calls.

use crate::rule::{Export, Source, Sourced};

/// Content, retention and export of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPolicy {
    /// `true` if every call is recorded.
    pub enabled: Sourced<bool>,
    /// `true` if records contain the values of arguments.
    pub arguments: Sourced<bool>,
    /// `true` if a call is refused when its record cannot be written.
    pub required: Sourced<bool>,
    /// Size at which a log file is rotated, in bytes.
    pub max_file_size: Sourced<u64>,
    /// Maximum number of retained log files.
    pub max_files: Sourced<usize>,
    /// Additional destinations of each record.
    pub export: Vec<Sourced<Export>>,
    /// Source of the `export` list.
    pub export_origin: Source,
    /// File with the certificate authorities for log servers; `None` uses the system's.
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
