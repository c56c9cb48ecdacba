//! Capabilities that a component cannot use: sockets and name lookups, which are always refused, and the time
//! and variables without a grant. WASI reports only an error code for the former and no error for the latter,
//! so the host explains them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use scorpiox_audit::{APPROVAL, BUILT_IN, Uses};
use wasmtime::StoreContextMut;
use wasmtime::component::{Accessor, Linker, Resource};
use wasmtime_wasi::cli::WasiCliView as _;
use wasmtime_wasi::p2::bindings::cli::environment::Host as _;
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::ResolveAddressStream;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddressFamily, Network};
use wasmtime_wasi::p2::bindings::sockets::tcp::TcpSocket;
use wasmtime_wasi::p2::bindings::sockets::udp::UdpSocket;
use wasmtime_wasi::p3::bindings::sockets::{ip_name_lookup as lookup_0_3, types as in_0_3};
use wasmtime_wasi::sockets::{TcpSocket as TcpSocket0_3, UdpSocket as UdpSocket0_3};

use super::{HasWasi, WasiSource};

/// Name of the capability for sockets and name lookups in the audit log.
const SOCKETS: &str = "sockets";
/// Maximum number of characters of a host name in a message. Names in the DNS have at most 253, and few
/// exceed this limit.
const MAX_HOST_CHARS: usize = 60;

/// Attempts of a call to use unavailable capabilities.
#[derive(Default)]
pub(super) struct Unreached {
    uses: Mutex<Uses>,
    /// `true` if the plugin has a grant for variables.
    has_variables: AtomicBool,
    time: AtomicBool,
    variables: AtomicBool,
    /// Granted variables that the server's environment does not have.
    unset: Mutex<Vec<String>>,
    read_environment: AtomicBool,
}

impl Unreached {
    /// Creates the record of a call.
    pub(super) fn new(source: &WasiSource) -> Arc<Self> {
        let unreached = Self::default();
        unreached.renew(source);
        Arc::new(unreached)
    }

    /// Resets the record for another call.
    pub(super) fn renew(&self, source: &WasiSource) {
        *self.uses.lock() = source.uses.clone();
        let has_variables = !source.approved.env.is_empty() || !source.secrets.variables.is_empty();
        self.has_variables.store(has_variables, Ordering::Relaxed);
        self.time.store(false, Ordering::Relaxed);
        self.variables.store(false, Ordering::Relaxed);
        let is_unset = |name: &&String| std::env::var_os(name).is_none();
        *self.unset.lock() = source.approved.env.iter().filter(is_unset).cloned().collect();
        self.read_environment.store(false, Ordering::Relaxed);
    }

    /// Records that the plugin read the fixed time.
    pub(super) fn read_time(&self) {
        if !self.time.swap(true, Ordering::Relaxed) {
            let why =
                "it stands still at the beginning of 1970, since plugin.toml has no [capabilities.clock]";
            self.uses.lock().denied("clock", "the time", why, APPROVAL);
        }
    }

    /// Records that the plugin read the environment.
    fn read_variables(&self) {
        self.read_environment.store(true, Ordering::Relaxed);
        if !self.has_variables.load(Ordering::Relaxed) {
            self.variables.store(true, Ordering::Relaxed);
        }
    }

    /// Records a name lookup.
    fn looked_up(&self, host: &str) {
        let host: String = host.chars().take(MAX_HOST_CHARS).collect();
        let why = format!(
            "a plugin looks up no names; with hosts = [{host:?}] in [capabilities.web] of plugin.toml it can send requests \
             there, by wasi:http"
        );
        self.uses.lock().denied(SOCKETS, host, &why, BUILT_IN);
    }

    /// Records an attempt to create a socket.
    fn made_socket(&self, kind: &'static str) {
        let why = "a plugin has no sockets; it can send requests by wasi:http, to hosts of [capabilities.web] in \
                   plugin.toml";
        self.uses.lock().denied(SOCKETS, kind, why, BUILT_IN);
    }

    /// Returns a note on granted variables that are not set, for the reader of a result or an error with the text
    /// `said`. Only a text that mentions variables may result from that.
    pub(super) fn unset(&self, said: &str) -> Option<String> {
        let unset = self.unset.lock();
        let is_read = self.read_environment.load(Ordering::Relaxed);
        if !is_read || unset.is_empty() || !(names_a_variable(said) || names_one_of(said, &unset)) {
            return None;
        }
        let is = if unset.len() == 1 { "is" } else { "are" };
        Some(format!(
            "[{} {is} granted to the plugin, and not set in the environment of this server.]",
            unset.join(", ")
        ))
    }

