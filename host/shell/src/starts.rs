//! Blocks moves while a command starts; see `scorpiox_sandbox::Moves`.
//!
//! All workspaces of a user share one lock file, because the folders of a workspace can lie inside another,
//! and profiles can open the same folder in several workspaces. Each command locks the areas that it sees and
//! may change.

use std::fs::File;
use std::io;
use std::path::Path;

use scorpiox_fs::home::private;
use scorpiox_sandbox::Moves;
use scorpiox_sys::is_out_of_descriptors;

use super::{Area, ShellError};

/// Name of the lock file in `own_home`.
const NAME: &str = "commands.lock";

/// Begins the start of a command, before any path is inspected. The start ends when the command is confined,
/// or when the returned [`Moves`] is dropped.
pub(super) fn begin(own_home: &Path, areas: &[Area]) -> Result<Moves, ShellError> {
    let path = own_home.join(NAME);
    let begun = open(&path, own_home).and_then(|file| {
        let moves = Moves::new(file, areas.iter().map(|area| (area.path.as_path(), area.write)));
        moves.begin_start()?;
        Ok(moves)
    });
    begun.map_err(|error| {
        let what = format!("nothing runs while folders could be moved away from the search for protected files, and {} cannot be locked", path.display());
        let why = match error.kind() {
            _ if is_out_of_descriptors(&error) => return ShellError::Io { what, error },
            io::ErrorKind::TimedOut => "another process did not let go of it; `lslocks` shows which, to be ended",
            _ => "SCORPIOX_HOME has to lie on a file system where files can be written and locked (fcntl)",
        };
        ShellError::Io { what, error: io::Error::new(error.kind(), format!("{error} ({why})")) }
    })
}

fn open(path: &Path, own_home: &Path) -> io::Result<File> {
    let open = || private::options().read(true).write(true).create(true).truncate(false).open(path);
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            private::folder(own_home)?;
            open()
        }
        other => other,
    }
}
