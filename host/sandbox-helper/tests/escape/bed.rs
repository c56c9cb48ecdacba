//! Test bed: a workspace with a cell, and a directory outside of it to attack.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_sandbox::{
    Access, Cell, CellError, CellSpec, CommandSpec, Cover, Exposed, Granted, Happened, Helper, Limits, Moves,
    Network, Outcome, Running, Tier,
};
use tempfile::TempDir;

/// Text that no command may ever print, because it only exists where commands have no access.
pub(crate) const SECRET: &str = "the-secret-of-the-host";
/// Content of the victim file.
pub(crate) const PRECIOUS: &str = "precious the-secret-of-the-host\n";
/// Mode of the victim file.
const PRECIOUS_MODE: u32 = 0o640;
/// Time limit for every command of these tests, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Bash functions: `must_fail` runs an attack; `may` does the same where it is permitted, so that an attack
/// that cannot work anywhere is noticed.
const WORDS: &str = r#"
must_fail() { if "${@:2}" >/dev/null 2>&1; then echo "ESCAPED $1"; else echo "refused $1"; fi; }
may() { if "${@:2}" >/dev/null 2>&1; then echo "worked $1"; else echo "BROKEN $1"; fi; }
write() { echo changed >> "$1"; }
overwrite() { echo changed > "$1"; }
link() { perl -e 'link($ARGV[0], $ARGV[1]) or exit 1' -- "$1" "$2"; }
shorten() { perl -e 'truncate($ARGV[0], 0) or exit 1' -- "$1"; }
stamp() { perl -e 'utime(1, 1, $ARGV[0]) or exit 1' -- "$1"; }
look() { : < "$1"; }
case $(uname -m) in aarch64) renameat2=276;; *) renameat2=316;; esac
exchange() {
    perl -e 'syscall(shift, -100, $ARGV[0], -100, $ARGV[1], 2) == 0 or exit 1' $renameat2 "$1" "$2"
}
move() { perl -e 'rename($ARGV[0], $ARGV[1]) or exit 1' -- "$1" "$2"; }
"#;

pub(crate) const TIERS: [Tier; 3] = [Tier::T1, Tier::T1b, Tier::T2];

/// Runs a test in each tier; a tier that cannot be built fails. All tiers are tried before the first failure
/// is reported.
pub(crate) fn for_each_tier(test: impl Fn(&mut Bed)) {
    let mut failed = Vec::new();
    for tier in TIERS {
        eprintln!("--- {tier}");
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            let mut bed = Bed::new(tier);
            test(&mut bed);
            bed.assert_outside_is_whole();
        }));
        if attempt.is_err() {
            failed.push(tier.name());
        }
    }
    assert!(failed.is_empty(), "failed in {failed:?}; see above");
}

/// Paths with their own rules, as found by the product's scan.
#[derive(Debug, Default, Clone)]
pub(crate) struct Shield {
    pub hide: Vec<PathBuf>,
    pub freeze: Vec<PathBuf>,
    pub pin: Vec<PathBuf>,
    pub absent: Vec<PathBuf>,
    pub names: Vec<&'static str>,
}

impl Shield {
    fn covers(&self) -> Vec<Cover> {
        let mut covers: Vec<Cover> = Vec::new();
        covers.extend(self.hide.iter().map(|path| Cover::Hide(path.as_path().into())));
        covers.extend(self.freeze.iter().map(|path| Cover::Freeze(path.as_path().into())));
        covers.extend(self.pin.iter().map(|path| Cover::Pin(path.as_path().into())));
        covers.extend(self.absent.iter().map(|path| Cover::Absent(path.as_path().into())));
        covers.retain(|cover| !cover.path().ancestors().skip(1).any(|up| self.hide.iter().any(|h| h == up)));
        covers.sort_by(|a, b| a.path().cmp(b.path()));
        covers.dedup_by(|later, earlier| later.path() == earlier.path());
        covers
    }

