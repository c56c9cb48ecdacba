//! Removes folders as hostile commands leave them. The test has a process of its own, because it lowers limits.

#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, IFlags, Mode, OFlags, mkdirat, openat};
use rustix::process::{Resource, Rlimit, setrlimit};
use scorpiox_sys::{remove_folder, remove_folder_until};

/// Makes a chain of folders, deeper than any path can name.
fn make_chain(top: &Path, levels: usize) {
    let open = |at: &OwnedFd, name: &str| {
        openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .expect("a folder")
    };
    fs::create_dir(top).expect("a folder");
    let mut at = openat(CWD, top, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .expect("a folder");
    for level in 0..levels {
        mkdirat(&at, "d", Mode::RWXU).expect("a folder");
        let next = open(&at, "d");
        if level % 1000 == 0 {
            let file = openat(&at, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).expect("a file");
            drop(file);
            // The names that the removal gives to deep folders may be in use.
            mkdirat(&at, ".1", Mode::RWXU).expect("a folder");
            mkdirat(open(&at, ".1"), "inside", Mode::RWXU).expect("a folder");
        }
        at = next;
    }
}

#[test]
fn what_hostile_commands_leave_is_removed() {
    let few = Rlimit { current: Some(64), maximum: Some(64) };
    setrlimit(Resource::Nofile, few).expect("a limit");
    let ground = tempfile::tempdir().expect("a folder");
    // Disks need a minute for so many folders.
    let memory = tempfile::tempdir_in("/dev/shm").ok();
    deep_folders(memory.as_ref().unwrap_or(&ground).path());
    closed_folders(ground.path());
    wide_folders(ground.path());
    links(ground.path());
    what_cannot_be_removed(ground.path());
}

/// Many more levels than fit on a stack.
fn deep_folders(ground: &Path) {
    const LEVELS: usize = 80_000;
    let deep = ground.join("deep");
    make_chain(&deep, LEVELS);
    let before = Instant::now();
    let partly = remove_folder_until(&deep, before + Duration::from_millis(20));
    assert_eq!(partly.expect_err("a timeout").kind(), io::ErrorKind::TimedOut);
    assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
    // As small as the stack of a thread may be.
    let folder = deep.clone();
    let removal = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || remove_folder(&folder));
    removal.expect("a thread").join().expect("no panic").expect("it is removed");
    assert!(!deep.exists());
}

fn closed_folders(ground: &Path) {
    let (closed, kept) = (ground.join("closed"), ground.join("kept"));
    fs::create_dir_all(closed.join("a/b/c")).expect("a folder");
    fs::write(closed.join("a/b/file"), "text").expect("a file");
    fs::create_dir(&kept).expect("a folder");
    std::os::unix::fs::symlink(&kept, closed.join("a/link")).expect("a link");
    for (name, mode) in [("a/b/c", 0o000), ("a/b", 0o500), ("a", 0o000), ("", 0o000)] {
        fs::set_permissions(closed.join(name), Permissions::from_mode(mode)).expect("a mode");
    }
    fs::set_permissions(&kept, Permissions::from_mode(0o000)).expect("a mode");
    remove_folder(&closed).expect("it is removed");
    assert!(!closed.exists());
    let mode = kept.metadata().expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0, "what a link leads to");
}

fn wide_folders(ground: &Path) {
    let wide = ground.join("wide");
    fs::create_dir(&wide).expect("a folder");
    for number in 0..5000 {
        fs::create_dir(wide.join(format!(".{number}"))).expect("a folder");
        fs::write(wide.join(format!(".{number}/file")), "").expect("a file");
    }
    remove_folder(&wide).expect("it is removed");
    assert!(!wide.exists());
}

fn links(ground: &Path) {
    let (other, link) = (ground.join("other"), ground.join("link"));
    fs::create_dir(&other).expect("a folder");
    fs::write(other.join("file"), "text").expect("a file");
    std::os::unix::fs::symlink(&other, &link).expect("a link");
    remove_folder(&link).expect_err("a link is no folder");
    assert!(other.join("file").exists() && link.symlink_metadata().is_ok());
}

fn what_cannot_be_removed(ground: &Path) {
    let (stuck, missing) = (ground.join("stuck"), ground.join("missing"));
    assert_eq!(remove_folder(&missing).expect_err("nothing").kind(), io::ErrorKind::NotFound);
    let deep = stuck.join("a/".repeat(40));
    fs::create_dir_all(&deep).expect("a folder");
    let [kept, other] = ["kept", "other"].map(|name| deep.join(name));
    fs::write(&kept, "text").expect("a file");
    fs::write(&other, "text").expect("a file");
    if !set_immutable(&kept) {
        return;
    }
    let file = fs::File::open(&kept).expect("a file");
    remove_folder(&stuck).expect_err("a file stays");
    assert!(stuck.exists() && !other.exists());
    rustix::fs::ioctl_setflags(&file, IFlags::empty()).expect("a flag");
    remove_folder(&stuck).expect("it is removed");
    assert!(!stuck.exists());
}

/// Returns `false` if this process may not set the flag, or the file system has none.
fn set_immutable(file: &Path) -> bool {
    let file = fs::File::open(file).expect("a file");
    rustix::fs::ioctl_setflags(&file, IFlags::IMMUTABLE).is_ok()
}
