//! Why a file gives no picture, as sentences for the model.

use std::error::Error;
use std::fmt;
use std::io;

use scorpiox_tool_kit::Failure;

use crate::format::{Format, SUPPORTED};
use crate::limits::MAX_EDGE;

/// Why a file gives no picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// There is nothing in it.
    Empty,
    /// It is something else; says what.
    Other(String),
    /// It is cut off or wrong; says where.
    Damaged { format: Format, why: String },
    /// It is a variety that is not decoded; says which.
    Variety { format: Format, what: String },
    /// An edge is too long.
    Edges { format: Format, size: (u32, u32) },
    /// Decoding it would take too much memory.
    Memory { format: Format, size: (u32, u32), needed: u64, room: u64 },
    /// Decoding it would take too much, for what it is; says what of it.
    Work { format: Format, why: String },
}

impl Problem {
    /// A damaged file, from a reason in words.
    pub(crate) fn damaged(format: Format, why: impl Into<String>) -> Self {
        Self::Damaged { format, why: why.into() }
    }

    /// The same of the file of another format in which it was found.
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

    /// A damaged file, from a decoder's error. That the file ends too early is said the same
    /// way whichever decoder noticed it.
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
        // What follows is the decoder's own notation of a chunk.
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
