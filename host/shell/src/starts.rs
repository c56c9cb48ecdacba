//! Nothing is moved while a command starts: see `scorpiox_cell::Moves`.
//!
//! There is a single file of locks for all workspaces of a user, since folders of one can lie in another, and profiles
//! can open the same folder in several.

use std::fs::File;
use std::io;
use std::path::Path;

use scorpiox_cell::Moves;
use scorpiox_home::private;

use super::ShellError;

/// The file, in the program's own folder.
const NAME: &str = "commands.lock";

/// Begins the start of a command, before anything is looked at. It ends when the command is confined, or with what is
/// returned here.
pub(super) fn begin(own_home: &Path) -> Result<Moves, ShellError> {
    let path = own_home.join(NAME);
    let begun = open(&path, own_home).and_then(|file| {
        let moves = Moves::new(file);
        moves.begin_start()?;
        Ok(moves)
    });
    begun.map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::TimedOut => "another process did not let go of it; `lslocks` shows which, to be ended",
            _ => "SCORPIOX_HOME has to lie on a file system where files can be written and locked (fcntl)",
        };
        ShellError::Io {
            what: format!("nothing runs while folders could be moved away from the search for protected files, and {} cannot be locked", path.display()),
            error: io::Error::new(error.kind(), format!("{error} ({why})")),
        }
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
