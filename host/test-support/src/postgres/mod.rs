//! PostgreSQL servers for tests, using Debian's programs in a temporary directory. Only tests depend on this
//! crate.
#![cfg(unix)]
#![allow(clippy::expect_used, clippy::missing_panics_doc, clippy::panic)] // a test without its server must fail
#![allow(clippy::disallowed_methods)] // test code

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

/// Maximum time for a server to start or stop.
const PATIENCE: Duration = Duration::from_mins(1);

/// User ID of the server if the test runs as root, which PostgreSQL refuses.
const NOBODY: u32 = 65_534;

/// Name of the role that owns all databases.
pub const OWNER: &str = "owner";
/// Password of [`OWNER`].
pub const PASSWORD: &str = "pass word";

/// Directories for the files of a server.
#[derive(Debug, Default)]
pub struct Place<'a> {
    /// Parent of the data directory.
    pub all: Option<&'a Path>,
    /// Parent of the directory for the write-ahead log.
    pub log: Option<&'a Path>,
}

/// A running server with its own databases.
#[derive(Debug)]
pub struct Postgres {
    folder: TempDir,
    port: u16,
    process: Option<Child>,
    made: AtomicU32,
    /// Kills the server after this process has ended for any reason. Detects that by the end of its standard
    /// input.
    _watcher: Child,
}

impl Postgres {
    /// Starts a server.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with settings such as `max_connections=10`.
    pub fn start_with(settings: &[&str]) -> Self {
        Self::start_at(&Place::default(), settings)
    }

    /// Starts a server with its files in these directories.
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
            // `initdb` requires an empty directory.
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

    /// Starts a standby of this server, with additional settings.
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

    /// Makes a standby stop receiving from its primary.
    pub fn stop_receiving(&self) {
        self.psql("postgres", "ALTER SYSTEM SET primary_conninfo = ''").expect("set");
        self.psql("postgres", "SELECT pg_reload_conf()").expect("read");
        self.wait_for("postgres", "SELECT count(*) FROM pg_stat_wal_receiver", "0");
    }

    /// Promotes a standby to primary.
    pub fn promote(&self) {
        let promoted = self.psql("postgres", "SELECT pg_promote(true, 60)").expect("it answers");
        assert_eq!(promoted.trim(), "t");
    }

    /// Waits until a query returns `expected`.
    pub fn wait_for(&self, database: &str, sql: &str, expected: &str) {
        let until = Instant::now() + PATIENCE;
        while self.psql(database, sql).is_ok_and(|answer| answer.trim() != expected) {
            assert!(Instant::now() < until, "{sql} does not give {expected}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Restarts the server after it was killed or stopped.
    pub fn begin(&mut self) {
        assert!(self.process.is_none(), "it runs");
        let until = Instant::now() + PATIENCE;
        while !self.is_ready() {
            // After a kill the postmaster exits immediately while parts of the previous instance exist.
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
        // The log is useful if the server does not start.
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path("log")).expect("a log");
        self.program("postgres")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("postgres runs")
    }

    /// Returns `true` while the server process is running.
    pub fn runs(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| process.try_wait().is_ok_and(|ended| ended.is_none()))
    }

    fn is_ready(&self) -> bool {
        self.process.is_some() && self.psql("postgres", "SELECT 1").is_ok_and(|answer| answer.trim() == "1")
    }

    /// Kills the postmaster and all its children, simulating a power failure.
    pub fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // The process ID may have been reused.
        if process.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        let pid = process.id();
        let started = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        // Kills the postmaster first, because it would start other processes.
        let _ = process.kill();
        for started in started.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            let _ = kill_process(started, Signal::KILL);
        }
        let _ = process.wait();
    }

    /// Stops the server in order and disconnects its clients.
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

    /// Creates a database and returns its address, with the password.
    pub fn database(&self) -> String {
        let name = format!("test{}", self.made.fetch_add(1, Ordering::Relaxed));
        self.psql("postgres", &format!("CREATE DATABASE {name}")).expect("a database");
        self.address(&name)
    }

    /// Returns the address of a database, with the password.
    pub fn address(&self, database: &str) -> String {
        format!("postgres://{OWNER}:{}@127.0.0.1:{}/{database}", PASSWORD.replace(' ', "%20"), self.port)
    }

    /// Returns the port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the directory with the socket and all files of the server.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs SQL and returns the output: one line for each row, with `|` between columns.
    ///
    /// # Errors
    ///
    /// Returns the standard error of `psql`.
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

    /// Returns the command for one of the server's programs, run in its directory by an unprivileged user.
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
        // Backends may still be writing: the directory can be removed once they have ended.
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() && Instant::now() < until {
            sleep(Duration::from_millis(5));
        }
        let _ = fs::set_permissions(self.folder.path(), fs::Permissions::from_mode(0o700));
    }
}

/// Returns the directory with the programs of the newest version.
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

/// Starts a shell that kills the server and removes its directory when this process ends. Servers shared by
/// the tests of a file are never dropped.
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
