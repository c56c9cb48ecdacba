//! Servers that keep what tools store in a database.

use scorpiox_postgres_bed::PASSWORD;
use scorpiox_tests::Program;
use scorpiox_tests::http::HttpServer;

/// The table of a policy for a database at this address. A policy has no password.
pub fn store(address: &str) -> String {
    let address = address.replace(&format!(":{}@", PASSWORD.replace(' ', "%20")), "@");
    format!("[store]\nkind = \"postgres\"\naddress = \"{address}\"\n")
}

/// Serves with the password of the database.
pub fn serve(program: &Program) -> HttpServer {
    let mut command = program.command();
    command.env("SCORPIOX_STORE_PASSWORD", PASSWORD);
    HttpServer::spawn(command, "127.0.0.1:0")
}
