//! Files with the complete output that is too long to show.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use scorpiox_fs::home::private;

/// Maximum number of bytes stored of one output.
pub const SPILL_BYTES: u64 = 64 * 1024 * 1024;
/// File name prefix: files are named `output-….txt`.
const PREFIX: &str = "output-";
const SUFFIX: &str = ".txt";

/// Path of the file to create.
#[derive(Debug, Clone)]
pub struct SpillPlace(Option<PathBuf>);

impl SpillPlace {
    /// Names a file in `folder`, which is created on demand. `stem` must be unique in the folder.
    pub fn new(folder: impl AsRef<Path>, stem: &str) -> Self {
        Self(Some(folder.as_ref().join(format!("{PREFIX}{stem}{SUFFIX}"))))
    }

    /// Stores no file.
    pub fn none() -> Self {
        Self(None)
    }
}

/// File that contains an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullOutput {
    /// Path of the file.
    pub path: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// `true` if the file contains the complete output.
    pub complete: bool,
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Spill<W = File> {
    path: PathBuf,
    writer: W,
    bytes: u64,
    full: bool,
    error: Option<String>,
}

impl Spill<File> {
    /// Creates the file. Returns `None` if `place` names no file, and an error message if creation fails.
    pub(crate) fn create(place: &SpillPlace) -> Option<Result<Self, String>> {
        let path = place.0.clone()?;
        let made = create(&path).map_err(|error| error.to_string());
        Some(made.map(|writer| Self { path, writer, bytes: 0, full: false, error: None }))
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        private::folder(folder)?;
    }
    // The file must be new, so that it neither belongs to another program nor is reached through a link.
    private::options().write(true).create_new(true).open(path)
}

impl<W: Write> Spill<W> {
    /// Writes the bytes that still fit. A failed write ends the file, but not the command.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.full || self.error.is_some() {
            return;
        }
        let room = usize::try_from(SPILL_BYTES - self.bytes).unwrap_or(usize::MAX);
        let fits = &bytes[..bytes.len().min(room)];
        self.full = fits.len() < bytes.len();
        match self.writer.write_all(fits) {
            Ok(()) => self.bytes += fits.len() as u64,
            Err(error) => self.error = Some(error.to_string()),
        }
    }

    /// Returns the file, if it contains anything, and the error, if any.
    pub(crate) fn finish(self) -> (Option<FullOutput>, Option<String>) {
        let Self { path, bytes, full, error, .. } = self;
        if bytes == 0 {
            let _ = fs::remove_file(&path);
            return (None, error);
        }
        (Some(FullOutput { path, bytes, complete: !full && error.is_none() }), error)
    }
}

/// Number of bytes of an output from which a file has all of it: more than results show.
const WHOLE_BYTES: usize = 32 * 1024;

/// The whole of an output that is read in pieces, in a file once it is long.
#[derive(Debug)]
pub struct Whole {
    place: SpillPlace,
    /// Output before there is a file.
    before: Vec<u8>,
    spill: Option<Result<Spill, String>>,
}

impl Whole {
    /// Creates an empty output, which uses `place` if it gets long.
    pub fn new(place: SpillPlace) -> Self {
        Self { place, before: Vec::new(), spill: None }
    }

    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.spill {
            Some(Ok(spill)) => spill.write(bytes),
            Some(Err(_)) => {}
            None => {
                self.before.extend_from_slice(&bytes[..bytes.len().min(WHOLE_BYTES)]);
                if self.before.len() < WHOLE_BYTES {
                    return;
                }
                let rest = &bytes[bytes.len().min(WHOLE_BYTES)..];
                let before = std::mem::take(&mut self.before);
                let made = Spill::create(&self.place);
                self.spill = Some(made.unwrap_or_else(|| Err("no file is kept".to_owned())));
                if let Some(Ok(spill)) = &mut self.spill {
                    spill.write(&before);
                    spill.write(rest);
                }
            }
        }
    }

    /// Returns the file, if there is one.
    pub fn file(&self) -> Option<FullOutput> {
        let Some(Ok(Spill { path, bytes, full, error, .. })) = &self.spill else { return None };
        Some(FullOutput { path: path.clone(), bytes: *bytes, complete: !full && error.is_none() })
    }
}

/// Removes the oldest files of `folder` until at most `keep_files` files with a total of `keep_bytes` remain.
/// Only regular files with this module's naming are removed, and links are not followed.
pub fn prune(folder: impl AsRef<Path>, keep_files: usize, keep_bytes: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
        })
        .filter_map(|entry| {
            let found = entry.path().symlink_metadata().ok().filter(fs::Metadata::is_file)?;
            Some((found.modified().ok()?, found.len(), entry.path()))
        })
        .collect();
    files.sort_by_key(|(modified, ..)| std::cmp::Reverse(*modified));
    let mut bytes = 0;
    for (at, (_, size, path)) in files.into_iter().enumerate() {
        bytes += size;
        if at >= keep_files || bytes > keep_bytes {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_is_whole_in_a_file_while_it_grows() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut whole = Whole::new(SpillPlace::new(folder.path(), "a"));
        whole.push(b"first\n");
        assert_eq!(whole.file(), None);
        whole.push(&vec![b'x'; WHOLE_BYTES + 5]);
        whole.push(b"\nlast");
        let file = whole.file().expect("a file");
        let text = fs::read(&file.path).expect("the output");
        assert!(file.complete && file.bytes == text.len() as u64 && text.len() == 6 + WHOLE_BYTES + 5 + 5);
        assert!(text.starts_with(b"first\nx") && text.ends_with(b"x\nlast"));
    }

    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_ends_the_file_and_says_so() {
        let path = PathBuf::from("x");
        let mut spill = Spill { path, writer: Full(10), bytes: 0, full: false, error: None };
        spill.write(b"12345");
        spill.write(b"67890ab");
        spill.write(b"c");
        let (full, error) = spill.finish();
        assert_eq!(full.map(|full| (full.bytes, full.complete)), Some((5, false)));
        assert!(error.is_some());
    }

    #[test]
    fn the_file_is_private_and_new_and_old_ones_go() {
        let folder = tempfile::tempdir().expect("a folder");
        for stem in ["a", "b", "c"] {
            let mut spill =
                Spill::create(&SpillPlace::new(folder.path(), stem)).expect("wanted").expect("made");
            spill.write(stem.as_bytes());
            spill.finish();
        }
        assert!(Spill::create(&SpillPlace::new(folder.path(), "a")).expect("wanted").is_err(), "it exists");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/dev/full", folder.path().join("output-link.txt")).expect("a link");
            assert!(
                Spill::create(&SpillPlace::new(folder.path(), "link")).expect("wanted").is_err(),
                "a link"
            );
        }
        fs::write(folder.path().join("mine"), "kept").expect("a file");
        prune(folder.path(), 1, 100);
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 2 + usize::from(cfg!(unix)), "one output, what is somebody else's, and the link");
    }
}