    /// Returns the grants as the product does: the entries of a directory with something special inside are
    /// granted one by one.
    fn granted(&self, workspace: &Path) -> Vec<Granted> {
        let mut granted = Vec::new();
        let mut open = vec![(workspace.to_owned(), true)];
        while let Some((path, write)) = open.pop() {
            if self.hide.contains(&path) {
                continue;
            }
            let write = write && !self.freeze.contains(&path);
            let is_above = |inside: &PathBuf| *inside != path && inside.starts_with(&path);
            let hides = self.hide.iter().any(is_above);
            let access = if write { Access::Write } else { Access::Read };
            if !(hides || write && self.freeze.iter().any(is_above)) {
                granted.push(Granted { path: path.into(), access });
                continue;
            }
            let access = if hides { Access::List } else { Access::Read };
            granted.push(Granted { path: path.as_path().into(), access });
            for entry in fs::read_dir(&path).expect("a folder") {
                let entry = entry.expect("an entry");
                if !entry.file_type().expect("a kind").is_symlink() {
                    open.push((entry.path(), write));
                }
            }
        }
        granted
    }
}

/// A workspace, its cell, and the outside.
pub(crate) struct Bed {
    pub tier: Tier,
    folder: TempDir,
    pub workspace: PathBuf,
    /// Directory next to the workspace, which commands may neither read nor change.
    pub outside: PathBuf,
    /// File in `outside`.
    pub victim: PathBuf,
    pub scratch: PathBuf,
    /// Unique word in the environment of each command.
    pub mark: String,
    pub shield: Shield,
    pub limits: Limits,
    pub timeout: Duration,
    pub environment: Vec<(String, String)>,
    /// Standard input of the next command.
    pub input: Option<OwnedFd>,
    /// Action between the scan of the workspace and the start of the command.
    pub meanwhile: Option<Box<dyn Fn()>>,
    /// Simulated maximum version of Landlock.
    pub landlock_at_most: Option<u32>,
    /// Lock file by which commands know about each other's moves.
    pub locks: Option<PathBuf>,
    cell: Option<Cell>,
}

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Finished {
    pub text: String,
    /// `None` if the supervisor could not report.
    pub outcome: Option<Outcome>,
}

impl Finished {
    /// Returns `true` if a line of the output equals `line`.
    pub(crate) fn says(&self, line: &str) -> bool {
        self.text.lines().any(|found| found.trim() == line)
    }

    /// Checks that all attacks were tried, that none succeeded, and that no secret is visible.
    #[track_caller]
    pub(crate) fn assert_nothing_escaped(&self) {
        let escapes: Vec<_> = self.text.lines().filter(|line| line.contains("ESCAPED")).collect();
        assert!(escapes.is_empty(), "{escapes:#?}");
        assert!(self.says("finished"), "the attacks did not come to their end: {self:?}");
        assert!(!self.text.contains(SECRET), "a secret was printed: {}", self.text);
    }
}

impl Bed {
    pub(crate) fn new(tier: Tier) -> Self {
        Self::below(tier, &ground())
    }

    /// Creates a bed in a given directory.
    pub(crate) fn below(tier: Tier, ground: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::Builder::new().prefix(".escape-").tempdir_in(ground).expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let [workspace, outside, scratch] = ["workspace", "outside", "scratch"].map(|name| root.join(name));
        for path in [&workspace, &outside, &scratch] {
            fs::create_dir(path).expect("a folder");
        }
        let victim = outside.join("victim");
        fs::write(&victim, PRECIOUS).expect("the victim file");
        set_mode(&victim, PRECIOUS_MODE);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self {
            tier,
            folder,
            workspace,
            outside,
            victim,
            scratch,
            mark: format!("escape-mark-{}-{count}", std::process::id()),
            shield: Shield::default(),
            limits: Limits { processes: 256, memory: 2 << 30, open_files: 4096, file_size: 1 << 30 },
            timeout: Duration::from_secs(50),
            environment: Vec::new(),
            input: None,
            meanwhile: None,
            landlock_at_most: None,
            locks: None,
            cell: None,
        }
    }

    /// Builds the cell, unless it exists.
    pub(crate) fn cell(&mut self) -> &Cell {
        if self.cell.is_none() {
            let helper = Helper { image: image() };
            self.cell = Some(Cell::build(&helper, &self.spec()).expect("a cell in this tier"));
        }
        self.cell.as_ref().expect("it was just built")
    }

