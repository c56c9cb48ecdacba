//! WASI 0.2 and 0.3, `wasi:http`, `wasi:config`, `wasi:logging` and `wasi:keyvalue`, for components that others ship.
//!
//! All of it is linked, so that what ordinary compilers make can start; none of it reaches anything
//! that was not approved. Without a grant there are no folders, no variables, no hosts, a clock that
//! stands still and random numbers that are the same each time. Sockets are refused always: requests
//! go through [`requests`], which has the checks of every other request of this program. What is
//! printed goes to the operator's log, or is the result of a program that is run.
//!
//! Invariant: each function with a path in it is in [`files`] or, for WASI 0.3, in [`p3`]. Both have [`guarded`] decide
//! about the place that the path leads to, in a folder that is held open, before anything is done there.

mod config;
mod exit;
mod files;
mod folders;
mod guarded;
mod interfaces;
mod keyvalue;
mod logging;
mod p3;
mod place;
mod requests;
pub mod secrets;
mod sink;
mod source;
mod still;
mod way;

use std::sync::Arc;

use scorpiox_audit::APPROVAL;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::cli::WasiCliView as _;
use wasmtime_wasi::clocks::WasiClocksView as _;
use wasmtime_wasi::p2::bindings::{self as p2, cli, clocks, filesystem, random, sockets};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::sockets::WasiSocketsView as _;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::p2::bindings::http;
use wasmtime_wasi_http::{WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpView};
use wasmtime_wasi_io::IoView;

pub use exit::Exit;
pub use folders::Unwritable;
pub use interfaces::{Linked, is_newer, linked};
pub use sink::Printed;
pub use source::WasiSource;

use folders::Guard;
use guarded::{Guarded, GuardedFiles};
use requests::Requests;
use scorpiox_capabilities::store::StoreCtx;
use scorpiox_capabilities::view::View;
use sink::Sink;

/// Files, streams, requests and timers that a call may have at once.
const MAX_RESOURCES: usize = 1024;
/// Most random bytes at once.
const MAX_RANDOM_BYTES: u64 = 1024 * 1024;
/// Most of what is kept of standard error, and of standard output where that is no result.
const MAX_SAID_BYTES: usize = 64 * 1024;

/// Most of what an error repeats of it.
const MAX_SAID_CHARS: usize = 8000;

/// What a program is started with.
#[derive(Debug, Default)]
pub struct Program {
    /// Its arguments, without its name.
    pub args: Vec<String>,
    /// Its standard input.
    pub stdin: Vec<u8>,
    /// Most that it may print, in bytes, if that is its result.
    pub output_bytes: Option<usize>,
}

/// The WASI of one call.
pub struct WasiState {
    source: Arc<WasiSource>,
    ctx: WasiCtx,
    table: ResourceTable,
    http: WasiHttpCtx,
    requests: Requests,
    guard: Guard,
    /// Listings of folders that are open: each is held whole.
    listings: u32,
    /// Lines that were logged.
    lines: u32,
    /// What was printed.
    pub stdout: Sink,
    /// What was complained about.
    pub stderr: Sink,
}

impl WasiState {
    /// With what was approved, for one call.
    pub fn new(source: Arc<WasiSource>, program: Program) -> Self {
        let stdout = Sink::new(program.output_bytes.unwrap_or(MAX_SAID_BYTES));
        let stderr = Sink::new(MAX_SAID_BYTES);
        let mut builder = WasiCtx::builder();
        builder
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            // Only regular files and folders are opened, which answer soon.
            .allow_blocking_current_thread(true)
            .max_random_size(MAX_RANDOM_BYTES)
            .stdin(wasmtime_wasi::p2::pipe::MemoryInputPipe::new(program.stdin))
            .stdout(stdout.clone())
            .stderr(stderr.clone())
            .arg(source.name.as_str())
            .args(&program.args);
        note_grants(&source);
        if !source.approved.clock {
            builder.wall_clock(still::Clock).monotonic_clock(still::Clock);
        }
        if !source.approved.random {
            let (secure, insecure, seed) = still::random();
            builder.secure_random(secure).insecure_random(insecure).insecure_random_seed(seed);
        }
        for (name, value) in source.variables() {
            builder.env(name, value);
        }
        let guard = folders::open(&source, &mut builder);
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        Self {
            ctx: builder.build(),
            table,
            http: WasiHttpCtx::new(),
            requests: Requests::new(&source),
            guard,
            listings: 0,
            lines: 0,
            stdout,
            stderr,
            source,
        }
    }

    /// The same for a program, before it was started.
    pub fn start(&mut self, program: Program) {
        *self = Self::new(Arc::clone(&self.source), program);
    }

    /// The same for another call of an instance that is kept. What it opened is still open; all else begins anew.
    pub fn renew(&mut self, source: Arc<WasiSource>) {
        note_grants(&source);
        self.guard.renew(&source);
        self.requests = Requests::new(&source);
        self.lines = 0;
        self.stdout.clear();
        self.stderr.clear();
        self.source = source;
    }

    /// Between two calls of an instance that is kept: no request of the last one goes on.
    pub fn rest(&mut self) {
        let nothing = WasiSource::nothing(&self.source.name);
        self.renew(Arc::new(nothing));
    }

