//! Reasons why a file yields no image, as sentences for the model.

use std::error::Error;
use std::fmt;
use std::io;

use scorpiox_tool_kit::Failure;

use crate::format::{Format, SUPPORTED};
use crate::limits::MAX_EDGE;

/// Reason why a file yields no image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The file is empty.
    Empty,
    /// The file has another type, which the text describes.
    Other(String),
    /// The file is truncated or damaged, for the reason in `why`.
    Damaged { format: Format, why: String },
    /// The variant in `what` is not supported.
    Variety { format: Format, what: String },
    /// An edge is too long.
    Edges { format: Format, size: (u32, u32) },
    /// Decoding would take too much memory.
    Memory { format: Format, size: (u32, u32), needed: u64, room: u64 },
    /// Decoding would take too much time or memory for the reason in `why`.
    Work { format: Format, why: String },
}

impl Problem {
    /// Creates a `Damaged` problem from a reason.
    pub(crate) fn damaged(format: Format, why: impl Into<String>) -> Self {
        Self::Damaged { format, why: why.into() }
    }

    /// Changes the format to that of the containing file.
    pub(crate) fn within(mut self, outer: Format) -> Self {
        match &mut self {
            Self::Damaged { format, .. }
            | Self::Variety { format, .. }
            | Self::Edges { format, .. }
            | Self::Memory { format, .. }
            | Self::Work { format, .. } => *format = outer,
            Self::Empty | Self::Other(_) => {}
        }
        self
    }

    /// Creates a `Damaged` problem from a decoder's error. Truncation has the same text for all decoders.
    pub(crate) fn from_decoder(format: Format, error: &(dyn Error + 'static)) -> Self {
        let mut cause = Some(error);
        while let Some(inner) = cause {
            let early = |io: &io::Error| io.kind() == io::ErrorKind::UnexpectedEof;
            if inner.downcast_ref::<io::Error>().is_some_and(early) {
                return Self::damaged(format, "the file ends too early");
            }
            cause = inner.source();
        }
        let text = error.to_string();
        // The rest is the decoder's own notation of a chunk.
        let why = text.split(" while decoding").next().unwrap_or(&text);
        Self::damaged(format, why.trim_end_matches('.'))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "The file is empty (0 bytes)."),
            Self::Other(what) => {
                write!(f, "The file is not an image that can be shown: it looks like {what}. {SUPPORTED}")
            }
            Self::Damaged { format, why } => write!(f, "The {format} file is damaged or incomplete: {why}."),
            Self::Variety { format, what } => {
                write!(f, "The {format} file cannot be decoded: {what}. Convert it to PNG first.")
            }
            Self::Edges { format, size: (width, height) } => write!(
                f,
                "The {format} image is {width} × {height} pixels; at most {MAX_EDGE} × {MAX_EDGE} are decoded. Make a smaller copy of it and read that."
            ),
            Self::Memory { format, size: (width, height), needed, room } => write!(
                f,
                "The {format} image is {width} × {height} pixels; decoding it takes {} MiB, and {} MiB are left for that. Make a smaller copy of it, or a PNG or baseline JPEG, which are decoded row by row.",
                needed.div_ceil(1 << 20),
                room >> 20
            ),
            Self::Work { format, why } => write!(
                f,
                "The {format} image takes too much time or memory to decode: {why}. Make a simpler copy of it and read that."
            ),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem.to_string())
    }
}
