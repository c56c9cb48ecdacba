//! Tests of failures and replacements of servers behind a proxy under load.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use scorpiox_test_support::postgres::Postgres;
use scorpiox_tests::http::HttpServer;
use scorpiox_tests::program::binary;

use super::proxies::Proxy;
use super::team::{Load, TOKEN, Team};

/// Starts the shared database with durable commits: acknowledged writes must be on disk.
fn kept() -> Postgres {
    Postgres::start_with(&["fsync=on", "synchronous_commit=on"])
}

/// Starts a proxy in front of all servers.
fn behind(team: &Team, servers: &[HttpServer], start: impl Fn(&Path, &[SocketAddr], &str) -> Proxy) -> Proxy {
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    start(&team.program.home().join("proxy"), &addresses, TOKEN)
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_happens_twice_while_all_are_killed_in_turn() {
    let mut database = kept();
    let team = Team::new(&database.database(), 3);
    let mut servers = team.all();
    let proxy = behind(&team, &servers, Proxy::haproxy);
    Load::on(&team, "test0", &proxy, |load| {
        for (machine, server) in servers.iter_mut().enumerate() {
            let (port, begun) = (server.address.port(), Instant::now());
            server.child.kill().expect("killed");
            server.child.wait().expect("ended");
            load.recovers("a killed server", begun);
            *server = team.start(machine, port);
            load.recovers("a server that is back", Instant::now());
        }
        let begun = Instant::now();
        database.kill();
        database.begin();
        load.recovers("a killed database", begun);
        let begun = Instant::now();
        database.end();
        database.begin();
        load.recovers("a database that was ended", begun);
        database
    });
}

#[test]
fn behind_nginx_too_servers_can_be_killed_and_started_again_in_turn() {
    let database = kept();
    let team = Team::new(&database.database(), 3);
    let mut servers = team.all();
    let proxy = behind(&team, &servers, Proxy::nginx);
    Load::on(&team, "test0", &proxy, |load| {
        for is_killed in [true, false] {
            for (machine, server) in servers.iter_mut().enumerate() {
                let (port, begun) = (server.address.port(), Instant::now());
                if is_killed {
                    server.child.kill().expect("killed");
                    server.child.wait().expect("ended");
                } else {
                    server.end();
                }
                load.recovers(if is_killed { "a killed server" } else { "a server that was ended" }, begun);
                *server = team.start(machine, port);
                load.recovers("a server that is back", Instant::now());
            }
        }
        database
    });
}

/// In `make test-upgrade`, `SCORPIOX_OLDER_BINARY` names a program of another version. Otherwise the servers
/// restart as the same version.
#[test]
fn servers_are_replaced_one_by_one_and_back() {
    let older = std::env::var_os("SCORPIOX_OLDER_BINARY").map_or_else(binary, PathBuf::from);
    let database = kept();
    let team = Team::new(&database.database(), 3);
    let mut servers: Vec<_> = (0..3).map(|machine| team.start_as(&older, machine, 0)).collect();
    let proxy = behind(&team, &servers, Proxy::haproxy);
    Load::on(&team, "test0", &proxy, |load| {
        for is_newer in [true, false] {
            for (machine, server) in servers.iter_mut().enumerate() {
                let (port, begun) = (server.address.port(), Instant::now());
                server.end();
                load.recovers("a server that was ended", begun);
                *server =
                    if is_newer { team.start(machine, port) } else { team.start_as(&older, machine, port) };
                load.recovers("a server of the other version", Instant::now());
            }
        }
        database
    });
}
