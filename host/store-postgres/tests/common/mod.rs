//! Shared helpers: one server, with a database for each test.
#![allow(dead_code, unreachable_pub)] // no test file uses all helpers

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use scorpiox_store::WorkspaceName;
use scorpiox_store_postgres::{Address, Database, Options};
use scorpiox_test_support::postgres::Postgres;

/// Time limit for expected events.
pub(crate) const LONG: Duration = Duration::from_secs(30);
/// Time to wait for events that must not happen.
pub(crate) const SHORT: Duration = Duration::from_millis(500);

static SERVER: LazyLock<Postgres> = LazyLock::new(|| Postgres::start_with(&["max_connections=400"]));

/// Returns the server shared by the tests of one file.
pub(crate) fn server() -> &'static Postgres {
    &SERVER
}

/// Opens a database like a separate process.
pub(crate) fn database(address: &str) -> Arc<Database> {
    Database::new(Address::parse(address).expect("an address"), Options::default())
}

/// Returns the name of the database in an address.
pub(crate) fn name(address: &str) -> &str {
    address.rsplit('/').next().expect("a name")
}

/// Parses the name of a workspace.
pub(crate) fn named(name: &str) -> WorkspaceName {
    WorkspaceName::parse(name).expect("a name")
}

/// Waits until a process receives the texts of another, then drains the received texts.
pub(crate) fn until_heard(one: &Database, texts: &Receiver<String>) {
    let begin = Instant::now();
    while texts.recv_timeout(Duration::from_millis(50)).is_err() {
        assert!(begin.elapsed() < LONG, "nothing is heard");
        one.pass_on("is it there").expect("passed on");
    }
    while texts.recv_timeout(SHORT).is_ok() {}
}

/// A `psql` session that holds its locks until dropped.
pub(crate) struct Session {
    psql: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Session {
    pub(crate) fn open(address: &str) -> Self {
        #[allow(clippy::disallowed_methods)] // test code
        let mut psql = Command::new("psql");
        let psql = psql.args(["-X", "-q", "-A", "-t", address]).stderr(Stdio::null());
        let mut psql = psql.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("psql runs");
        let lines = BufReader::new(psql.stdout.take().expect("its output")).lines();
        let mut session = Self { psql, lines };
        session.run("SET statement_timeout = '30s'");
        session
    }

    /// Runs SQL and returns the output lines.
    pub(crate) fn run(&mut self, sql: &str) -> Vec<String> {
        let input = self.psql.stdin.as_mut().expect("its input");
        let told = format!("{sql};\nSELECT 'it has run';\n");
        input.write_all(told.as_bytes()).and_then(|()| input.flush()).expect("told");
        let mut given = Vec::new();
        loop {
            let line = self.lines.next().expect("it goes on").expect("a line");
            if line == "it has run" {
                return given;
            }
            given.push(line);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.psql.kill();
        let _ = self.psql.wait();
    }
}

/// Reverts the tables to the first format.
pub(crate) fn to_format_1(address: &str) {
    let undone = "DELETE FROM scorpiox_code.format WHERE format > 1;
                  DROP TABLE scorpiox_code.commit_mark, scorpiox_code.relay;
                  ALTER TABLE scorpiox_code.workspace DROP COLUMN mark;
                  ALTER TABLE scorpiox_code.message DROP COLUMN mark, DROP COLUMN sender, DROP COLUMN since;
                  DROP POLICY writers ON scorpiox_code.secret;
                  ALTER TABLE scorpiox_code.secret DISABLE ROW LEVEL SECURITY";
    server().psql(name(address), undone).expect("written");
    for table in ["format", "workspace", "entry", "usage", "timer", "message", "ended"] {
        let undone = format!(
            "ALTER TABLE scorpiox_code.{table} DISABLE ROW LEVEL SECURITY;
             ALTER TABLE scorpiox_code.{table} DROP CONSTRAINT IF EXISTS size;
             DROP POLICY readers ON scorpiox_code.{table}; DROP POLICY writers ON scorpiox_code.{table}"
        );
        server().psql(name(address), &undone).expect("written");
    }
    server().psql(name(address), "ALTER TABLE scorpiox_code.secret DROP CONSTRAINT size").expect("written");
}

/// Creates a role with the permissions in `given`. Returns the address of the same database for that role.
pub(crate) fn role(address: &str, role: &str, given: &str) -> String {
    let role = format!("{role}_{}", name(address));
    let made = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'p'; GRANT CONNECT ON DATABASE {} TO {role}",
        name(address)
    );
    server().psql("postgres", &made).expect("a role");
    if !given.is_empty() {
        server().psql(name(address), &given.replace("ROLE", &role)).expect("given");
    }
    address.replace("owner:pass%20word@", &format!("{role}:p@"))
}

/// Runs SQL as the role of an address.
pub(crate) fn as_role(address: &str, sql: &str) -> Result<String, String> {
    #[allow(clippy::disallowed_methods)] // test code
    let ran = Command::new("psql")
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql, address])
        .output()
        .expect("psql runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if ran.status.success() { Ok(text(&ran.stdout)) } else { Err(text(&ran.stderr)) }
}
