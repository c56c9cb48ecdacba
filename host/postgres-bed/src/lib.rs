//! A PostgreSQL for a test: Debian's own programs, in a folder that goes when the test ends. Only tests depend on this.
#![cfg(unix)]
#![allow(clippy::expect_used, clippy::missing_panics_doc, clippy::panic)] // a test without its server fails
#![allow(clippy::disallowed_methods)] // no part of the product

pub mod pooler;
pub mod proxy;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

/// How long a server may take to start or to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// Who runs it where the test is root: PostgreSQL refuses that.
const NOBODY: u32 = 65_534;

/// The name and the password of who owns all databases.
pub const OWNER: &str = "owner";
/// See [`OWNER`].
pub const PASSWORD: &str = "pass word";

/// Where a server has its files, if that matters.
#[derive(Debug, Default)]
pub struct Place<'a> {
    /// In which folder it makes its own.
    pub all: Option<&'a Path>,
    /// In which folder its write-ahead log is.
    pub log: Option<&'a Path>,
}

/// A server that runs, with databases of its own.
#[derive(Debug)]
pub struct Postgres {
    folder: TempDir,
    port: u16,
    process: Option<Child>,
    made: AtomicU32,
    /// Ends it when this process has ended, however that came about. It waits for the end of what it reads.
    _watcher: Child,
}

impl Postgres {
    /// Starts one.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one with settings, such as `max_connections=10`.
    pub fn start_with(settings: &[&str]) -> Self {
        Self::start_at(&Place::default(), settings)
    }

