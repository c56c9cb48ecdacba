//! Names whose folder another command moves while the supervisor is about to create them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::names;
use crate::bed::{finish, for_each_tier};

/// Returns the time of the last change of a file's attributes or place.
fn changed(path: &Path) -> (i64, i64) {
    let found = fs::symlink_metadata(path).expect("a file");
    (found.ctime(), found.ctime_nsec())
}

/// The supervisor reads the umask of the caller, for which a command can let it wait.
#[test]
fn no_file_comes_to_a_repository_that_appears_meanwhile() {
    for_each_tier(|bed| {
        let locks = tempfile::NamedTempFile::new().expect("a file");
        bed.locks = Some(locks.path().to_owned());
        bed.shield.names = vec![".vscode"];
        bed.arm("stall");
        bed.put("project/g/HEAD", "ref: refs/heads/main\n");
        let mut other = bed.start(
            "cd project; mkdir -p g/objects g/refs g/x; while [ ! -e ../go ]; do :; done; sleep .03; \
             mv g/x g/hooks; mv g .git",
        );
        let mut stalled =
            bed.start("while [ ! -e project/g/x ]; do :; done; ./stall project/g/x/post-index-change go");
        finish(&mut other);
        finish(&mut stalled);
        let (git, hooks) = (bed.at("project/.git"), bed.at("project/.git/hooks"));
        // One that was there before the repository is judged with it.
        let late: Vec<_> =
            names(&hooks).into_iter().filter(|name| changed(&hooks.join(name)) > changed(&git)).collect();
        assert!(late.is_empty(), "{late:?}");
    });
}
