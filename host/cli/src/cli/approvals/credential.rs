//! Creation of credentials for approvers who answer in a browser.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use scorpiox_approvals::Credential;
use scorpiox_fs::home::private;
use scorpiox_terminal::{self as terminal, Shown};

/// Maximum length of an approver's name in a policy, in bytes.
const MAX_NAME: usize = 32;

/// Creates `NAME.credential` in a folder, and prints the policy lines that trust it.
pub(super) fn make(folder: &Path, name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    ensure!(
        (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain),
        "{name:?} is not a valid name; write 1 to {MAX_NAME} lowercase letters, digits and hyphens"
    );
    let path = folder.join(format!("{name}.credential"));
    let is_there = path.symlink_metadata().is_ok();
    ensure!(!is_there, "{} exists, and no credential is overwritten; choose another name", path.display());
    let credential = Credential::generate().context("no credential was made")?;
    let written = private::options().write(true).create_new(true).open(&path).and_then(|mut file| {
        writeln!(file, "{}", credential.line())?;
        file.sync_all()
    });
    if let Err(error) = written {
        // Without all of it, the credential is of no use.
        let _ = fs::remove_file(&path);
        return Err(error).with_context(|| format!("{} cannot be written", path.display()));
    }
    terminal::print(&Shown::text(&format!(
        "{}: the credential, which only you can read. Put it into the password manager of your browser, and remove the \
         file.\nA policy accepts the answers that are given with it at /admin/approvals of a server with these \
         lines:\n\n[approvers.{name}]\ncredential = \"{}\"\n",
        path.display(),
        credential.public().as_str()
    )));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_private_and_never_overwritten() {
        let home = tempfile::tempdir().expect("a folder");
        make(home.path(), "ann").expect("a credential");
        let path = home.path().join("ann.credential");
        let text = fs::read_to_string(&path).expect("a file");
        assert!(Credential::parse(&text).is_some());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
        }
        let error = make(home.path(), "ann").expect_err("it exists").to_string();
        assert!(error.contains("no credential is overwritten"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("a file"), text);
        for name in ["", "Ann", "../a", &"x".repeat(33)] {
            assert!(make(home.path(), name).is_err(), "{name}");
        }
    }
}