    /// Returns notes for the reader of a result with the text `said` about unavailable capabilities. Language
    /// runtimes read the environment at each start, so this counts only if the result mentions a variable.
    pub(super) fn notes(&self, said: &str) -> Vec<String> {
        if self.variables.load(Ordering::Relaxed) && names_a_variable(said) {
            let why = "it is empty, since plugin.toml has no [capabilities.env] with the names of variables";
            self.uses.lock().denied("env", "the environment", why, APPROVAL);
        } else {
            self.variables.store(false, Ordering::Relaxed);
        }
        let time = "[The plugin read the time, which stands still for it at 1970-01-01T00:00:00Z: its plugin.toml has no \
                    [capabilities.clock].]";
        let variables = "[The plugin read the environment, which is empty for it: its plugin.toml has no \
                         [capabilities.env] with the names of variables.]";
        let notes = [(&self.time, time), (&self.variables, variables)];
        let read = notes.into_iter().filter(|(was_read, _)| was_read.load(Ordering::Relaxed));
        read.map(|(_, note)| note.to_owned()).collect()
    }
}

/// Reports whether a text has a word like `API_KEY` or mentions the environment.
fn names_a_variable(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_name = |word: &str| {
        let letters = word.bytes().filter(u8::is_ascii_uppercase).count();
        letters >= 3 && word.contains('_') && !word.bytes().any(|byte| byte.is_ascii_lowercase())
    };
    words.any(|word| is_name(word) || word.to_ascii_lowercase().starts_with("environ"))
}

/// Reports whether one of the names is a word of a text.
fn names_one_of(text: &str, names: &[String]) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| names.iter().any(|name| name == word))
}

/// Name of a TCP socket in messages.
const TCP: &str = "a TCP socket";
/// Name of a UDP socket in messages.
const UDP: &str = "a UDP socket";

