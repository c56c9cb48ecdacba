//! Telling a running call to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why a call must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The client cancelled the request.
    Client,
    /// The server ends.
    Shutdown,
}

/// A flag that one call checks and anybody may set; it stays set.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicU8>);

impl Cancel {
    /// Asks the call to stop. The first reason stays.
    pub fn set(&self, reason: Reason) {
        let _ = self.0.compare_exchange(0, reason as u8 + 1, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Why to stop, if so.
    pub fn reason(&self) -> Option<Reason> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Reason::Client),
            _ => Some(Reason::Shutdown),
        }
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        self.reason().is_some()
    }
}
