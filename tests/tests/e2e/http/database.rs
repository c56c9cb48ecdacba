//! Starts servers that store their data in a database.

use scorpiox_test_support::postgres::PASSWORD;
use scorpiox_tests::Program;
use scorpiox_tests::http::HttpServer;

/// Returns the `[store]` table of a policy for a database at this address. The policy contains no password.
pub fn store(address: &str) -> String {
    let address = address.replace(&format!(":{}@", PASSWORD.replace(' ', "%20")), "@");
    format!("[store]\nkind = \"postgres\"\naddress = \"{address}\"\n")
}

/// Serves with the password of the database in the environment.
pub fn serve(program: &Program) -> HttpServer {
    let mut command = program.command();
    command.env("SCORPIOX_STORE_PASSWORD", PASSWORD);
    HttpServer::spawn(command, "127.0.0.1:0")
}
