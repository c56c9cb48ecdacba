//! Sessions that their clients ended: ids that are sealed, and good no more.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use scorpiox_home::private;

use crate::session_id::Number;

/// How long an id is good, whatever its client does. What ended before is known by that.
pub(crate) const LIFETIME: Duration = Duration::from_hours(30 * 24);

/// Numbers of sessions, with when they ended; also in a file, a line for each.
#[derive(Default)]
pub(crate) struct Ended {
    numbers: BTreeMap<Number, u64>,
    file: Option<File>,
}

impl Ended {
    /// Those of a file. It is written anew where some are too old to matter.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let with_path =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut ended = Self::default();
        match private::open(path) {
            Ok(file) => ended.read(file).map_err(with_path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(with_path(error)),
        }
        let oldest = now().saturating_sub(LIFETIME.as_secs());
        let all = ended.numbers.len();
        ended.numbers.retain(|_, when| *when >= oldest);
        if ended.numbers.len() < all || !path.exists() {
            let lines = |file: &mut File| {
                ended
                    .numbers
                    .iter()
                    .try_for_each(|(number, when)| file.write_all(line(number, *when).as_bytes()))
            };
            match private::write(path, lines) {
                // Windows refuses while another server has it open: the file stays as long as it is.
                Err(error) if path.exists() => tracing::debug!("{}: {error}", path.display()),
                written => written.map_err(with_path)?,
            }
        }
        ended.file = Some(private::options().append(true).open(path).map_err(with_path)?);
        Ok(ended)
    }

    pub(crate) fn contains(&self, number: &Number) -> bool {
        self.numbers.contains_key(number)
    }

    /// Adds one; whether it was not there. It is there after a restart, too, when this has returned.
    pub(crate) fn insert(&mut self, number: Number) -> io::Result<bool> {
        if self.contains(&number) {
            return Ok(false);
        }
        let when = now();
        if let Some(file) = &mut self.file {
            file.write_all(line(&number, when).as_bytes())?;
        }
        self.numbers.insert(number, when);
        Ok(true)
    }

    /// A line that was not written whole says nothing.
    fn read(&mut self, file: File) -> io::Result<()> {
        for line in BufReader::new(file).lines() {
            self.numbers.extend(parsed(&line?));
        }
        Ok(())
    }
}

/// Begins with the line's end: one that was not written whole before stays a line of its own.
fn line(number: &Number, when: u64) -> String {
    format!("\n{:032x} {when}", u128::from_be_bytes(*number))
}

fn parsed(line: &str) -> Option<(Number, u64)> {
    let (number, when) = line.split_once(' ')?;
    let number = (number.len() == 32).then(|| u128::from_str_radix(number, 16).ok())??;
    Some((number.to_be_bytes(), when.parse().ok()?))
}

/// In seconds.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_stays_ended_over_a_restart_until_its_id_is_too_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("http/ended");
        let mut ended = Ended::open(&path).expect("a file");
        assert!(ended.insert([1; 16]).expect("written") && !ended.insert([1; 16]).expect("written"));
        drop(ended);
        let old = line(&[2; 16], now() - LIFETIME.as_secs() - 60);
        private::options()
            .append(true)
            .open(&path)
            .and_then(|mut file| write!(file, "{old}\n0123"))
            .expect("written");
        let mut ended = Ended::open(&path).expect("a file");
        assert!(ended.contains(&[1; 16]) && !ended.contains(&[2; 16]) && !ended.contains(&[3; 16]));
        ended.insert([3; 16]).expect("written");
        assert!(Ended::open(&path).expect("a file").contains(&[3; 16]));
    }
}
