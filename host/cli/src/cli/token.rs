//! The command `scorpiox-code token`: creates tokens for clients over HTTP.

use std::process::ExitCode;

use anyhow::Result;
use scorpiox_policy::Policy;
use scorpiox_policy::access::token_table;
use scorpiox_terminal::{self as terminal, Shown};
use scorpiox_transport_http::files::new_token;
use scorpiox_transport_http::sha256;

/// Prints a new token, and its lines for the policy. The token is not stored.
pub(super) fn run(name: &str, scopes: &[String], groups: &[String]) -> Result<ExitCode> {
    let token = new_token()?;
    let lines = token_table(name, &sha256(&token), scopes, groups);
    // Report a name or scope that the policy does not accept.
    let text = format!("version = 1\n[http.auth]\nkind = \"token\"\n{lines}");
    Policy::parse(&text, std::path::Path::new("policy.toml"))
        .map_err(|problem| anyhow::anyhow!("{}; {}", problem.what, problem.fix))?;
    terminal::complain("Give this to its owner; it is shown once, and kept nowhere:");
    terminal::print(&Shown::line(&token));
    terminal::complain(
        "Write these lines into policy.toml, below [http.auth] with kind = \"token\" or beside [http.auth.issuers], and start the server again:",
    );
    terminal::print(&Shown::text(&lines));
    Ok(ExitCode::SUCCESS)
}
