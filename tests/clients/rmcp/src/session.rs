//! Directories that `run.sh` created for one client.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::steps::{Outcome, equal};

/// Single conversation.
pub struct Session {
    folder: PathBuf,
}

impl Session {
    pub fn new(folder: &str) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the command that starts the server in these directories.
    pub fn server(&self) -> PathBuf {
        self.folder.join("server")
    }

    /// Starts a server over HTTP.
    pub async fn serve_http(&self) -> Outcome<Served> {
        let mut server = Command::new(self.server())
            .args(["serve", "--http", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut line = String::new();
        BufReader::new(server.stdout.take().ok_or("no pipe")?).read_line(&mut line).await?;
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).ok_or("no address")?;
        let token = std::fs::read_to_string(self.folder.join("home/.scorpiox/http/token"))?;
        Ok(Served {
            url: url.trim_end_matches(';').to_owned(),
            token: token.trim().to_owned(),
            _server: server,
        })
    }

    /// Returns the names of the skills in the workspace, sorted.
    pub fn skills(&self) -> Outcome<Vec<String>> {
        let folder = self.folder.join("workspace/.scorpiox/skills");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// Acquires the write lock of the database, like another server with a long transaction.
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

/// Server over HTTP. Killed when dropped.
pub struct Served {
    pub url: String,
    pub token: String,
    _server: Child,
}

/// Write lock, released when the process that holds it exits.
pub struct Lock(Child);

impl Lock {
    pub async fn release(mut self) -> Outcome {
        drop(self.0.stdin.take());
        equal(self.0.wait().await?.success(), true)
    }
}
