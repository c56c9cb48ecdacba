//! WASI 0.2 and 0.3, `wasi:http`, `wasi:config`, `wasi:logging` and `wasi:keyvalue` for plugin components.
//!
//! All interfaces are linked, so that the output of ordinary compilers can start, but they give access only
//! to approved resources. Without grants, a component has no folders, no variables and no hosts. Its clock
//! stands still, and its random numbers are the same each time. Sockets are always refused: requests go
//! through [`requests`], which applies the checks of all requests of this program. Printed output goes to the
//! operator's log, or is the result of a program.
//!
//! Invariant: each function that takes a path is in [`files`] or, for WASI 0.3, in [`p3`]. Before any
//! operation, both check the path with [`guarded`], relative to a folder that is held open.

mod closed;
mod config;
mod current;
mod exit;
mod files;
mod folders;
mod guarded;
mod interfaces;
mod keyvalue;
mod language;
mod logging;
mod p3;
mod place;
mod requests;
pub mod secrets;
mod sink;
mod source;
mod still;
mod unreached;
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
use unreached::Unreached;

/// Maximum number of concurrent files, streams, requests and timers of a call.
const MAX_RESOURCES: usize = 1024;
/// Maximum number of random bytes in one call.
const MAX_RANDOM_BYTES: u64 = 1024 * 1024;
/// Maximum number of captured bytes of standard error, and of standard output unless it is the result.
const MAX_SAID_BYTES: usize = 64 * 1024;

/// Beginning of the record of a request that failed.
const REQUEST_FAILED: &str = "wasi:http had returned ";
/// Maximum number of characters of the output that an error shows.
const MAX_SAID_CHARS: usize = 8000;

/// Inputs of a program.
#[derive(Debug, Default)]
pub struct Program {
    /// Command-line arguments, without the program's name.
    pub args: Vec<String>,
    /// Content of standard input.
    pub stdin: Vec<u8>,
    /// Maximum number of printed bytes, if the output is the result.
    pub output_bytes: Option<usize>,
}

/// WASI state of one call.
pub struct WasiState {
    source: Arc<WasiSource>,
    ctx: WasiCtx,
    table: ResourceTable,
    http: WasiHttpCtx,
    requests: Requests,
    guard: Guard,
    unreached: Arc<Unreached>,
    /// Number of open directory listings, each of which is completely in memory.
    listings: u32,
    /// Number of logged lines.
    lines: u32,
    /// Captured standard output.
    pub stdout: Sink,
    /// Captured standard error.
    pub stderr: Sink,
}

impl WasiState {
    /// Creates the state of one call with the approved permissions.
    pub fn new(source: Arc<WasiSource>, program: Program) -> Self {
        let stdout = Sink::new(program.output_bytes.unwrap_or(MAX_SAID_BYTES));
        let stderr = Sink::new(MAX_SAID_BYTES);
        let mut builder = WasiCtx::builder();
        builder
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            // Only regular files and folders are opened, which do not block for long.
            .allow_blocking_current_thread(true)
            .max_random_size(MAX_RANDOM_BYTES)
            .stdin(wasmtime_wasi::p2::pipe::MemoryInputPipe::new(program.stdin))
            .stdout(stdout.clone())
            .stderr(stderr.clone())
            // A trial's name has a prefix.
            .arg(source.name.rsplit('/').next().unwrap_or_default())
            .args(&program.args);
        note_grants(&source);
        let unreached = Unreached::new(&source);
        if !source.approved.clock {
            let clock = || still::Clock(Arc::clone(&unreached));
            builder.wall_clock(clock()).monotonic_clock(clock());
        }
        if !source.approved.random {
            let (secure, insecure, seed) = still::random();
            builder.secure_random(secure).insecure_random(insecure).insecure_random_seed(seed);
        }
        for (name, value) in source.variables() {
            builder.env(name, value);
        }
        let guard = folders::open(&source, &mut builder, &stderr);
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        Self {
            ctx: builder.build(),
            table,
            http: WasiHttpCtx::new(),
            requests: Requests::new(&source),
            guard,
            unreached,
            listings: 0,
            lines: 0,
            stdout,
            stderr,
            source,
        }
    }

