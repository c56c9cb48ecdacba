//! rmcp, the Rust SDK, as a client: `scorpiox-rmcp-client ERA SESSION_FOLDER`.

mod client;
mod scenario;
mod session;
mod steps;

use std::process::ExitCode;

use client::Era;
use session::Session;
use steps::Steps;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(folder)) = (arguments.next(), arguments.next()) else {
        panic!("usage: scorpiox-rmcp-client ERA SESSION_FOLDER");
    };
    let mut steps = Steps::new("rmcp", &name);
    let end = scenario::converse(&Era::named(&name), &Session::new(&folder), &mut steps).await;
    if end.is_err() {
        steps.record("comes to the end of the conversation", end);
    }
    if steps.all_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