    /// The end of all that was printed, for an error.
    pub fn said(&self) -> String {
        let said = self
            .source
            .secrets
            .redacted([&self.stdout, &self.stderr].map(|sink| sink.printed().text()).join("\n"));
        let said = said.trim();
        let skipped = said.chars().count().saturating_sub(MAX_SAID_CHARS);
        said.chars().skip(skipped).collect()
    }

    /// Tells the operator what was printed.
    pub fn log(&self, tool: &str) {
        for sink in [&self.stdout, &self.stderr] {
            sink.log(tool, &self.source.secrets);
        }
    }
}

/// Notes what a call has without asking for it again.
fn note_grants(source: &WasiSource) {
    for (name, granted) in [("clock", source.approved.clock), ("random", source.approved.random)] {
        if granted {
            source.uses.once(name, APPROVAL);
        }
    }
    for (name, _) in source.variables() {
        source.uses.allowed("env", &name, APPROVAL);
    }
}

/// A store's data with WASI in it.
pub trait HasWasi: IoView + WasiView + WasiHttpView + Send + 'static {
    /// The WASI of the call.
    fn wasi(&mut self) -> &mut WasiState;

    /// What the component keeps, if that was approved.
    fn kept(&mut self) -> Option<View<'_, StoreCtx>>;
}

impl IoView for WasiState {
    fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }
}

impl WasiView for WasiState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.ctx, table: &mut self.table }
    }
}

impl WasiHttpView for WasiState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.requests, table: &mut self.table, ctx: &mut self.http }
    }
}

impl HasWasi for WasiState {
    fn wasi(&mut self) -> &mut WasiState {
        self
    }

    fn kept(&mut self) -> Option<View<'_, StoreCtx>> {
        None
    }
}

/// Whether this is the name of an interface of WASI.
pub fn is_wasi(import: &str) -> bool {
    import.starts_with("wasi:")
}

/// Links all of it. Calls have to be asynchronous then. With `newer` also WASI 0.3, for which the engine has to allow
/// concurrent calls.
pub fn link<T: HasWasi>(linker: &mut Linker<T>, newer: bool) -> wasmtime::Result<()> {
    let l = linker;
    wasmtime_wasi_io::add_to_linker_async(l)?;
    clocks::wall_clock::add_to_linker::<T, wasmtime_wasi::clocks::WasiClocks>(l, T::clocks)?;
    clocks::monotonic_clock::add_to_linker::<T, wasmtime_wasi::clocks::WasiClocks>(l, T::clocks)?;
    random::random::add_to_linker::<T, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    random::insecure::add_to_linker::<T, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<T, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    link_cli(l)?;
    filesystem::preopens::add_to_linker::<T, GuardedFiles>(l, guarded)?;
    filesystem::types::add_to_linker::<T, GuardedFiles>(l, guarded)?;
    link_sockets(l)?;
    http::outgoing_handler::add_to_linker::<T, WasiHttp>(l, T::http)?;
    http::types::add_to_linker::<T, WasiHttp>(l, &http::types::LinkOptions::default(), T::http)?;
    requests::link_bounded(l)?;
    config::link(l)?;
    logging::link(l)?;
    keyvalue::link(l)?;
    if newer { p3::link(l) } else { Ok(()) }
}

fn guarded<T: HasWasi>(state: &mut T) -> Guarded<'_> {
    let WasiState { ctx, table, guard, listings, .. } = state.wasi();
    Guarded::new(ctx.filesystem(), table, guard, listings)
}

fn link_cli<T: HasWasi>(l: &mut Linker<T>) -> wasmtime::Result<()> {
    type Cli = wasmtime_wasi::cli::WasiCli;
    exit::link(l)?;
    cli::environment::add_to_linker::<T, Cli>(l, T::cli)?;
    cli::stdin::add_to_linker::<T, Cli>(l, T::cli)?;
    cli::stdout::add_to_linker::<T, Cli>(l, T::cli)?;
    cli::stderr::add_to_linker::<T, Cli>(l, T::cli)?;
    cli::terminal_input::add_to_linker::<T, Cli>(l, T::cli)?;
    cli::terminal_output::add_to_linker::<T, Cli>(l, T::cli)?;
    cli::terminal_stdin::add_to_linker::<T, Cli>(l, T::cli)?;
    cli::terminal_stdout::add_to_linker::<T, Cli>(l, T::cli)?;
    cli::terminal_stderr::add_to_linker::<T, Cli>(l, T::cli)
}

/// They are there, and each function refuses: programs can be built against them without using them.
fn link_sockets<T: HasWasi>(l: &mut Linker<T>) -> wasmtime::Result<()> {
    type Sockets = wasmtime_wasi::sockets::WasiSockets;
    sockets::instance_network::add_to_linker::<T, Sockets>(l, T::sockets)?;
    sockets::network::add_to_linker::<T, Sockets>(
        l,
        &p2::sockets::network::LinkOptions::default(),
        T::sockets,
    )?;
    sockets::ip_name_lookup::add_to_linker::<T, Sockets>(l, T::sockets)?;
    sockets::tcp_create_socket::add_to_linker::<T, Sockets>(l, T::sockets)?;
    sockets::udp_create_socket::add_to_linker::<T, Sockets>(l, T::sockets)?;
    sockets::tcp::add_to_linker::<T, Sockets>(l, T::sockets)?;
    sockets::udp::add_to_linker::<T, Sockets>(l, T::sockets)
}