    fn spec(&self) -> CellSpec {
        let mut exposed = vec![Exposed { path: self.workspace.as_path().into(), write: true }];
        if self.tier == Tier::T2 {
            let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64"].map(Path::new);
            let there =
                system.iter().filter(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()));
            exposed.extend(there.map(|path| Exposed { path: (*path).into(), write: false }));
        }
        let home = if self.tier == Tier::T2 { self.scratch.as_path() } else { Path::new("/home/user") };
        CellSpec {
            tier: self.tier,
            workspace: self.workspace.as_path().into(),
            exposed,
            home: home.into(),
            scratch: self.scratch.as_path().into(),
            home_links: Vec::new(),
            home_files: Vec::new(),
            stand_ins: Vec::new(),
            tmp_bytes: 64 << 20,
            network: Network::Off,
            ssh_config: None,
            local: Vec::new(),
            landlock_at_most: self.landlock_at_most,
        }
    }

    /// Returns the path of this name in the workspace.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.workspace.join(name)
    }

    /// Copies a program with attacks into the workspace: commands run it as `./NAME`.
    pub(crate) fn arm(&self, name: &str) {
        self.arm_as(name, name);
    }

    /// Like `arm`, with another name. A separate process copies the program: a file cannot be executed while
    /// any process has it open for writing, and a child of another test could inherit such a descriptor.
    pub(crate) fn arm_as(&self, name: &str, other: &str) {
        let copied = command(Path::new("cp")).arg(attack(name)).arg(self.at(other)).status();
        assert!(copied.expect("cp runs").success(), "{other}");
    }

    /// Writes a file into the workspace.
    pub(crate) fn put(&self, name: &str, content: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, content).expect("a file");
        path
    }

    /// Starts a command.
    pub(crate) fn start(&mut self, command: &str) -> Running {
        self.try_start(command).expect("the command's start")
    }

    /// Starts a command that may be denied.
    pub(crate) fn try_start(&mut self, command: &str) -> Result<Running, CellError> {
        let home =
            if self.tier == Tier::T2 { self.scratch.display().to_string() } else { "/home/user".into() };
        let mut environment = vec![
            ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME".to_owned(), home),
            ("ESCAPE_MARK".to_owned(), self.mark.clone()),
            ("VICTIM".to_owned(), self.victim.display().to_string()),
            ("OUTSIDE".to_owned(), self.outside.display().to_string()),
            ("WORKSPACE".to_owned(), self.workspace.display().to_string()),
            ("TIER".to_owned(), self.tier.name().to_owned()),
        ];
        environment.extend(self.environment.iter().cloned());
        let order = CommandSpec {
            command: command.to_owned(),
            environment,
            timeout_ms: Some(u64::try_from(self.timeout.as_millis()).expect("a short time")),
            limits: self.limits,
            covers: self.shield.covers(),
            absent_names: self.shield.names.iter().map(|name| (*name).to_owned()).collect(),
            packages: vec!["node_modules".to_owned()],
            areas: vec![Exposed { path: self.workspace.as_path().into(), write: true }],
            granted: if self.tier == Tier::T2 { self.shield.granted(&self.workspace) } else { Vec::new() },
            changed: None,
            publishes: false,
            source: None,
        };
        if let Some(meanwhile) = &self.meanwhile {
            meanwhile();
        }
        let input = self.input.take();
        let moves = self.locks.as_ref().map(|path| {
            let file = fs::File::options().read(true).write(true).create(true).truncate(false).open(path);
            let areas = [(self.workspace.as_path(), true)];
            let moves = Moves::new(file.expect("a lock file"), areas.into_iter());
            moves.begin_start().expect("a lock");
            moves
        });
        let mut running = self.cell().run(order, input.as_ref().map(AsFd::as_fd), moves.as_ref())?;
        running.wait_until_started()?;
        Ok(running)
    }

    /// Runs a command to its end.
    pub(crate) fn run(&mut self, command: &str) -> Finished {
        finish(&mut self.start(command))
    }

    /// Runs attacks written in bash, with the functions of [`WORDS`].
    #[track_caller]
    pub(crate) fn attack(&mut self, script: &str) -> Finished {
        finish_attack(&mut self.start_attack(script))
    }

    /// Starts attacks that run concurrently with the test.
    pub(crate) fn start_attack(&mut self, script: &str) -> Running {
        self.start(&format!("{WORDS}\n{script}\necho finished"))
    }

    /// Ends the cell.
    pub(crate) fn end(&mut self) {
        self.cell = None;
    }

    /// Returns the running processes of this bed's commands, identified by their environment.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes_with(&self.mark)
    }

    /// Waits until this number of processes runs.
    pub(crate) fn processes_when(&self, count: usize) -> Vec<u32> {
        // The environment of a process is empty for a moment during `exec`, so each state is only read once.
        let found = RefCell::new(Vec::new());
        let are_there = comes_true(Duration::from_secs(20), || {
            found.replace(self.processes());
            found.borrow().len() >= count
        });
        let found = found.into_inner();
        assert!(are_there, "{count} processes, not {found:?}");
        found
    }

    /// Waits for the last process to end; returns those that still run after the time limit.
    pub(crate) fn processes_after(&self, time: Duration) -> Vec<u32> {
        comes_true(time, || self.processes().is_empty());
        self.processes()
    }

    /// Checks that nothing outside has changed.
    #[track_caller]
    pub(crate) fn assert_outside_is_whole(&self) {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        assert_eq!(fs::read_to_string(&self.victim).expect("the victim file"), PRECIOUS);
        let found = self.victim.metadata().expect("the victim file");
        assert_eq!(found.permissions().mode() & 0o7777, PRECIOUS_MODE, "the victim's mode");
        assert_eq!(found.nlink(), 1, "links to the victim");
        assert_eq!((found.uid(), found.gid()), own_ids(), "the victim's owner");
        let age = found.modified().expect("a time").elapsed().expect("not in the future");
        assert!(age < Duration::from_hours(1), "the victim's time was set");
        let names: Vec<_> = fs::read_dir(&self.outside)
            .expect("a folder")
            .map(|e| e.expect("an entry").file_name())
            .collect();
        assert_eq!(names, ["victim"], "something new outside");
        let mut names: Vec<_> = fs::read_dir(self.folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
            .collect();
        // The helper removes this directory when the cell ends.
        names.retain(|name| name != "scratch");
        names.sort();
        assert_eq!(names, ["outside", "workspace"], "something new beside the workspace");
        let names = xattrs(&self.victim);
        assert!(!names.contains("user."), "an attribute was set: {names}");
    }
}

