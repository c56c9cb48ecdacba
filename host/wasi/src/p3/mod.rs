//! WASI 0.3: the same state, decisions and bounds as 0.2, behind interfaces that wait by themselves.
//!
//! What has a path in it is decided by [`Guarded`](super::guarded::Guarded) as for 0.2, requests go through the same
//! [`requests`](super::requests), and what is printed goes to the same sinks. Only the shapes differ.

mod files;
mod http;
mod reading;
mod shapes;

use wasmtime::component::Linker;
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::filesystem::WasiFilesystemCtxView;
use wasmtime_wasi::p3::bindings::{cli, filesystem};
use wasmtime_wasi::p3::{clocks, random, sockets};

use super::guarded::GuardedFiles;
use super::{HasWasi, WasiState, exit, guarded};

/// Links all of it. The engine has to allow concurrent calls.
pub(super) fn link<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    link_cli(linker)?;
    clocks::add_to_linker(linker)?;
    random::add_to_linker(linker)?;
    // They are there, and each function refuses, as in 0.2.
    sockets::add_to_linker(linker)?;
    filesystem::preopens::add_to_linker::<T, GuardedFiles>(linker, guarded)?;
    filesystem::types::add_to_linker::<T, GuardedFiles>(linker, guarded)?;
    wasmtime_wasi_http::p3::add_to_linker(linker)?;
    http::link_bounded(linker)
}

fn link_cli<T: HasWasi>(l: &mut Linker<T>) -> wasmtime::Result<()> {
    exit::link_newer(l)?;
    cli::environment::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::stdin::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::stdout::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::stderr::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::terminal_input::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::terminal_output::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::terminal_stdin::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::terminal_stdout::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::terminal_stderr::add_to_linker::<T, WasiCli>(l, T::cli)
}

/// The files of a call without decisions: for what is open, and for what was decided.
fn decided<T: HasWasi>(state: &mut T) -> WasiFilesystemCtxView<'_> {
    let WasiState { ctx, table, .. } = state.wasi();
    WasiFilesystemCtxView { ctx: ctx.filesystem(), table }
}
