//! What became of an engine that was asked.

use serde::{Deserialize, Serialize};

use crate::engine::{Engine, Hit};

/// Why an engine is suspended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    #[default]
    Failures,
    Refused,
    Captcha,
}

/// What became of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// At least one.
    Hits(Vec<Hit>),
    /// It says that it found nothing.
    Empty,
    /// It wants to know whether a person asks.
    Captcha,
    /// It does not want to answer: this status.
    Refused(u16),
    TimedOut,
    /// Why, as a part of a sentence.
    Failed(String),
    /// The operator's policy does not let it be asked.
    Denied(String),
    /// Not asked until then, milliseconds since 1970.
    Suspended {
        until: u64,
        cause: Cause,
    },
}

/// An engine and what became of it.
#[derive(Debug)]
pub(crate) struct Report {
    pub engine: &'static Engine,
    pub outcome: Outcome,
    pub duration_ms: u64,
}
