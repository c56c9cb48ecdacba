//! Allow-lists of harmless tools, which `setup --allow-harmless` offers.

use std::fmt::Write as _;
use std::path::PathBuf;

use scorpiox_client_config::{Change, Client, Surroundings, allow};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use serde_json::{Value, json};

use super::{Found, State, name, told_of};

/// A client's allow-list that is to be written.
pub(super) struct Allow {
    client: Client,
    file: PathBuf,
    pub(super) state: State,
}

impl Allow {
    pub(super) fn is_planned(&self) -> bool {
        matches!(self.state, State::Planned(Change::Create | Change::Update))
    }
}

/// Returns the allow-lists of the clients that can be set up, and the clients that have none in a file.
pub(super) fn find(found: &[Found], around: &Surroundings<'_>) -> (Vec<Allow>, Vec<Client>) {
    let (mut all, mut others) = (Vec::new(), Vec::new());
    for found in found.iter().filter(|found| !matches!(found.state, State::Failed(_))) {
        let client = found.client;
        let Some(file) = allow::path(client, around) else {
            others.push(client);
            continue;
        };
        let state = match allow::preview(&file, client) {
            Ok(change) => State::Planned(change),
            Err(error) => State::Failed(error.to_string()),
        };
        all.push(Allow { client, file, state });
    }
    (all, others)
}

/// Returns the text that shows the lists before they are written.
pub(super) fn plan(all: &[Allow], others: &[Client]) -> String {
    let tools = allow::HARMLESS.join(", ");
    // Writing to a string cannot fail.
    let mut text = format!("Tools that clients would call without asking: {tools}.\n");
    for allow in all {
        let _ =
            writeln!(text, "  {:<15} {}", name(allow.client), told_of(&allow.state, &allow.file, "the list"));
    }
    if !others.is_empty() {
        let others: Vec<_> = others.iter().map(|client| name(*client)).collect();
        let _ = writeln!(text, "  No list of single tools in a file that we know: {}.", others.join(", "));
    }
    text
}

/// Writes the lists of the clients whose entries are there.
pub(super) fn write(all: &mut [Allow], found: &[Found], tells: bool) {
    for allow in all.iter_mut().filter(|allow| allow.is_planned()) {
        let has_entry = found.iter().any(|found| {
            found.client == allow.client
                && matches!(found.state, State::Written(_) | State::Planned(Change::Nothing))
        });
        if !has_entry {
            continue;
        }
        allow.state = match allow::write(&allow.file, allow.client) {
            Ok(how) => State::Written(how),
            Err(error) => State::Failed(error.to_string()),
        };
        if tells {
            terminal::print(&Shown::line(&told_of(&allow.state, &allow.file, "the list")));
        }
    }
}

/// Returns the lists for `--json`.
pub(super) fn report(all: &[Allow]) -> Value {
    let lists = all.iter().map(|allow| {
        let (state, backup, error) = allow.state.parts();
        json!({
            "client": name(allow.client),
            "file": allow.file,
            "state": state,
            "backup": backup,
            "error": error,
        })
    });
    json!({ "tools": allow::HARMLESS, "lists": lists.collect::<Vec<_>>() })
}
