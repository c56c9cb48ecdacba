//! Times of files, compared with the start of a command.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{MemfdFlags, Mode, fchmod, fstat, memfd_create};

/// File systems take timestamps from a clock that lags by up to one tick.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// Units to which file systems round times, in nanoseconds, the coarsest first: those of many older systems, of
/// creation times of FAT and exFAT, of UDF, and of NTFS and SMB.
const UNITS: [u32; 4] = [1_000_000_000, 10_000_000, 1_000, 100];

/// Returns a time that is not later than that of any file created from now on, except by rounding.
///
/// The clock is too coarse to tell files of a moment ago from later ones: they could have the same time. Since Linux
/// 6.13, a file that changes after somebody read its times gets a precise one, and no file gets an earlier one afterwards.
pub(super) fn now() -> Duration {
    of_new_file().unwrap_or_else(|_| {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(CLOCK_TICK)
    })
}

fn of_new_file() -> rustix::io::Result<Duration> {
    let file = memfd_create("now", MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| memfd_create("now", MemfdFlags::CLOEXEC))?;
    fstat(&file)?;
    fchmod(&file, Mode::RUSR)?;
    let stat = fstat(&file)?;
    let (seconds, nanoseconds) = (u64::try_from(stat.st_ctime), u32::try_from(stat.st_ctime_nsec));
    let out_of_range = |_| rustix::io::Errno::OVERFLOW;
    Ok(Duration::new(seconds.map_err(out_of_range)?, nanoseconds.map_err(out_of_range)?))
}

/// Returns the latest time that a file system could have rounded to this time.
pub(super) fn latest(time: Duration) -> Duration {
    let is_rounded = |unit: &&u32| time.subsec_nanos().is_multiple_of(**unit);
    UNITS.iter().find(is_rounded).map_or(time, |&unit| time + Duration::from_nanos(u64::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::mounts::About;

    #[test]
    fn a_file_is_not_older_than_a_time_before_it() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        for number in 0..200 {
            let before = now();
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, "").expect("a new file");
            let folder = std::fs::File::open(folder.path()).expect("the directory").into();
            let about = About::entry(&folder, path.file_name().expect("a name")).expect("metadata");
            let time = about.born.or(about.changed).expect("a time");
            assert!(latest(time) >= before, "{number}: {time:?} {before:?}");
        }
    }

    /// Since Linux 6.13, what an earlier command created is older than a later command, however soon that starts.
    #[test]
    fn a_directory_from_before_is_older_where_the_kernel_has_fine_times() {
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        let mut numbers =
            release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
        if (numbers.next(), numbers.next()) < (Some(6), Some(13)) {
            return eprintln!("Linux {release} has no fine times: nothing was tested");
        }
        let folder = tempfile::tempdir().expect("a temporary directory");
        for number in 0..200 {
            let path = folder.path().join(number.to_string());
            std::fs::create_dir(&path).expect("a new directory");
            let after = now();
            let about =
                About::folder(&std::fs::File::open(&path).expect("the directory").into()).expect("metadata");
            let Some(born) = about.born else {
                return eprintln!("the file system has no creation times: nothing was tested");
            };
            // File systems that round to units of their own have no fine times.
            assert!(born < after || latest(born) > born, "{number}: {born:?} {after:?}");
        }
    }

    #[test]
    fn rounded_times_count_for_the_end_of_their_unit() {
        let after =
            |nanoseconds| latest(Duration::new(9, nanoseconds)).saturating_sub(Duration::new(9, nanoseconds));
        assert_eq!(after(0), Duration::from_secs(1));
        assert_eq!(after(20_000_000), Duration::from_millis(10));
        assert_eq!(after(20_001_000), Duration::from_micros(1));
        assert_eq!(after(123_400), Duration::from_nanos(100));
        assert_eq!(after(123_456), Duration::ZERO);
    }
}