    /// Starts one whose files are in these folders.
    pub fn start_at(place: &Place<'_>, settings: &[&str]) -> Self {
        let folder = place.all.map_or_else(tempfile::tempdir, tempfile::tempdir_in).expect("a folder");
        let watcher = watcher(folder.path());
        let mut server =
            Self { folder, port: free_port(), process: None, made: AtomicU32::new(0), _watcher: watcher };
        let password = server.path("password");
        fs::write(&password, PASSWORD).expect("a file");
        for path in [server.folder.path(), &password] {
            if geteuid().is_root() {
                chown(path, Some(NOBODY), Some(NOBODY)).expect("an owner");
            }
        }
        let mut initdb = server.program("initdb");
        if let Some(log) = place.log {
            // It wants an empty one of its own.
            let own = log.join("wal");
            fs::create_dir(&own).expect("a folder");
            if geteuid().is_root() {
                chown(&own, Some(NOBODY), Some(NOBODY)).expect("an owner");
            }
            initdb.arg("--waldir").arg(own);
        }
        let made = initdb
            .args(["--no-sync", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8"])
            .args(["--username", OWNER])
            .arg("--pwfile")
            .arg(&password)
            .output()
            .expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let own = [
            format!("unix_socket_directories={}", server.folder.path().display()),
            format!("port={}", server.port),
        ];
        let all =
            ["fsync=off", "shared_buffers=16MB", "listen_addresses=127.0.0.1", "log_min_messages=fatal"];
        let all = all.iter().chain(settings).copied().chain(own.iter().map(String::as_str));
        let lines = all
            .filter_map(|setting| setting.split_once('='))
            .fold(String::new(), |lines, (name, value)| format!("{lines}{name} = '{value}'\n"));
        fs::write(server.data().join("postgresql.auto.conf"), lines).expect("settings");
        server.begin();
        server
    }

    /// Starts a standby that follows this one, with settings of its own beside those of this one.
    #[must_use]
    pub fn standby(&self, settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let watcher = watcher(folder.path());
        let standby =
            Self { folder, port: free_port(), process: None, made: AtomicU32::new(0), _watcher: watcher };
        if geteuid().is_root() {
            chown(standby.folder.path(), Some(NOBODY), Some(NOBODY)).expect("an owner");
        }
        let copied = standby
            .program("pg_basebackup")
            .args(["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"])
            .args(["--host=127.0.0.1", "--username", OWNER, "--port", &self.port.to_string()])
            .env("PGPASSWORD", PASSWORD)
            .output()
            .expect("pg_basebackup runs");
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        let own = [
            format!("unix_socket_directories={}", standby.folder.path().display()),
            format!("port={}", standby.port),
        ];
        let lines = settings
            .iter()
            .copied()
            .chain(own.iter().map(String::as_str))
            .filter_map(|setting| setting.split_once('='))
            .fold(String::new(), |lines, (name, value)| format!("{lines}{name} = '{value}'\n"));
        let path = standby.data().join("postgresql.auto.conf");
        let copied = fs::read_to_string(&path).expect("settings");
        fs::write(&path, copied + &lines).expect("settings");
        let mut standby = standby;
        standby.begin();
        standby
    }

    /// Has a standby receive nothing any more from the server that it follows.
    pub fn stop_receiving(&self) {
        self.psql("postgres", "ALTER SYSTEM SET primary_conninfo = ''").expect("set");
        self.psql("postgres", "SELECT pg_reload_conf()").expect("read");
        self.wait_for("postgres", "SELECT count(*) FROM pg_stat_wal_receiver", "0");
    }

    /// Has a standby take over.
    pub fn promote(&self) {
        let promoted = self.psql("postgres", "SELECT pg_promote(true, 60)").expect("it answers");
        assert_eq!(promoted.trim(), "t");
    }

    /// Waits until a query gives this.
    pub fn wait_for(&self, database: &str, sql: &str, expected: &str) {
        let until = Instant::now() + PATIENCE;
        while self.psql(database, sql).is_ok_and(|answer| answer.trim() != expected) {
            assert!(Instant::now() < until, "{sql} does not give {expected}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Starts the server again that was killed or ended.
    pub fn begin(&mut self) {
        assert!(self.process.is_none(), "it runs");
        let until = Instant::now() + PATIENCE;
        while !self.is_ready() {
            // After a kill it ends at once as long as parts of the one before are there.
            let has_ended =
                self.process.as_mut().is_none_or(|process| process.try_wait().is_ok_and(|end| end.is_some()));
            if has_ended {
                self.process = Some(self.spawn());
            }
            if Instant::now() > until {
                let log = fs::read_to_string(self.path("log")).unwrap_or_default();
                panic!("PostgreSQL takes no connections within {PATIENCE:?}\n{log}");
            }
            sleep(Duration::from_millis(20));
        }
    }

    fn spawn(&self) -> Child {
        // What it says is of use when it does not come up.
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path("log")).expect("a log");
        self.program("postgres")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("postgres runs")
    }

    /// Whether it has not ended by itself.
    pub fn runs(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| process.try_wait().is_ok_and(|ended| ended.is_none()))
    }

    fn is_ready(&self) -> bool {
        self.process.is_some() && self.psql("postgres", "SELECT 1").is_ok_and(|answer| answer.trim() == "1")
    }

    /// Kills the postmaster and all that it started, as a machine does that loses its power.
    pub fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // Its number may be somebody else's by now.
        if process.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        let pid = process.id();
        let started = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        // First of all the one that would start others.
        let _ = process.kill();
        for started in started.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            let _ = kill_process(started, Signal::KILL);
        }
        let _ = process.wait();
    }

    /// Ends it in order; what is connected is cut off.
    pub fn end(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw).expect("a number");
        let _ = kill_process(pid, Signal::INT);
        let until = Instant::now() + PATIENCE;
        while process.try_wait().is_ok_and(|ended| ended.is_none()) {
            if Instant::now() > until {
                let _ = process.kill();
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// A new database; its address, with the password.
    pub fn database(&self) -> String {
        let name = format!("test{}", self.made.fetch_add(1, Ordering::Relaxed));
        self.psql("postgres", &format!("CREATE DATABASE {name}")).expect("a database");
        self.address(&name)
    }

    /// The address of a database, with the password.
    pub fn address(&self, database: &str) -> String {
        format!("postgres://{OWNER}:{}@127.0.0.1:{}/{database}", PASSWORD.replace(' ', "%20"), self.port)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder with the socket, and all that is its own.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs SQL; what it gives, a line for each row with `|` between columns.
    ///
    /// # Errors
    ///
    /// What `psql` says on standard error.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String, String> {
        let ran = Command::new("psql")
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .arg(format!("postgres://{OWNER}@127.0.0.1:{}/{database}", self.port))
            .env("PGPASSWORD", PASSWORD)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if ran.status.success() {
            return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
        }
        Err(String::from_utf8_lossy(&ran.stderr).into_owned())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// One of its programs, which works on its folder, as somebody without rights.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(binaries().join(name));
        command.env_clear().env("PATH", "/usr/bin:/bin").current_dir(self.folder.path());
        if geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.arg("-D").arg(self.data());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
        // Backends may still write: the folder goes when they have ended.
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() && Instant::now() < until {
            sleep(Duration::from_millis(5));
        }
        let _ = fs::set_permissions(self.folder.path(), fs::Permissions::from_mode(0o700));
    }
}

/// Where the programs of the newest version are.
fn binaries() -> PathBuf {
    let all =
        fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed (Debian's package postgresql)");
    let versions = all.flatten().map(|entry| entry.path().join("bin"));
    let newest = versions.filter(|path| path.join("initdb").exists()).max_by_key(|path| {
        let version = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        version.and_then(|version| version.parse::<u32>().ok())
    });
    newest.expect("PostgreSQL's initdb is installed")
}

/// What kills the server of a folder, and takes the folder away, when this process is gone: a server that tests of one
/// file share is never dropped.
fn watcher(folder: &Path) -> Child {
    const SCRIPT: &str =
        r#"read -r _; kill -KILL "$(head -n 1 "$1/data/postmaster.pid")"; sleep 1; rm -rf "$1""#;
    Command::new("sh")
        .args(["-c", SCRIPT, "sh"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
