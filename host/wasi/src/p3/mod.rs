//! WASI 0.3: the same state, checks and limits as for 0.2, with asynchronous interfaces.
//!
//! [`Guarded`](super::guarded::Guarded) checks paths as for 0.2, requests go through the same
//! [`requests`](super::requests), and printed output goes to the same sinks. Only the types differ.

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
use super::{HasWasi, WasiState, exit, guarded, unreached};

/// Links all interfaces. The engine must support concurrent calls.
pub(super) fn link<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    link_cli(linker)?;
    clocks::add_to_linker(linker)?;
    random::add_to_linker(linker)?;
    // As in 0.2, all functions of the socket interfaces fail.
    sockets::add_to_linker(linker)?;
    filesystem::preopens::add_to_linker::<T, GuardedFiles>(linker, guarded)?;
    filesystem::types::add_to_linker::<T, GuardedFiles>(linker, guarded)?;
    wasmtime_wasi_http::p3::add_to_linker(linker)?;
    http::link_bounded(linker)?;
    unreached::link_newer(linker)
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

/// Returns the files of a call without access checks, for open descriptors and checked paths.
fn decided<T: HasWasi>(state: &mut T) -> WasiFilesystemCtxView<'_> {
    let WasiState { ctx, table, .. } = state.wasi();
    WasiFilesystemCtxView { ctx: ctx.filesystem(), table }
}