fn own_ids() -> (u32, u32) {
    (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw())
}

fn xattrs(path: &Path) -> String {
    let mut names = vec![0_u8; 4096];
    let got = rustix::fs::listxattr(path, &mut names[..]).unwrap_or(0);
    String::from_utf8_lossy(&names[..got]).into_owned()
}

/// Waits for the end of a command; returns its output.
#[track_caller]
pub(crate) fn finish(running: &mut Running) -> Finished {
    let mut text = Vec::new();
    let until = Instant::now() + PATIENCE;
    let outcome = loop {
        assert!(Instant::now() < until, "no end: {}", String::from_utf8_lossy(&text));
        match running.next(Some(Duration::from_secs(1)), None) {
            Ok(Happened::Output(bytes)) => text.extend_from_slice(bytes),
            Ok(Happened::Nothing) => {}
            Ok(Happened::Done(outcome)) => break Some(*outcome),
            Err(_) => break None,
        }
    };
    let finished = Finished { text: String::from_utf8_lossy(&text).into_owned(), outcome };
    eprintln!("{}\n{:?}", finished.text, finished.outcome);
    finished
}

/// Waits for the end of attacks.
#[track_caller]
pub(crate) fn finish_attack(running: &mut Running) -> Finished {
    let finished = finish(running);
    finished.assert_nothing_escaped();
    assert!(!finished.text.contains("BROKEN"), "what is permitted failed: {}", finished.text);
    finished
}

/// Polls a condition; returns `true` if it holds within the time limit.
pub(crate) fn comes_true(time: Duration, condition: impl Fn() -> bool) -> bool {
    let until = Instant::now() + time;
    while !condition() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Returns the processes with this word in their environment or arguments, without zombies.
pub(crate) fn processes_with(word: &str) -> Vec<u32> {
    let own = std::process::id();
    let contains = |bytes: Vec<u8>| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    let numbers = fs::read_dir("/proc").expect("/proc").flatten();
    numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own)
        .filter(|pid| {
            ["environ", "cmdline"]
                .iter()
                .any(|name| fs::read(format!("/proc/{pid}/{name}")).is_ok_and(contains))
        })
        .collect()
}