    /// Resets the state for a program that is about to start.
    pub fn start(&mut self, program: Program) {
        *self = Self::new(Arc::clone(&self.source), program);
    }

    /// Resets the state for another call of a retained instance. Open descriptors stay open; everything else
    /// is reset.
    pub fn renew(&mut self, source: Arc<WasiSource>) {
        note_grants(&source);
        self.guard.renew(&source);
        self.requests = Requests::new(&source);
        self.unreached.renew(&source);
        self.lines = 0;
        self.stdout.clear();
        self.stderr.clear();
        self.source = source;
    }

    /// Suspends a retained instance between two calls. Pending requests are cancelled, and nothing is
    /// accessible.
    pub fn rest(&mut self) {
        let nothing = WasiSource::nothing(&self.source.name);
        self.renew(Arc::new(nothing));
    }

    /// Returns notes for the reader of a result with the text `said`: requests of the component that were
    /// refused.
    pub fn notes(&self, said: &str) -> Vec<String> {
        self.unreached.notes(said)
    }

    /// Returns remarks for the reader of a result or an error with the text `said`: granted variables that are not set,
    /// files that it wrote and that others obey since then, and for an error the reason of a request that failed, for which WASI has nothing but a code.
    pub fn remarks(&self, said: &str, is_error: bool) -> Vec<String> {
        let uses = &self.source.uses;
        let failed = uses.last_failure().filter(|_| is_error && !uses.was_denied());
        let why = failed.as_deref().and_then(|failed| failed.strip_prefix(REQUEST_FAILED));
        let request = why.filter(|why| !said.contains(why)).map(|why| format!("[A request failed: {why}.]"));
        self.unreached.unset(said).into_iter().chain(request).chain(self.guard.obeyed_since()).collect()
    }

    /// Returns the end of the printed output, for an error.
    pub fn said(&self) -> String {
        let said = self
            .source
            .secrets
            .redacted([&self.stdout, &self.stderr].map(|sink| sink.printed().text()).join("\n"));
        let said = said.trim();
        let skipped = said.chars().count().saturating_sub(MAX_SAID_CHARS);
        said.chars().skip(skipped).collect()
    }

    /// Returns the end of the printed output, and a note on granted variables that it mentions and that are not set.
    pub fn last_words(&self) -> (String, Option<String>) {
        let said = self.said();
        let unset = self.unreached.unset(&said);
        (said, unset)
    }

    /// Returns a text of a result without the secrets that the component reads as variables.
    pub fn withheld(&self, text: String) -> String {
        self.source.secrets.withheld(text)
    }

    /// Notes that the result of the call shows the printed output, as errors do up to a limit.
    pub fn mark_shown(&self) {
        let sinks = [&self.stdout, &self.stderr];
        if sinks.iter().map(|sink| sink.printed().total).sum::<u64>() < MAX_SAID_CHARS as u64 {
            for sink in sinks {
                sink.mark_shown();
            }
        }
    }

    /// Writes the printed output to the operator's log.
    pub fn log(&self, tool: &str) {
        for sink in [&self.stdout, &self.stderr] {
            sink.log(tool, &self.source.secrets);
        }
    }
}

/// Records the grants that take effect without further requests by the component.
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

/// Data of a store with WASI.
pub trait HasWasi: IoView + WasiView + WasiHttpView + Send + 'static {
    /// Returns the WASI state of the call.
    fn wasi(&mut self) -> &mut WasiState;

    /// Returns the component's stored data, if storage was approved.
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

/// Returns `true` for the name of a WASI interface.
pub fn is_wasi(import: &str) -> bool {
    import.starts_with("wasi:")
}

/// Links all interfaces. Calls must then be asynchronous. With `newer`, also links WASI 0.3, which requires
/// an engine with support for concurrent calls.
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
    unreached::link(l)?;
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

/// Links the socket interfaces, all of whose functions fail. Programs may import them without using them.
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
