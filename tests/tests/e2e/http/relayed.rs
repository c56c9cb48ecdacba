//! Tests of messages that one server relays to another: answers of a client, cancellations, and the end of a
//! session.

use std::fs;
use std::time::{Duration, Instant};

use scorpiox_test_support::postgres::Postgres;
use scorpiox_tests::http::{Connection, HttpServer, Response};
use serde_json::json;

use super::replicas::name_in;
use super::team::{Team, call};

/// Ending a session ends its stream and its call at another server, although that server receives no further
/// request.
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

/// Starts a call that runs until a file exists and returns the connection that waits for its response.
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

/// Reads until a cancelled call has ended.
fn ends(mut connection: Connection) {
    while let Some(message) = connection.message() {
        assert_eq!(message["method"], "notifications/progress", "nothing answers a cancelled call");
    }
}

/// Returns a cancellation reason of nearly 1 MiB. Eight of them in a minute exhaust a principal's relay
/// limit.
fn long() -> String {
    "x".repeat(1_040_000)
}

/// Two servers with a shared database, and a session of the first server.
struct Pair {
    servers: Vec<HttpServer>,
    team: Team,
    session: String,
    database: Postgres,
    /// Name of the database.
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

    /// Relays `most` messages that are [`long`] and returns the refusal of the next one.
    fn flood(&self, server: &HttpServer, most: usize) -> Response {
        // A repeated cancellation would not be relayed.
        for id in 0..most as u64 {
            assert_eq!(cancel(server, &self.session, 1000 + id, &long()).status, 202);
        }
        let refused = cancel(server, &self.session, 999, &long());
        assert!(refused.status == 429, "{refused:?}");
        refused
    }
}

/// A role that can write the relay table but cannot decrypt its content can replay a row.
#[test]
fn a_row_that_is_written_again_acts_once() {
    let Pair { database, name, team, servers, session } = Pair::start();
    let first = begin_call(&servers[0], &session, 3, "never");
    assert_eq!(cancel(&servers[1], &session, 3, "enough").status, 202);
    ends(first);
    // The client reuses the ID for a call that must not be cancelled. Another call shows that the servers
    // have processed the rows.
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

#[test]
fn repeated_cancellations_are_relayed_once_and_many_are_refused() {
    let pair = Pair::start();
    let before = pair.rows();
    for id in [98, 99, 99, 99, 98] {
        assert_eq!(cancel(&pair.servers[1], &pair.session, id, "x").status, 202);
    }
    let nothing = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {} });
    let posted = pair.servers[1].post(&nothing).with("Mcp-Session-Id", &pair.session);
    assert_eq!(pair.servers[1].ask(&posted).status, 202);
    assert_eq!(pair.rows() - before, 2);
    for id in 0..510 {
        assert_eq!(cancel(&pair.servers[1], &pair.session, 1000 + id, "x").status, 202, "{id}");
    }
    let refused = cancel(&pair.servers[1], &pair.session, 999, "x");
    assert!(refused.status == 429 && refused.body.contains("512 cancellations"), "{refused:?}");
}

/// Each message is a row that all servers read. Programs that share a token answer hundreds of questions in a
/// minute.
#[test]
fn a_principal_that_floods_the_other_servers_is_told_so() {
    let pair = Pair::start();
    for id in 2000..2400 {
        assert_eq!(cancel(&pair.servers[1], &pair.session, id, "x").status, 202);
    }
    // Each server counts separately.
    for (server, most) in [(&pair.servers[1], 7), (&pair.servers[0], 8)] {
        let before = pair.rows();
        let refused = pair.flood(server, most);
        for part in ["8388608 bytes of answers and cancels", "at least 1024", "in a minute"] {
            assert!(refused.body.contains(part), "{refused:?}");
        }
        assert_eq!(pair.rows() - before, most, "what is refused is not written");
    }
    // Calls are not affected.
    let (status, said) = call(&pair.servers[0], &pair.session, "TaskManager", json!({ "action": "list" }));
    assert_eq!(status, 200, "{said}");
}

#[test]
fn a_cancel_of_a_call_at_this_server_needs_neither_others_nor_the_database() {
    let mut pair = Pair::start();
    let (server, session) = (&pair.servers[0], &pair.session);
    pair.flood(server, 8);
    let connection = begin_call(server, session, 3, "never");
    // A cancellation that does not fit into the relay still acts locally.
    assert_eq!(cancel(server, session, 3, &long()).status, 202);
    ends(connection);
    let connection = begin_call(server, session, 4, "never");
    pair.database.kill();
    assert_eq!(cancel(server, session, 4, "x").status, 202);
    ends(connection);
    // A cancellation for another server would be lost.
    assert_eq!(cancel(server, session, 99, "x").status, 503);
}