/// Returns the parent of a process.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Returns the directory of all beds, which is not below `/tmp`, because commands have a separate one.
pub(crate) fn ground() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    if target.starts_with("/tmp") {
        return std::env::home_dir().expect("a home folder");
    }
    fs::create_dir_all(&target).expect("a folder");
    target
}

/// Returns the helper program.
fn image() -> &'static [u8] {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE.get_or_init(|| fs::read(env!("CARGO_BIN_EXE_scorpiox-cell")).expect("the helper"))
}

/// Returns a program with attacks that are impossible in a shell: `attacks/NAME.c`, compiled once.
pub(crate) fn attack(name: &str) -> PathBuf {
    static COMPILED: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock();
    let compile = || {
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escape/attacks").join(format!("{name}.c"));
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let mut compile = command(Path::new("cc"));
        compile.args(["-O1", "-Wall", "-Werror", "-static-pie", "-pthread", "-o"]).arg(&target).arg(source);
        assert!(compile.status().expect("a C compiler").success(), "{name}.c cannot be compiled");
        target
    };
    compiled.entry(name.to_owned()).or_insert_with(compile).clone()
}

/// Returns a command that runs outside of any cell.
#[allow(clippy::disallowed_methods)] // the attacked program is no part of the product
pub(crate) fn command(program: &Path) -> Command {
    Command::new(program)
}

/// Process outside with a secret in its memory, its environment and an open file. It answers as long as it is
/// unharmed.
pub(crate) struct Victim {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Address of the secret in its memory.
    pub address: String,
    limits: String,
    stat: Vec<String>,
}

impl Victim {
    pub(crate) fn new(bed: &Bed) -> Self {
        loop {
            let mut start = command(&attack("victim"));
            start.arg(&bed.victim).env("OUTSIDE_SECRET", SECRET).current_dir(&bed.outside);
            let mut child =
                start.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a victim process");
            let input = child.stdin.take().expect("a pipe");
            let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
            let mut address = String::new();
            output.read_line(&mut address).expect("an address");
            let mut victim = Self {
                child,
                input,
                output,
                address: address.trim().into(),
                limits: String::new(),
                stat: vec![],
            };
            // In a PID namespace, low process IDs belong to the command itself.
            if victim.pid() > 2000 {
                victim.limits = victim.read("limits");
                victim.stat = victim.scheduling();
                return victim;
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{name}", self.pid())).expect("the victim's state")
    }

    /// Returns the priority, nice value and policy, and the allowed processors.
    fn scheduling(&self) -> Vec<String> {
        let stat = self.read("stat");
        let fields: Vec<_> = stat.rsplit_once(')').expect("a name").1.split_ascii_whitespace().collect();
        let status = self.read("status");
        let allowed = status.lines().find(|line| line.starts_with("Cpus_allowed:")).expect("a line");
        vec![fields[15].into(), fields[16].into(), fields[38].into(), allowed.into()]
    }

    /// Checks that the process runs and is unchanged.
    #[track_caller]
    pub(crate) fn assert_unharmed(&mut self) {
        assert_eq!(self.child.try_wait().expect("a child"), None, "the victim process has ended");
        self.input.write_all(b"well?\n").expect("the victim process listens");
        let mut polled = [rustix::event::PollFd::new(self.output.get_ref(), rustix::event::PollFlags::IN)];
        let time = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
        assert_eq!(
            rustix::event::poll(&mut polled, Some(&time)),
            Ok(1),
            "the victim process does not answer"
        );
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("an answer");
        assert_eq!(answer.trim(), "unharmed");
        assert_eq!(self.read("limits"), self.limits, "its limits were changed");
        assert_eq!(self.scheduling(), self.stat, "its scheduling was changed");
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens a file such that started programs would inherit it.
pub(crate) fn leak_a_descriptor(path: &Path) -> fs::File {
    let file = fs::File::open(path).expect("a file");
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).expect("a flag");
    assert!(file.as_raw_fd() > 2);
    file
}
