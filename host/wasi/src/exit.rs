//! `wasi:cli/exit` of WASI 0.2 and 0.3: a component exits with a code, or with a bare failure.
//!
//! wasmtime's implementation maps a bare failure to the code 1, so that the two could not be distinguished.

use wasmtime::component::{HasData, Linker};
use wasmtime_wasi::p2::bindings::cli::exit as in_0_2;
use wasmtime_wasi::p3::bindings::cli::exit as in_0_3;

use super::HasWasi;

/// Exit status of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exit {
    /// The component exited with a code.
    #[error("exit code {0}")]
    Code(u8),
    /// The component failed without a code: neither `exit` nor the return value of `run` contains one.
    #[error("an exit code other than 0")]
    Failed,
}

impl From<Result<(), ()>> for Exit {
    fn from(status: Result<(), ()>) -> Self {
        status.map_or(Self::Failed, |()| Self::Code(0))
    }
}

/// Host implementation, which needs no state.
struct Exiting;

impl HasData for Exiting {
    type Data<'a> = Self;
}

impl in_0_2::Host for Exiting {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        Err(Exit::from(status).into())
    }

    fn exit_with_code(&mut self, code: u8) -> wasmtime::Result<()> {
        Err(Exit::Code(code).into())
    }
}

impl in_0_3::Host for Exiting {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        Err(Exit::from(status).into())
    }

    fn exit_with_code(&mut self, code: u8) -> wasmtime::Result<()> {
        Err(Exit::Code(code).into())
    }
}

pub(super) fn link<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    in_0_2::add_to_linker::<T, Exiting>(linker, |_| Exiting)
}

/// Adds the interface of WASI 0.3 to a linker.
pub(super) fn link_newer<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    in_0_3::add_to_linker::<T, Exiting>(linker, |_| Exiting)
}
