//! Whether a repository starts programs.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::config::Named;
use crate::obeyed::{MAX_CONFIG_BYTES, Seen, obeyed};
use crate::read::may_be_read;

/// Whether git starts programs because of what lies at `path`, which is called `.git`: hooks, or commands in its
/// configuration. What cannot be followed to its end does.
pub fn starts_programs(path: &Path, home: Option<&Path>) -> bool {
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let (own, none) = ([path.to_owned()], []);
    let (folders, pointers): (&[PathBuf], &[PathBuf]) = if is_folder { (&own, &none) } else { (&none, &own) };
    let obeyed = obeyed(Seen { folders, pointers, of_user: &[], home });
    if !obeyed.left_out.is_empty() {
        return true;
    }
    let mut left = MAX_CONFIG_BYTES;
    obeyed.files.iter().any(|file| match file.file_name().and_then(|name| name.to_str()) {
        Some("config" | "config.worktree") => {
            let named = Named::read(file, home, &mut left);
            named.starts || named.is_cut || is_closed(may_be_read(file))
        }
        _ => holds_hooks(file),
    })
}

/// Whether a folder has files that are no examples.
fn holds_hooks(folder: &Path) -> bool {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return is_closed(Err(error)),
    };
    entries.flatten().any(|entry| !entry.file_name().as_encoded_bytes().ends_with(b".sample"))
}

/// Whether something is there and cannot be looked at: whoever closed it can open it again.
fn is_closed(looked: io::Result<()>) -> bool {
    looked.is_err_and(|error| !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

#[cfg(test)]
mod tests {
    use scorpiox_bed::Bed;

    use super::*;

    #[test]
    fn what_git_makes_starts_nothing_and_hooks_and_commands_do() {
        let bed = Bed::with(&["a/.git/hooks", "a/sub"]);
        let starts = |path: &str| starts_programs(&bed.at(path), None);
        let plain = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x.git\n\
                     [user]\n\tname = A\n[alias]\n\tst = status\n";
        bed.put("a/.git/config", plain);
        bed.put("a/.git/hooks/pre-commit.sample", "");
        assert!(!starts("a/.git"));
        bed.put("a/sub/.git", "gitdir: ../.git\n");
        assert!(!starts("a/sub/.git") && !starts("none/.git"));
        for command in
            ["[core]\nfsmonitor = \"echo x > y; false\"", "[alias]\ng = !x", "[core]\nhooksPath = h"]
        {
            bed.put("a/.git/config", &format!("{plain}{command}\n"));
            assert!(starts("a/.git") && starts("a/sub/.git"), "{command}");
        }
        bed.put("a/.git/config", plain);
        bed.put("a/.git/hooks/pre-commit", "");
        assert!(starts("a/.git") && starts("a/sub/.git"));
    }
}
