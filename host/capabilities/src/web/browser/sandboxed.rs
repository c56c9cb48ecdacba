//! Runs a browser in a separate sandbox.
//!
//! It runs in a cell like commands, in a tier with a separate network. In this cell, it has no files except
//! programs. Its only network access is the listener of a proxy, which checks each host and address like
//! [`scorpiox_web::Router`]. An exploit of the browser by a page is confined to the cell.

use std::net::{IpAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use scorpiox_egress_proxy::{AddressPolicy, Decide, Denied, HostName, Proxy, Session, SystemResolver};
use scorpiox_executor::{Cancel, threads};
use scorpiox_fs::home::instance;
use scorpiox_policy::{Redirects, WebDenial, WebPolicy};
use scorpiox_sandbox::{
    Cell, CellError, CellSpec, CommandSpec, Exposed, Happened, Limits, Network, PROXY_PORT, Running, Tier,
};
use scorpiox_web::browser::{Browser, BrowserError, Visit, arguments, find};
use scorpiox_web::{Router, Watch, WebError, tell};

use super::Page;
use crate::rules;
use scorpiox_shell::HELPER;
use scorpiox_shell::cell_tier;
use scorpiox_shell::scratch::Scratch;
use scorpiox_workspace_config::Operator;

/// Idle time after which a browser is stopped.
const IDLE_TIME: Duration = Duration::from_mins(1);
/// Maximum time to load a page; after this, its current state is captured.
const LOAD_TIME: Duration = Duration::from_secs(20);
/// Maximum time for a browser to respond after its start.
const START_TIME: Duration = Duration::from_secs(15);
/// Maximum number of refused hosts in a note.
const MAX_REFUSALS: usize = 5;
/// Tiers whose network isolation a browser cannot bypass, best first.
const TIERS: [Tier; 2] = [Tier::T1, Tier::T1b];
const LIMITS: Limits = Limits { processes: 1024, memory: 4 << 30, open_files: 4096, file_size: 1 << 30 };
/// Size of the browser's in-memory file systems, in bytes.
const TMP_BYTES: u64 = 512 << 20;
const HOME: &str = "/home/user";

/// Keeps one browser running while it is in use.
#[derive(Default)]
pub(in crate::web) struct Keeper(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    warm: Option<Arc<Warm>>,
    used: Option<Instant>,
    is_watched: bool,
}

/// A running browser. Fields are dropped in this order.
struct Warm {
    browser: Browser,
    cell: Cell,
    proxy: Proxy,
    /// Directory of the cell, removed after it.
    _scratch: Scratch,
}

impl Keeper {
    pub(in crate::web) fn render(
        &self,
        operator: &Operator,
        router: &Arc<Router>,
        url: &str,
        wait: Duration,
        cancel: &Cancel,
        watch: &Watch,
    ) -> Result<Page, WebError> {
        let url = Router::parse(url)?;
        if !router.policy().browser.value {
            return Err(WebError::NoBrowser(format!(
                "browsers are switched off by `browser = false` in [web] ({})",
                router.policy().browser.source
            )));
        }
        // An error from this check is a sentence; from the proxy, the browser would show an error page.
        let decided = router.route(&url, None);
        tell(Some(watch), &url, &decided);
        decided?;
        let follow = router.policy().redirects.value == Redirects::Any;
        let mut tries = 0;
        loop {
            tries += 1;
            let begun = Instant::now();
            let warm = self.get(operator, router)?;
            // Pages that are rendered at the same time share their connections, and are told each other's refusals.
            let session = warm.proxy.session();
            let visit = Visit { url: &url, wait, until: begun + LOAD_TIME + wait, follow };
            let shown = warm.browser.render(&visit, &|| cancel.is_set());
            self.lock().used = Some(Instant::now());
            for refusal in session.refusals() {
                watch(refusal.host.as_str(), refusal.port, Err(&refusal.why));
            }
            match shown {
                Ok(shown) => {
                    let mut notes = refusals(&session);
                    if shown.still_loading {
                        notes.push(format!("the page was still loading after {} s", LOAD_TIME.as_secs()));
                    }
                    return Ok(Page { url: shown.url, status: shown.status, html: shown.html, notes });
                }
                Err(BrowserError::Gone(why)) => {
                    self.forget(&warm);
                    if tries > 1 || cancel.is_set() {
                        return Err(WebError::Failed(format!("the browser failed: {why}")));
                    }
                }
                Err(BrowserError::Moved(target)) => return Err(WebError::Moved(target)),
                Err(BrowserError::TooLarge) => {
                    return Err(WebError::TooLarge(scorpiox_web::browser::MAX_DOCUMENT_BYTES as u64));
                }
                Err(error @ (BrowserError::Page(_) | BrowserError::Cancelled)) => {
                    let mut text = error.to_string();
                    for refused in refusals(&session) {
                        text.push_str("; ");
                        text.push_str(&refused);
                    }
                    return Err(WebError::Failed(text));
                }
            }
        }
    }

    /// Returns the running browser, or starts one. The lock is held during the start, so that concurrent
    /// first pages start only one.
    fn get(&self, operator: &Operator, router: &Arc<Router>) -> Result<Arc<Warm>, WebError> {
        let mut kept = self.lock();
        kept.used = Some(Instant::now());
        if let Some(warm) = kept.warm.as_ref().filter(|warm| warm.browser.is_alive()) {
            return Ok(Arc::clone(warm));
        }
        kept.warm = None;
        let warm = Arc::new(start(operator, router).map_err(WebError::NoBrowser)?);
        kept.warm = Some(Arc::clone(&warm));
        if !kept.is_watched {
            let watched = Arc::clone(&self.0);
            // Without this thread, the browser runs until the server ends.
            kept.is_watched = threads::start("browser idle", move || end_when_idle(&watched)).is_ok();
        }
        Ok(warm)
    }

    fn forget(&self, gone: &Arc<Warm>) {
        let mut kept = self.lock();
        if kept.warm.as_ref().is_some_and(|warm| Arc::ptr_eq(warm, gone)) {
            kept.warm = None;
        }
    }

    pub(in crate::web) fn end(&self) {
        let warm = self.lock().warm.take();
        if let Some(warm) = warm {
            // The cell ends immediately, even if a call still uses the browser.
            warm.cell.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        lock(&self.0)
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock()
}

fn end_when_idle(kept: &Mutex<Kept>) {
    loop {
        let idle = lock(kept).used.map_or(IDLE_TIME, |used| used.elapsed());
        if let Some(left) = IDLE_TIME.checked_sub(idle).filter(|left| !left.is_zero()) {
            thread::sleep(left);
            continue;
        }
        let mut kept = lock(kept);
        // A browser that renders a page stays alive.
        if kept.warm.as_ref().is_some_and(|warm| Arc::strong_count(warm) > 1) {
            kept.used = Some(Instant::now());
            continue;
        }
        let warm = kept.warm.take();
        kept.is_watched = false;
        drop(kept);
        drop(warm);
        return;
    }
}

fn refusals(session: &Session) -> Vec<String> {
    let mut hosts: Vec<(HostName, String)> = Vec::new();
    for refusal in session.refusals() {
        if !hosts.iter().any(|(host, _)| *host == refusal.host) {
            hosts.push((refusal.host, refusal.why));
        }
    }
    let mut notes: Vec<_> = hosts
        .iter()
        .take(MAX_REFUSALS)
        .map(|(host, why)| format!("the page was refused what it wanted of {host}: {why}"))
        .collect();
    if hosts.len() > MAX_REFUSALS {
        notes.push(format!("and of {} more hosts", hosts.len() - MAX_REFUSALS));
    }
    notes
}

/// Starts a browser in the best available tier; fails with the reason as a sentence.
fn start(operator: &Operator, router: &Arc<Router>) -> Result<Warm, String> {
    let chosen = router.policy().browser_path.as_ref().map(|path| Path::new(&path.value));
    let program = find(chosen, &operator.writable().map_err(|error| error.to_string())?)?;
    let least = operator.policy().map_err(|error| error.to_string())?.shell.min_tier.value;
    let mut tried = Vec::new();
    for tier in TIERS.into_iter().filter(|tier| *tier >= cell_tier(least)) {
        match start_in(tier, operator, router, &program) {
            Ok(warm) => return Ok(warm),
            Err(error) => tried.push(format!("{tier}: {error}")),
        }
    }
    Err(format!("no browser can be started in a sandbox: {}", tried.join("; ")))
}

/// Returns the installed browser and the best tier that can confine it. Builds a cell to find out.
pub fn browser(operator: &Operator) -> Result<(PathBuf, Tier), String> {
    let policy = operator.policy().map_err(|error| error.to_string())?;
    let chosen = policy.web.browser_path.as_ref().map(|path| Path::new(&path.value));
    let program = find(chosen, &operator.writable().map_err(|error| error.to_string())?)?;
    let least = cell_tier(policy.shell.min_tier.value);
    let mut tried = Vec::new();
    for tier in TIERS.into_iter().filter(|tier| *tier >= least) {
        match cell(tier, operator, &program) {
            Ok(_) => return Ok((program, tier)),
            Err(error) => tried.push(format!("{tier}: {error}")),
        }
    }
    Err(tried.join("; "))
}

fn cell(tier: Tier, operator: &Operator, program: &Path) -> Result<(Cell, Scratch), CellError> {
    let site = operator.site();
    // The working directory of all commands in the cell, which also contains files of the tier.
    let held = Scratch::new(&site.own_home, &format!("browser-{}", instance::name()));
    let held = held.map_err(|error| CellError::Helper(format!("making a folder: {error}")))?;
    let scratch = held.path.clone();
    let mut exposed = vec![Exposed { path: scratch.as_path().into(), write: false }];
    if let Some(folder) = program.parent().filter(|folder| !folder.starts_with("/usr")) {
        exposed.push(Exposed { path: folder.into(), write: false });
    }
    let spec = CellSpec {
        tier,
        workspace: scratch.as_path().into(),
        exposed,
        home: Path::new(HOME).into(),
        scratch: scratch.as_path().into(),
        home_links: Vec::new(),
        home_files: Vec::new(),
        stand_ins: Vec::new(),
        tmp_bytes: TMP_BYTES,
        network: Network::Proxy,
        ssh_config: None,
        local: Vec::new(),
        landlock_at_most: None,
    };
    Ok((Cell::build(&HELPER, &spec)?, held))
}

fn start_in(tier: Tier, operator: &Operator, router: &Arc<Router>, program: &Path) -> Result<Warm, String> {
    let (mut cell, scratch) = cell(tier, operator, program).map_err(|error| error.to_string())?;
    let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
    let running = cell.run(command(program), Some(theirs.as_fd()), None).map_err(|error| error.to_string());
    let mut running = running?;
    drop(theirs);
    running.wait_until_started().map_err(|error| error.to_string())?;
    let listener = cell.take_listeners().proxy.or_else(|| running.take_listeners().proxy);
    let listener = listener.ok_or("the sandbox has no way to its proxy")?;
    let proxy = proxy(router, listener).map_err(|error| format!("the proxy cannot be started: {error}"))?;
    let last_words = Arc::<Mutex<String>>::default();
    let heard = Arc::clone(&last_words);
    threads::start("browser output", move || listen(running, &heard)).map_err(|error| error.to_string())?;
    let browser = Browser::new(ours, Instant::now() + START_TIME).map_err(|error| {
        let words = last_words.lock();
        format!("{}: {error}{}{words}", program.display(), if words.is_empty() { "" } else { "; it said: " })
    })?;
    Ok(Warm { browser, cell, proxy, _scratch: scratch })
}

/// Returns the command of the browser. Its two pipes are one socket, which is initially its standard input.
fn command(program: &Path) -> CommandSpec {
    let mut line = format!("exec {}", quoted(&program.display().to_string()));
    for argument in arguments("/tmp/profile", PROXY_PORT) {
        line.push(' ');
        line.push_str(&quoted(&argument));
    }
    line.push_str(" 3<&0 4>&0 0</dev/null");
    let environment =
        [("HOME", HOME), ("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("TMPDIR", "/tmp"), ("TZ", "UTC")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    CommandSpec::new(line, environment, LIMITS)
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Reads the browser's output to its end, so that the browser does not block.
fn listen(mut running: Running, last_words: &Mutex<String>) {
    loop {
        match running.next(None, None) {
            Ok(Happened::Output(bytes)) => {
                let text = String::from_utf8_lossy(bytes);
                if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
                    let line: String = line.chars().filter(|c| !c.is_control()).take(300).collect();
                    *last_words.lock() = line;
                }
            }
            Ok(Happened::Nothing) => {}
            Ok(Happened::Done(_)) | Err(_) => return,
        }
    }
}

fn proxy(router: &Arc<Router>, listener: TcpListener) -> std::io::Result<Proxy> {
    let policy = router.policy();
    let allow = policy.allow_private.iter().map(|rule| rule.network).collect();
    Proxy::start(
        listener,
        Arc::new(Pages(policy.clone())),
        Arc::new(SystemResolver::default()),
        AddressPolicy::new(allow, "[web]"),
        scorpiox_egress_proxy::Limits::default(),
    )
}

/// Policy for the hosts from which pages load resources.
struct Pages(WebPolicy);

impl Pages {
    fn denied(&self, host: (&str, u16), denial: &WebDenial) -> Denied {
        let why = denial.to_string();
        Denied { rule: rules::of_host(&self.0, None, host, Err(&why)), why }
    }
}

impl Decide for Pages {
    fn decide(&self, host: &str, port: u16) -> Result<String, Denied> {
        self.0.check_host(host, port).map_err(|denial| self.denied((host, port), &denial))?;
        Ok(rules::of_host(&self.0, None, (host, port), Ok(())))
    }

    fn decide_address(&self, host: &str, port: u16, address: IpAddr) -> Result<(), Denied> {
        let denied = |denial| self.denied((host, port), &denial);
        let verdict = self.0.check_host(host, port).map_err(denied)?;
        self.0.check_address((host, port), address, &verdict).map_err(denied)
    }
}
