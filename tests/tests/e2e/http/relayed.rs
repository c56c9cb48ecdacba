//! Messages that one server has for another: a client's answers, its cancels, and the end of its session.

use std::fs;
use std::time::{Duration, Instant};

use scorpiox_postgres_bed::Postgres;
use scorpiox_tests::http::{Connection, HttpServer, Response};
use serde_json::json;

use super::replicas::name_in;
use super::team::{Team, call};

/// Its stream and its call at another server, of which no request comes there any more.
#[test]
fn what_runs_of_a_session_ends_at_each_server_once_the_session_ended() {
    let Pair { servers, session, .. } = &Pair::start();
    let mut stream = servers[1].connect();
    stream.send(&servers[1].listen(session).bytes());
    assert_eq!(stream.head().status, 200);
    let running = begin_call(&servers[1], session, 3, "never");
    let begun = Instant::now();
    let end = servers[0].in_session(session, 9, "ping", &json!({})).method("DELETE").body("");
    assert_eq!(servers[0].ask(&end).status, 204);
    ends(running);
    assert_eq!(stream.message(), None);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// A call that runs until a file is there; the connection that waits for its answer.
fn begin_call(server: &HttpServer, session: &str, id: u64, file: &str) -> Connection {
    let command = format!("echo begun; until [ -e {file} ]; do sleep 0.05; done; echo done");
    let params =
        json!({ "_meta": { "progressToken": id }, "name": "Bash", "arguments": { "command": command } });
    let mut connection = server.connect();
    connection.send(&server.in_session(session, id, "tools/call", &params).bytes());
    assert_eq!(connection.head().status, 200);
    assert_eq!(connection.message().expect("progress")["params"]["progressToken"], id);
    connection
}

fn cancel(server: &HttpServer, session: &str, id: u64, reason: &str) -> Response {
    let params = json!({ "requestId": id, "reason": reason });
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    server.ask(&server.post(&message).with("Mcp-Session-Id", session))
}

/// Reads until a call has ended that was cancelled.
fn ends(mut connection: Connection) {
    while let Some(message) = connection.message() {
        assert_eq!(message["method"], "notifications/progress", "nothing answers a cancelled call");
    }
}

/// A reason of nearly 1 MiB, of which a principal has eight passed on in a minute.
fn long() -> String {
    "x".repeat(1_040_000)
}

/// Two servers that use one database, and a session of the first one.
struct Pair {
    servers: Vec<HttpServer>,
    team: Team,
    session: String,
    database: Postgres,
    /// The name of the database.
    name: String,
}

impl Pair {
    fn start() -> Self {
        let database = Postgres::start();
        let address = database.database();
        let team = Team::new(&address, 2);
        let servers = team.all();
        let session = servers[0].session("2025-11-25", json!({}));
        Self { servers, team, session, database, name: name_in(&address).to_owned() }
    }

    fn rows(&self) -> usize {
        let count = self.database.psql(&self.name, "SELECT count(*) FROM scorpiox_code.relay");
        count.expect("a count").trim().parse().expect("a number")
    }

    /// Has a server pass on this many messages that are [`long`]; the refusal of the next one.
    fn flood(&self, server: &HttpServer, most: usize) -> Response {
        for _ in 0..most {
            assert_eq!(cancel(server, &self.session, 99, &long()).status, 202);
        }
        let refused = cancel(server, &self.session, 99, &long());
        assert!(refused.status == 429, "{refused:?}");
        refused
    }
}

/// A role that can write the table, and cannot read what is in it, can write it again.
#[test]
fn a_row_that_is_written_again_acts_once() {
    let Pair { database, name, team, servers, session } = Pair::start();
    let first = begin_call(&servers[0], &session, 3, "never");
    assert_eq!(cancel(&servers[1], &session, 3, "enough").status, 202);
    ends(first);
    // The client uses the id again, for a call that nobody cancels, and another one tells when rows were looked at.
    let mut next = begin_call(&servers[0], &session, 3, "go");
    let witness = begin_call(&servers[0], &session, 4, "never");
    let again = "CREATE TABLE public.copied AS SELECT * FROM scorpiox_code.relay;
         INSERT INTO scorpiox_code.relay (mark, sender, content)
             SELECT decode(md5(random()::text), 'hex'), sender, content FROM public.copied;
         INSERT INTO scorpiox_code.relay (mark, sender, content)
             SELECT decode(md5(random()::text), 'hex'), 'another'::bytea, content FROM public.copied;
         DELETE FROM scorpiox_code.relay WHERE mark IN (SELECT mark FROM public.copied);
         INSERT INTO scorpiox_code.relay (mark, sender, content)
             SELECT mark, 'another'::bytea, content FROM public.copied;
         NOTIFY scorpiox_code_relay; SELECT count(*) FROM scorpiox_code.relay";
    let rows = database.psql(&name, again).expect("written");
    assert_eq!(rows.trim(), "3", "three copies of one row");
    assert_eq!(cancel(&servers[1], &session, 4, "enough").status, 202);
    ends(witness);
    fs::write(team.program.workspace().join("go"), "").expect("a file");
    let answer = std::iter::from_fn(|| next.message()).last().expect("an answer");
    assert!(answer["id"] == 3 && answer.to_string().contains("done"), "{answer}");
}

/// Each message is a row that all servers read. Programs behind one token answer hundreds of questions a minute.
#[test]
fn a_principal_that_floods_the_other_servers_is_told_so() {
    let pair = Pair::start();
    for _ in 0..400 {
        assert_eq!(cancel(&pair.servers[1], &pair.session, 99, "x").status, 202);
    }
    // Each server counts for itself.
    for (server, most) in [(&pair.servers[1], 7), (&pair.servers[0], 8)] {
        let before = pair.rows();
        let refused = pair.flood(server, most);
        for part in ["8388608 bytes of answers and cancels", "at least 1024", "in a minute"] {
            assert!(refused.body.contains(part), "{refused:?}");
        }
        assert_eq!(pair.rows() - before, most, "what is refused is not written");
    }
    // Calls are not held up.
    let (status, said) = call(&pair.servers[0], &pair.session, "TaskManager", json!({ "action": "list" }));
    assert_eq!(status, 200, "{said}");
}

#[test]
fn a_cancel_of_a_call_at_this_server_needs_neither_others_nor_the_database() {
    let mut pair = Pair::start();
    let (server, session) = (&pair.servers[0], &pair.session);
    pair.flood(server, 8);
    let connection = begin_call(server, session, 3, "never");
    // There is no room to pass it on.
    assert_eq!(cancel(server, session, 3, &long()).status, 202);
    ends(connection);
    let connection = begin_call(server, session, 4, "never");
    pair.database.kill();
    assert_eq!(cancel(server, session, 4, "x").status, 202);
    ends(connection);
    // One for another server would be lost.
    assert_eq!(cancel(server, session, 99, "x").status, 503);
}
