//! Outcome of querying an engine.

use serde::{Deserialize, Serialize};

use crate::engine::{Engine, Hit};

/// Reason for a suspension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    #[default]
    Failures,
    Refused,
    Captcha,
}

/// Outcome of querying an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// At least one result.
    Hits(Vec<Hit>),
    /// The engine reports that it found nothing.
    Empty,
    /// The engine requires a captcha or a similar check.
    Captcha,
    /// The engine refused with this status.
    Refused(u16),
    TimedOut,
    /// The engine failed for this reason, which is part of a sentence.
    Failed(String),
    /// The operator's policy denies the request.
    Denied(String),
    /// Not queried until this time, in milliseconds since 1970.
    Suspended {
        until: u64,
        cause: Cause,
    },
}

/// An engine and its outcome.
#[derive(Debug)]
pub(crate) struct Report {
    pub engine: &'static Engine,
    pub outcome: Outcome,
    pub duration_ms: u64,
}
