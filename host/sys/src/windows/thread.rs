//! Threads of this process.

use std::io;
use std::time::Duration;

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadTimes};

/// Returns the processor time used by this thread.
#[allow(unsafe_code)]
pub fn time() -> io::Result<Duration> {
    let mut times = [FILETIME::default(); 4];
    let [created, ended, in_kernel, in_program] = &mut times;
    // SAFETY: the pseudo-handle of the thread needs no closing. The results are written to these four
    // variables.
    if unsafe { GetThreadTimes(GetCurrentThread(), created, ended, in_kernel, in_program) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let steps = |time: &FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    // The unit is 100 ns.
    Ok(Duration::from_nanos((steps(in_kernel) + steps(in_program)) * 100))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn time_is_counted_while_something_is_done() {
        let (before, until) = (time().expect("a time"), Instant::now() + Duration::from_secs(10));
        while time().expect("a time") == before {
            assert!(Instant::now() < until, "the clock stands still");
        }
    }
}