/// Wraps functions of WASI 0.2 that fail or return nothing, to record the attempts.
pub(super) fn link<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    type Given<R> = wasmtime::Result<(Result<Resource<R>, ErrorCode>,)>;
    linker.allow_shadowing(true);
    linker.instance("wasi:cli/environment@0.2.12")?.func_wrap("get-environment", environment::<T>)?;
    linker.instance("wasi:sockets/ip-name-lookup@0.2.12")?.func_wrap(
        "resolve-addresses",
        |mut store: StoreContextMut<'_, T>,
         (_, host): (Resource<Network>, String)|
         -> Given<ResolveAddressStream> {
            store.data_mut().wasi().unreached.looked_up(&host);
            Ok((Err(ErrorCode::PermanentResolverFailure),))
        },
    )?;
    linker.instance("wasi:sockets/tcp-create-socket@0.2.12")?.func_wrap(
        "create-tcp-socket",
        |mut store: StoreContextMut<'_, T>, (_,): (IpAddressFamily,)| -> Given<TcpSocket> {
            store.data_mut().wasi().unreached.made_socket(TCP);
            Ok((Err(ErrorCode::AccessDenied),))
        },
    )?;
    linker.instance("wasi:sockets/udp-create-socket@0.2.12")?.func_wrap(
        "create-udp-socket",
        |mut store: StoreContextMut<'_, T>, (_,): (IpAddressFamily,)| -> Given<UdpSocket> {
            store.data_mut().wasi().unreached.made_socket(UDP);
            Ok((Err(ErrorCode::AccessDenied),))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Wraps functions of WASI 0.3 that fail or return nothing, to record the attempts.
pub(super) fn link_newer<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    type Given<R> = wasmtime::Result<(Result<Resource<R>, in_0_3::ErrorCode>,)>;
    linker.allow_shadowing(true);
    linker.instance("wasi:cli/environment@0.3.0")?.func_wrap("get-environment", environment::<T>)?;
    linker.instance("wasi:sockets/ip-name-lookup@0.3.0")?.func_wrap_concurrent(
        "resolve-addresses",
        |accessor: &Accessor<T>, (host,): (String,)| {
            Box::pin(async move {
                accessor.with(|mut access| access.get().wasi().unreached.looked_up(&host));
                let refused: Result<Vec<in_0_3::IpAddress>, _> =
                    Err(lookup_0_3::ErrorCode::PermanentResolverFailure);
                Ok((refused,))
            })
        },
    )?;
    let mut types = linker.instance("wasi:sockets/types@0.3.0")?;
    types.func_wrap(
        "[static]tcp-socket.create",
        |mut store: StoreContextMut<'_, T>, (_,): (in_0_3::IpAddressFamily,)| -> Given<TcpSocket0_3> {
            store.data_mut().wasi().unreached.made_socket(TCP);
            Ok((Err(in_0_3::ErrorCode::AccessDenied),))
        },
    )?;
    types.func_wrap(
        "[static]udp-socket.create",
        |mut store: StoreContextMut<'_, T>, (_,): (in_0_3::IpAddressFamily,)| -> Given<UdpSocket0_3> {
            store.data_mut().wasi().unreached.made_socket(UDP);
            Ok((Err(in_0_3::ErrorCode::AccessDenied),))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Returns the variables that a component may read; shared by both versions of WASI.
fn environment<T: HasWasi>(
    mut store: StoreContextMut<'_, T>,
    (): (),
) -> wasmtime::Result<(Vec<(String, String)>,)> {
    let state = store.data_mut();
    state.wasi().unreached.read_variables();
    Ok((state.cli().get_environment()?,))
}

#[cfg(test)]
mod tests {
    use scorpiox_capabilities::approved::Approved;

    use super::*;

    #[test]
    fn the_time_and_the_environment_are_told_once_and_until_the_next_call() {
        let mut source = WasiSource::nothing("plugin");
        let unreached = Unreached::new(&source);
        assert!(unreached.notes("API_KEY").is_empty());
        for _ in 0..2 {
            unreached.read_time();
            unreached.read_variables();
        }
        assert_eq!(unreached.notes("7").len(), 1, "languages read variables by themselves");
        unreached.read_variables();
        let notes = unreached.notes("API_KEY is not set");
        let [time, variables] = &notes[..] else { panic!("{notes:?}") };
        assert!(time.contains("1970-01-01") && time.contains("[capabilities.clock]"), "{time}");
        assert!(variables.contains("[capabilities.env]"), "{variables}");
        assert_eq!(
            source.uses.refusals(),
            [
                "This server refused clock the time: it stands still at the beginning of 1970, since plugin.toml has no \
                 [capabilities.clock].",
                "This server refused env the environment: it is empty, since plugin.toml has no [capabilities.env] with \
                 the names of variables.",
            ]
        );
        source.approved = Arc::new(Approved { env: vec!["HOME".to_owned()], ..Approved::default() });
        unreached.renew(&source);
        unreached.read_variables();
        assert!(unreached.notes("API_KEY").is_empty(), "of other variables nobody knows");
    }

    #[test]
    fn a_granted_variable_that_is_not_set_is_told_where_it_may_matter() {
        let mut source = WasiSource::nothing("plugin");
        let env = vec!["SCORPIOXUNSET".to_owned(), "PATH".to_owned()];
        source.approved = Arc::new(Approved { env, ..Approved::default() });
        let unreached = Unreached::new(&source);
        assert_eq!(unreached.unset("SCORPIOXUNSET"), None, "nothing was read");
        unreached.read_variables();
        let note = "[SCORPIOXUNSET is granted to the plugin, and not set in the environment of this server.]";
        for said in ["environment variable not found", "KeyError: 'SCORPIOXUNSET'", "API_KEY is missing"] {
            assert_eq!(unreached.unset(said).as_deref(), Some(note), "{said}");
        }
        assert_eq!(unreached.unset("7"), None, "languages read variables by themselves");
        unreached.renew(&source);
        assert_eq!(unreached.unset("SCORPIOXUNSET"), None, "another call");
    }

    #[test]
    fn a_refusal_names_the_host_and_the_line_that_helps() {
        let source = WasiSource::nothing("plugin");
        let unreached = Unreached::new(&source);
        unreached.looked_up("api.example.com");
        unreached.looked_up(&"x".repeat(10_000));
        unreached.made_socket(TCP);
        let refusals = source.uses.refusals();
        assert_eq!(
            refusals[0],
            "This server refused sockets api.example.com: a plugin looks up no names; with hosts = \
             [\"api.example.com\"] in [capabilities.web] of plugin.toml it can send requests there, by wasi:http."
        );
        assert!(refusals[1].ends_with(" by wasi:http."), "{}", refusals[1]);
        assert!(
            refusals[2].starts_with("This server refused sockets a TCP socket: a plugin has no"),
            "{refusals:?}"
        );
        assert!(unreached.notes("API_KEY").is_empty());
    }

    #[test]
    fn a_variable_is_known_by_its_letters() {
        for text in
            ["API_KEY is not set", "KeyError: 'HOME_DIR'", "no such environment variable", "os.environ"]
        {
            assert!(names_a_variable(text), "{text}");
        }
        for text in ["There is no column 'price'. Columns: city, cost.", "JSON, HTTP", "A_b", "A_B", ""] {
            assert!(!names_a_variable(text), "{text}");
        }
    }
}
