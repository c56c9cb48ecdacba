//! Tests of components built for WASI: they can reach only approved resources.

#[cfg(unix)] // directories that commands replace
mod exchanged;
#[cfg(unix)] // links, pipes and sockets
mod files;
mod keeping;
mod newer;
mod nothing;
mod programs;
pub(super) mod requests;
#[cfg(unix)] // paths that begin with /
mod roots;
mod services;
mod waiting;

use scorpiox_tests::{Program, Started};
use serde_json::Value;

use super::with;

/// Starts a server with the component that tries every WASI function.
fn outsider(program: Program, manifest: &str) -> (Program, Started) {
    with(program, "outsider", manifest)
}

/// Returns the result of a function, or its own error without the server's explanation of a refusal.
fn try_to(server: &mut Started, function: &str, arguments: Value) -> Result<Value, String> {
    try_of(server, "outsider", function, arguments)
}

/// Like [`try_to`], for another component.
fn try_of(server: &mut Started, plugin: &str, function: &str, arguments: Value) -> Result<Value, String> {
    let result = server.call(&format!("{plugin}.{function}"), arguments);
    if result["isError"] == true {
        let text = result["content"][0]["text"].as_str().expect("a text");
        return Err(text.split("\nThis server refused").next().unwrap_or_default().to_owned());
    }
    Ok(result["structuredContent"]["result"].clone())
}
