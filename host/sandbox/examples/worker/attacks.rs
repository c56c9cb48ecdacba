//! Tasks that simulate a worker compromised by untrusted data.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};

use scorpiox_sandbox::confine::{Entered, enter};

pub(crate) fn main() -> ExitCode {
    match enter(|| Ok(())) {
        Some(Ok(entered)) => work(entered),
        Some(Err(fault)) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
        None => {
            eprintln!("this is a worker, which the tests of the cell start");
            ExitCode::FAILURE
        }
    }
}

fn work(mut entered: Entered) -> ExitCode {
    let mut input = String::new();
    let read = entered.input.read_to_string(&mut input);
    match entered.task.as_str() {
        "echo" => {
            let written = read.and_then(|_| entered.output.write_all(input.as_bytes()));
            if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        "refuse" => entered.refuse(&format!("no: {input}")),
        "reach" => {
            let text = reach(&input);
            if entered.output.write_all(text.as_bytes()).is_ok() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        "memory" => {
            let mut all = Vec::new();
            loop {
                all.push(vec![1_u8; 1 << 20]);
            }
        }
        "recurse" => ExitCode::from(recurse(0)),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "wait" => loop {
            std::thread::park();
        },
        "hush" => {
            hush();
            loop {
                std::thread::park();
            }
        }
        "fill" => loop {
            if entered.output.write_all(&[0; 1 << 13]).is_err() {
                return ExitCode::FAILURE;
            }
        },
        _ => panic!("on purpose"),
    }
}

/// Closes standard error, which the host reads.
fn hush() {
    // SAFETY: nothing owns this descriptor, and nothing writes to it anymore.
    #[allow(unsafe_code)]
    unsafe {
        libc::close(libc::STDERR_FILENO);
    }
}

#[allow(unconditional_recursion)]
fn recurse(depth: u8) -> u8 {
    let kept = std::hint::black_box([depth; 4096]);
    recurse(kept[usize::from(depth)]).wrapping_add(kept[0])
}

/// Returns one line for each resource that can be reached.
fn reach(secret: &str) -> String {
    let reached = [
        ("a file that is there", File::open(secret).is_ok()),
        ("its folder", std::fs::read_dir("/").is_ok()),
        ("what is known of it", std::fs::metadata(secret).is_ok()),
        ("a new file", File::create(format!("{secret}.new")).is_ok()),
        ("deleting it", std::fs::remove_file(secret).is_ok()),
        ("its own memory as a file", File::open("/proc/self/mem").is_ok()),
        ("a listener", TcpListener::bind("127.0.0.1:0").is_ok()),
        ("a datagram", UdpSocket::bind("127.0.0.1:0").is_ok()),
        ("a pair of sockets", UnixStream::pair().is_ok()),
        ("a pipe", std::io::pipe().is_ok()),
        ("a program", attempt_program()),
        ("a thread", std::thread::Builder::new().spawn(|| ()).is_ok()),
        ("its parent", parent_can_be_signalled()),
        ("more rights", rustix::process::setrlimit(rustix::process::Resource::Nofile, unlimited()).is_ok()),
        ("memory that is executed", executable_memory()),
        ("memory that is shared", shared_memory()),
        ("a descriptor of who started the host", open_descriptors() > 2),
    ];
    let had: Vec<_> = reached.into_iter().filter(|(_, had)| *had).map(|(what, _)| what).collect();
    had.join("\n")
}

#[allow(clippy::disallowed_methods)] // always fails
fn attempt_program() -> bool {
    Command::new("/bin/true").spawn().is_ok()
}

fn parent_can_be_signalled() -> bool {
    let parent = rustix::process::getppid();
    parent.is_some_and(|parent| rustix::process::test_kill_process(parent).is_ok())
        || rustix::process::test_kill_process(rustix::process::Pid::INIT).is_ok()
}

fn unlimited() -> rustix::process::Rlimit {
    rustix::process::Rlimit { current: None, maximum: None }
}

/// Attempts to map shared memory, which no memory limit counts.
fn shared_memory() -> bool {
    const BYTES: usize = 4096;
    let ways = [libc::MAP_SHARED, libc::MAP_SHARED_VALIDATE];
    ways.into_iter().any(|way| {
        // SAFETY: requests new memory that nothing points to.
        #[allow(unsafe_code)]
        let memory = unsafe {
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), BYTES, rights, way | libc::MAP_ANONYMOUS, -1, 0)
        };
        memory != libc::MAP_FAILED
    })
}

/// Returns the number of descriptors above the standard three. Two are expected: the input and the output.
fn open_descriptors() -> usize {
    let is_open = |number: &libc::c_int| {
        // SAFETY: an all-zero structure is a valid value, which the kernel fills in.
        #[allow(unsafe_code)]
        unsafe {
            let mut about: libc::stat = std::mem::zeroed();
            libc::fstat(*number, &raw mut about) == 0
        }
    };
    (3..4096).filter(is_open).count()
}

/// Attempts both ways to get executable memory.
fn executable_memory() -> bool {
    const BYTES: usize = 4096;
    // SAFETY: this is new memory that nothing else points to, and nothing in it is executed.
    #[allow(unsafe_code)]
    unsafe {
        let executable = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let at_once = libc::mmap(std::ptr::null_mut(), BYTES, executable, flags, -1, 0);
        let plain = libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        let later = plain != libc::MAP_FAILED && libc::mprotect(plain, BYTES, executable) == 0;
        at_once != libc::MAP_FAILED || later
    }
}
