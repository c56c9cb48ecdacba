//! Export to a file by appending lines.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use scorpiox_fs::{Folder, others_can_change};

use super::Sink;
use crate::log::ends_line;
use crate::system::{Identity, identity, identity_at};

#[derive(Debug)]
pub(super) struct FileSink {
    path: PathBuf,
    open: Option<(File, Identity)>,
}

impl FileSink {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, open: None }
    }
}

impl Sink for FileSink {
    fn check(&mut self) -> io::Result<()> {
        // Log rotation puts another file at this path.
        let known = identity_at(&self.path).ok();
        if self.open.as_ref().is_none_or(|(_, open)| Some(*open) != known) {
            self.open = None;
            self.open = Some(open(&self.path)?);
        }
        Ok(())
    }

    fn send(&mut self, lines: &[u8]) -> io::Result<u64> {
        self.check()?;
        let Some((file, _)) = &mut self.open else { return Err(ErrorKind::NotFound.into()) };
        if ends_line(file, file.metadata()?.len())? {
            return file.write_all(lines).map(|()| 0);
        }
        // The last line is incomplete, because the disk was full. It is sent again.
        file.write_all(&[b"\n", lines].concat()).map(|()| 0)
    }
}

/// Opens a regular file that no other user can change. Symbolic links are refused in every path component.
fn open(path: &Path) -> io::Result<(File, Identity)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("it is not a file's path"));
    };
    let folder = Folder::open(folder).map_err(|error| {
        io::Error::new(error.kind(), format!("the folder {} cannot be opened: {error}", folder.display()))
    })?;
    let file = folder.append(name)?;
    let about = file.metadata()?;
    // A user who created the file first could read it or control its contents.
    if let Some(why) = others_can_change(&file)? {
        return Err(io::Error::other(why));
    }
    let known = identity(&file, &about)?;
    Ok((file, known))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_appended_to_a_private_file_and_to_the_one_that_follows_it() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap().join("ana.jsonl");
        let mut sink = FileSink::new(path.clone());
        sink.check().unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        sink.send(b"a\n").unwrap();
        fs::rename(&path, path.with_extension("1")).unwrap();
        sink.send(b"b\n").unwrap();
        assert_eq!(fs::read(path.with_extension("1")).unwrap(), b"a\n");
        // An incomplete line (full disk) does not corrupt the next one.
        fs::write(&path, "b\nto").unwrap();
        sink.send(b"c\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"b\nto\nc\n");
    }

    #[test]
    fn a_full_disk_damages_no_exported_line_however_often_a_write_fails() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap().join("ana.jsonl");
        let mut sink = FileSink::new(path.clone());
        sink.send(b"one\n").unwrap();
        // The disk takes a piece of the next lines, then nothing, and another process sends in between.
        let mut torn = File::options().append(true).open(&path).unwrap();
        torn.write_all(b"two\nthr").unwrap();
        let read_only = File::open(&path).unwrap();
        sink.open = Some((read_only, identity_at(&path).unwrap()));
        sink.send(b"two\nthree\n").unwrap_err();
        FileSink::new(path.clone()).send(b"other\n").unwrap();
        sink.open = None;
        sink.send(b"two\nthree\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\nthr\nother\ntwo\nthree\n");
    }

    #[cfg(unix)]
    #[test]
    fn links_pipes_and_files_that_others_can_change_are_not_written_to() {
        use std::fs::Permissions;
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let root = tempfile::tempdir().unwrap();
        let folder = root.path().canonicalize().unwrap();
        let said = |name: &str| FileSink::new(folder.join(name)).check().unwrap_err().to_string();
        symlink(folder.join("target"), folder.join("link")).unwrap();
        assert_eq!(said("link"), "link is a symbolic link, which is not followed here");
        symlink(&folder, folder.join("way")).unwrap();
        assert!(said("way/file").contains("symbolic link"), "{}", said("way/file"));
        assert!(said("none/file").contains("cannot be opened"));
        #[cfg(target_os = "linux")] // macOS creates FIFOs with another call
        {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                folder.join("pipe"),
                rustix::fs::FileType::Fifo,
                0o600.into(),
                0,
            )
            .unwrap();
            assert!(FileSink::new(folder.join("pipe")).check().is_err());
        }
        fs::write(folder.join("open"), "").unwrap();
        fs::set_permissions(folder.join("open"), Permissions::from_mode(0o666)).unwrap();
        assert_eq!(said("open"), "others may write it");
        assert!(!folder.join("target").exists());
    }
}
