//! Job objects: processes that are counted, limited and ended together.

use std::io;
use std::mem::size_of;
use std::os::windows::io::{
    AsHandle as _, AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle,
};
use std::os::windows::process::CommandExt as _;
use std::process::{Child, Command};
use std::ptr;
use std::time::Duration;

use windows_sys::Win32::Foundation::{ERROR_MORE_DATA, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_JOB_MEMORY, JOB_OBJECT_LIMIT_JOB_TIME,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicProcessIdList,
    JobObjectExtendedLimitInformation, QueryInformationJobObject, SetInformationJobObject,
    TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
};

use crate::windows::process;

/// Limits for all processes of a job together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent processes.
    pub processes: u32,
    /// Maximum committed memory in bytes.
    pub memory: u64,
    /// Maximum processor time.
    pub time: Option<Duration>,
}

/// Processes that end together when this is dropped or this process ends for any reason.
#[derive(Debug)]
pub struct Job(OwnedHandle);

impl Job {
    /// Creates a job without processes.
    #[allow(unsafe_code)]
    pub fn new(limits: &Limits) -> io::Result<Self> {
        // SAFETY: passes no pointers. The returned handle is owned from here on.
        let handle = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle is new and has no other owner.
        let job = Self(unsafe { OwnedHandle::from_raw_handle(handle) });
        let mut wanted = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        let basic = &mut wanted.BasicLimitInformation;
        basic.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
            | JOB_OBJECT_LIMIT_ACTIVE_PROCESS
            | JOB_OBJECT_LIMIT_JOB_MEMORY
            | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
        basic.ActiveProcessLimit = limits.processes;
        if let Some(time) = limits.time {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_JOB_TIME;
            // The unit is 100 ns.
            basic.PerJobUserTimeLimit = i64::try_from(time.as_nanos() / 100).unwrap_or(i64::MAX);
        }
        wanted.JobMemoryLimit = usize::try_from(limits.memory).unwrap_or(usize::MAX);
        let bytes = u32::try_from(size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>()).unwrap_or_default();
        // SAFETY: the handle is open, and the structure has the given number of bytes.
        let set = unsafe {
            SetInformationJobObject(
                job.0.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const wanted).cast(),
                bytes,
            )
        };
        if set == 0 { Err(io::Error::last_os_error()) } else { Ok(job) }
    }

    /// Starts a command without a window in the job. It runs no code before it belongs to the job.
    #[allow(clippy::disallowed_methods)]
    pub fn start(&self, command: &mut Command) -> io::Result<Child> {
        let mut child = command.creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW).spawn()?;
        let begun = self.assign(child.as_handle()).and_then(|()| resume(child.id()));
        if let Err(error) = begun {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok(child)
    }

    #[allow(unsafe_code)]
    fn assign(&self, process: BorrowedHandle<'_>) -> io::Result<()> {
        // SAFETY: both handles are open.
        let assigned = unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process.as_raw_handle()) };
        if assigned == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Ends all processes of the job.
    #[allow(unsafe_code)]
    pub fn end(&self) -> io::Result<()> {
        const KILLED: u32 = 1;
        // SAFETY: the handle is open.
        if unsafe { TerminateJobObject(self.0.as_raw_handle(), KILLED) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Returns the number of running processes, not counting the host of a hidden console.
    #[allow(unsafe_code)]
    pub fn processes(&self) -> io::Result<u32> {
        // The list is preceded by two 32-bit numbers.
        let mut list = [0_usize; 1 + MOST_LISTED];
        let bytes = u32::try_from(size_of_val(&list)).unwrap_or_default();
        // SAFETY: the handle is open, and the buffer has the given number of writable bytes.
        let asked = unsafe {
            QueryInformationJobObject(
                self.0.as_raw_handle(),
                JobObjectBasicProcessIdList,
                list.as_mut_ptr().cast(),
                bytes,
                ptr::null_mut(),
            )
        };
        if asked == 0 {
            let error = io::Error::last_os_error();
            let is_longer = error.raw_os_error() == Some(ERROR_MORE_DATA.cast_signed());
            return if is_longer { Ok(u32::try_from(MOST_LISTED).unwrap_or(u32::MAX)) } else { Err(error) };
        }
        let listed = (list[0] >> 32).min(MOST_LISTED);
        let numbers = list[1..=listed].iter().filter_map(|number| u32::try_from(*number).ok());
        let commands = numbers.filter(|number| !is_console(*number)).count();
        Ok(u32::try_from(commands).unwrap_or(u32::MAX))
    }
}

/// Maximum number of processes of a job that are inspected individually.
const MOST_LISTED: usize = 1024;

/// Returns `true` if the process is the console host that Windows starts for a hidden console.
fn is_console(number: u32) -> bool {
    process::image(number)
        .is_ok_and(|image| image.file_name().is_some_and(|name| name.eq_ignore_ascii_case("conhost.exe")))
}

/// Resumes a process that was started suspended and has a single thread.
#[allow(unsafe_code)]
fn resume(process: u32) -> io::Result<()> {
    // SAFETY: the returned handle is owned from here on.
    let handle = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is new and has no other owner.
    let threads = unsafe { OwnedHandle::from_raw_handle(handle) };
    let mut entry = THREADENTRY32 {
        dwSize: u32::try_from(size_of::<THREADENTRY32>()).unwrap_or_default(),
        ..THREADENTRY32::default()
    };
    // SAFETY: the snapshot is open, and the entry contains its own size.
    let mut is_there = unsafe { Thread32First(threads.as_raw_handle(), &raw mut entry) };
    while is_there != 0 {
        if entry.th32OwnerProcessID == process {
            return resume_thread(entry.th32ThreadID);
        }
        // SAFETY: same as above.
        is_there = unsafe { Thread32Next(threads.as_raw_handle(), &raw mut entry) };
    }
    Err(io::Error::other("the process has no thread"))
}

#[allow(unsafe_code)]
fn resume_thread(number: u32) -> io::Result<()> {
    // SAFETY: the returned handle is owned from here on.
    let handle = unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, number) };
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is new and has no other owner.
    let thread = unsafe { OwnedHandle::from_raw_handle(handle) };
    // SAFETY: the handle is open.
    if unsafe { ResumeThread(thread.as_raw_handle()) } == u32::MAX {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::thread;
    use std::time::Instant;

    use super::*;

    const LIMITS: Limits = Limits { processes: 8, memory: 1 << 30, time: None };

    #[allow(clippy::disallowed_methods)]
    fn shell(line: &str) -> Command {
        let mut command = Command::new("cmd");
        command.args(["/c", line]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    #[test]
    fn what_is_started_runs_and_is_counted() {
        let job = Job::new(&LIMITS).expect("a job");
        let child = job.start(&mut shell("echo hello")).expect("starts");
        let output = child.wait_with_output().expect("ends");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "hello");
        assert_eq!(job.processes().expect("a number"), 0);
    }

    #[test]
    fn all_of_it_ends_at_once() {
        let job = Job::new(&LIMITS).expect("a job");
        // This process starts another one.
        let mut child = job.start(&mut shell("cmd /c ping -n 60 127.0.0.1")).expect("starts");
        let until = Instant::now() + Duration::from_secs(20);
        while job.processes().expect("a number") < 2 && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
        job.end().expect("ends");
        assert!(!child.wait().expect("has ended").success());
        while job.processes().expect("a number") > 0 {
            assert!(Instant::now() < until, "a process goes on");
            thread::sleep(Duration::from_millis(20));
        }
    }
}
