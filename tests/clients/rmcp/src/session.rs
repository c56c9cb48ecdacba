//! The folders that `run.sh` made for one client.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::steps::{Outcome, equal};

/// One conversation.
pub struct Session {
    folder: PathBuf,
}

impl Session {
    pub fn new(folder: &str) -> Self {
        Self { folder: folder.into() }
    }

    /// The command that starts the server in these folders.
    pub fn server(&self) -> PathBuf {
        self.folder.join("server")
    }

    /// The names of the skills in the workspace, sorted.
    pub fn skills(&self) -> Outcome<Vec<String>> {
        let folder = self.folder.join("workspace/.scorpiox/skills");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// Takes the write lock of the database, as another server does while it writes.
    pub async fn lock(&self) -> Outcome<Lock> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lock_database.py");
        let mut holder = Command::new("python3")
            .arg(program)
            .arg(self.folder.join("home/.scorpiox/state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut line = String::new();
        BufReader::new(holder.stdout.take().ok_or("no pipe")?).read_line(&mut line).await?;
        equal(line.trim(), "locked")?;
        Ok(Lock(holder))
    }
}

/// The write lock; given back by the end of the process that holds it.
pub struct Lock(Child);

impl Lock {
    pub async fn release(mut self) -> Outcome {
        drop(self.0.stdin.take());
        equal(self.0.wait().await?.success(), true)
    }
}
