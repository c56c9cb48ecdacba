//! Tests of a full disk and of a read-only home.
//!
//! Both need a small file system. If none can be mounted, a limit on the file size and an unprivileged user
//! substitute for it. Each test prints the variant that it used.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Resource, Rlimit, getuid, prlimit};
use scorpiox_tests::http::HttpServer;
use scorpiox_tests::program::{binary, unwrapped};
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::support::{create, database, handshake, session, stored};

/// In-memory file system, unmounted when dropped.
pub struct Mount(TempDir);

impl Mount {
    /// Mounts the file system; `None` if mounting is not permitted or is disabled (`SCORPIOX_TEST_MOUNT=no`).
    pub fn new(options: &str) -> Option<Self> {
        if std::env::var_os("SCORPIOX_TEST_MOUNT").is_some_and(|wanted| wanted == "no") {
            return None;
        }
        let folder = TempDir::new().expect("a temporary folder");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path()).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }

    /// Mounts a file system for a test that needs one, or returns `None` if `SCORPIOX_TEST_MOUNT=no`.
    pub fn needed(options: &str) -> Option<Self> {
        let mount = Self::new(options);
        let is_unwanted = std::env::var_os("SCORPIOX_TEST_MOUNT").is_some_and(|wanted| wanted == "no");
        assert!(
            mount.is_some() || is_unwanted,
            "no file system can be mounted; run the tests as root, or set SCORPIOX_TEST_MOUNT=no to do without"
        );
        mount
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn make_read_only(&self) {
        let done = Command::new("mount").args(["-o", "remount,ro"]).arg(self.path()).status();
        assert!(done.expect("mount runs").success(), "mounted before, so it can be mounted again");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

/// Kind of space limit.
pub enum Disk {
    /// A file system with a file that can be deleted to free space.
    Small { mount: Mount, ballast: PathBuf },
    /// Any file system, with a limit on the server's file size.
    Limited(TempDir),
}

impl Disk {
    /// Creates a disk of 2 MiB with `free` bytes free.
    pub fn new(free: usize) -> Self {
        const SIZE: usize = 2 * 1024 * 1024;
        let Some(mount) = Mount::new(&format!("size={SIZE}")) else {
            eprintln!("full disk: no file system can be mounted, so the size of files is limited");
            return Self::Limited(TempDir::new().expect("a temporary folder"));
        };
        eprintln!("full disk: a file system of 2 MiB, {} KiB free", free / 1024);
        let ballast = mount.path().join("ballast");
        fs::write(&ballast, vec![0; SIZE - free]).expect("there is space yet");
        Self::Small { mount, ballast }
    }

    pub fn own_home(&self) -> PathBuf {
        match self {
            Self::Small { mount, .. } => mount.path().join("own"),
            Self::Limited(folder) => folder.path().join("own"),
        }
    }

    pub fn start(&self, program: &Program, free: usize) -> Started {
        match self {
            Self::Small { .. } => program.start(),
            Self::Limited(_) => {
                // Without the trap, SIGXFSZ would kill a process that exceeds its limit.
                let mut command = Command::new("sh");
                command.args(["-c", "trap '' XFSZ; exec prlimit --fsize=\"$0\":unlimited \"$1\""]);
                command.arg(free.to_string()).arg(binary());
                let like = program.command();
                command.current_dir(like.get_current_dir().expect("set")).env_clear();
                command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
                Started::spawn(command)
            }
        }
    }

    /// Returns the expected error text of a write without space.
    fn words(&self) -> &str {
        match self {
            Self::Small { .. } => ".db is full",
            // Exceeding the limit is a different system error, for which SQLite has only a generic message.
            Self::Limited(_) => "",
        }
    }

    pub fn free_space(&self, server: &Started) {
        match self {
            Self::Small { ballast, .. } => fs::remove_file(ballast).expect("it is there"),
            Self::Limited(_) => {
                let pid = rustix::process::Pid::from_child(&server.child);
                let none = Rlimit { current: None, maximum: None };
                prlimit(Some(pid), Resource::Fsize, none).expect("a child of ours");
            }
        }
    }
}

/// Creates a task and returns its ID and name, or the text of the refusal.
fn try_to_create(server: &mut Started, name: &str) -> Result<(u64, String), String> {
    let result = server.call("TaskManager", json!({ "action": "create", "text": name }));
    if result["isError"] == true {
        return Err(result["content"][0]["text"].as_str().expect("a text").to_owned());
    }
    let task = &result["structuredContent"]["tasks"][0];
    Ok((task["id"].as_u64().expect("an id"), task["name"].as_str().expect("a name").to_owned()))
}

fn names_on_first_page(server: &mut Started) -> Vec<Value> {
    let list = server.call("TaskManager", json!({ "action": "list", "query": "" }));
    assert_eq!(list["isError"], false, "{list}");
    let tasks = list["structuredContent"]["tasks"].as_array().expect("tasks");
    tasks.iter().map(|task| task["name"].clone()).collect()
}

#[test]
fn a_full_disk_refuses_writes_in_clear_words_keeps_everything_and_works_again_with_space() {
    let free = 800 * 1024;
    let disk = Disk::new(free);
    let program = Program::new().with("SCORPIOX_HOME", disk.own_home().to_str().expect("UTF-8"));
    let mut server = disk.start(&program, free);
    server.initialize("2025-11-25");
    let mut kept = std::collections::BTreeMap::new();
    let refusal = loop {
        let name = format!("task {} {}", kept.len(), "filler ".repeat(60));
        match try_to_create(&mut server, &name) {
            Ok((id, name)) => assert!(kept.insert(id, name).is_none(), "id {id} was given twice"),
            Err(refusal) => break refusal,
        }
        assert!(kept.len() < 5000, "the disk does not get full");
    };
    eprintln!("full disk: {} tasks were acknowledged, then: {refusal}", kept.len());
    assert!(refusal.contains(disk.words()), "{refusal}");
    for _ in 0..20 {
        // SQLite restarts its write-ahead log at times, which frees some space.
        match try_to_create(&mut server, &"more ".repeat(90)) {
            Ok((id, name)) => assert!(kept.insert(id, name).is_none(), "id {id} was given twice"),
            Err(again) => assert!(again.contains(disk.words()), "{again}"),
        }
        let names = names_on_first_page(&mut server);
        assert!(kept.values().next_back().is_some_and(|newest| names[0] == **newest), "reads go on working");
    }
    disk.free_space(&server);
    for n in 0..20 {
        let (id, name) = try_to_create(&mut server, &format!("afterwards {n}")).expect("there is space now");
        assert!(kept.insert(id, name).is_none(), "id {id} was given twice");
    }
    server.close_input();
    assert!(server.wait().0.success());
    assert_eq!(stored(&database(&disk.own_home())).tasks, kept);
}

#[test]
fn a_disk_that_is_full_from_the_start_is_named_and_freed_space_is_used_without_a_restart() {
    for free in [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 112] {
        let free = free * 1024;
        let disk = Disk::new(free);
        let program = Program::new().with("SCORPIOX_HOME", disk.own_home().to_str().expect("UTF-8"));
        let mut server = disk.start(&program, free);
        server.initialize("2025-11-25");
        assert!(server.ask("tools/list", json!({}))["result"]["tools"].is_array());
        let mut kept = std::collections::BTreeMap::new();
        for n in 0..100 {
            match try_to_create(&mut server, &format!("task {n} {}", "filler ".repeat(60))) {
                Ok((id, name)) => drop(kept.insert(id, name)),
                Err(refusal) => assert!(refusal.contains(disk.words()), "{free} bytes free: {refusal}"),
            }
        }
        disk.free_space(&server);
        let freed = try_to_create(&mut server, "afterwards");
        let (id, name) =
            freed.unwrap_or_else(|refusal| panic!("{free} bytes were free, now more: {refusal}"));
        assert!(kept.insert(id, name).is_none(), "id {id} was given twice");
        server.close_input();
        assert!(server.wait().0.success());
        assert_eq!(stored(&database(&disk.own_home())).tasks, kept, "{free} bytes free");
    }
}

#[test]
fn a_full_disk_lets_no_session_end_that_would_come_back_and_loses_none() {
    let Some(mount) = Mount::needed("size=2m") else { return };
    let own_home = mount.path().join("own");
    let program = Program::new().with("SCORPIOX_HOME", own_home.to_str().expect("UTF-8"));
    let start = |program: &Program| {
        let mut server = program.serve_http(0);
        server.token = fs::read_to_string(own_home.join("http/token")).expect("a token").trim().to_owned();
        server
    };
    let server = start(&program);
    let session = server.session("2025-11-25", json!({}));
    let call = |server: &HttpServer, text: &str| {
        let params = json!({ "name": "TaskManager", "arguments": { "action": "create", "text": text } });
        server.ask(&server.in_session(&session, 1, "tools/call", &params))
    };
    assert_eq!(call(&server, "before").json()["result"]["isError"], json!(false));
    // Fills the file system to the last byte.
    let mut rest = fs::File::create(mount.path().join("rest")).expect("a file");
    while rest.write(&[0; 4096]).is_ok_and(|written| written > 0) {}
    drop(rest);
    let end = server.in_session(&session, 2, "ping", &json!({})).method("DELETE").body("");
    let refused = server.ask(&end);
    assert!(refused.status == 500 && refused.body.contains("could not be written"), "{refused:?}");
    let list = server.in_session(&session, 3, "tools/list", &json!({}));
    assert_eq!(server.ask(&list).status, 200, "it goes on");
    let other = server.session("2025-11-25", json!({}));
    assert!(!other.is_empty(), "a session needs no disk");
    drop(server);
    // A restart does not need space either.
    let server = start(&program);
    assert_eq!(server.ask(&server.in_session(&session, 4, "tools/list", &json!({}))).status, 200);
    let refused = call(&server, &"more ".repeat(400)).json();
    assert!(refused["result"]["isError"] == true || refused["error"].is_object(), "{refused}");
    fs::remove_file(mount.path().join("rest")).expect("it is there");
    assert_eq!(call(&server, "after").json()["result"]["isError"], json!(false));
    let end = server.in_session(&session, 5, "ping", &json!({})).method("DELETE").body("");
    assert_eq!((server.ask(&end).status, server.ask(&end).status), (204, 404));
}

/// Read-only home, and the way to run the program there.
struct ReadOnly {
    own_home: PathBuf,
    program: Program,
    mount: Option<Mount>,
    /// Removed when this value is dropped.
    _folder: TempDir,
}

impl ReadOnly {
    /// Creates a home that `fill` populates before it becomes read-only.
    fn new(fill: impl FnOnce(&Program)) -> Self {
        let mount = Mount::new("size=4m");
        let folder = TempDir::new().expect("a temporary folder");
        let own_home = mount.as_ref().map_or(folder.path(), Mount::path).join("own");
        fs::create_dir(&own_home).expect("a folder");
        let program = Program::new().with("SCORPIOX_HOME", own_home.to_str().expect("UTF-8"));
        fill(&program);
        if let Some(mount) = &mount {
            eprintln!("read-only home: a file system without the right to write");
            mount.make_read_only();
        } else {
            eprintln!("read-only home: no file system can be mounted, so it is a matter of permissions");
            let shut = fs::Permissions::from_mode(0o555);
            for folder in [&own_home, &own_home.join("state")] {
                if folder.exists() {
                    fs::set_permissions(folder, shut.clone()).expect("a folder of ours");
                }
            }
            let open = fs::Permissions::from_mode(0o755);
            let parents = [folder.path(), program.home().parent().expect("a parent")].map(Path::to_owned);
            for folder in parents {
                fs::set_permissions(folder, open.clone()).expect("a folder of ours");
            }
        }
        Self { own_home, program, mount, _folder: folder }
    }

    /// Returns the command for a user without write access to the home.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program.command();
        if self.mount.is_none() && getuid().is_root() {
            // Root ignores permissions.
            let mut nobody = Command::new("setpriv");
            nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(binary());
            nobody.current_dir(command.get_current_dir().expect("set")).env_clear();
            nobody.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command = nobody;
        }
        command.args(arguments);
        command
    }

    fn check(&self) {
        let mut server = Started::spawn(self.command(&[]));
        let hello = server.initialize("2025-11-25");
        assert_eq!(hello["serverInfo"]["name"], "scorpiox-code");
        assert!(server.ask("tools/list", json!({}))["result"]["tools"].is_array());
        let refusal = try_to_create(&mut server, "a task").expect_err("it cannot be kept");
        eprintln!("read-only home: {refusal}");
        assert!(refusal.contains("cannot be written"), "{refusal}");
        assert!(refusal.contains(self.own_home.to_str().expect("UTF-8")), "names the place: {refusal}");
        server.close_input();
        assert!(server.wait().0.success());

        let doctor = self.command(&["doctor"]).output().expect("the program runs");
        let text = unwrapped(&String::from_utf8(doctor.stdout).expect("UTF-8"));
        assert_eq!(doctor.status.code(), Some(1), "{text}");
        let own = self.own_home.to_str().expect("UTF-8");
        let says =
            |line: &str| line.contains("FAIL") && line.contains("cannot be written") && line.contains(own);
        assert!(text.lines().any(says), "{text}");
        // The home itself, and therefore the store, the audit, and the shell, which stores long outputs
        // there.
        assert!(text.contains("4 things have to be fixed"), "{text}");
    }
}

#[test]
fn a_read_only_home_is_named_by_the_write_that_fails_and_by_doctor() {
    ReadOnly::new(|_| {}).check();
}

#[test]
fn a_read_only_home_with_a_database_is_named_by_the_write_that_fails_and_by_doctor() {
    let home = ReadOnly::new(|program| {
        let (messages, _, status) = session(program, &(handshake() + &create(1, "before")));
        assert!(status.success() && messages[1]["result"]["isError"] == false, "{messages:?}");
    });
    home.check();
}
