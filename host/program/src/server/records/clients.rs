//! Who calls, as it says itself: in the handshake, or with each request.

use std::sync::{Arc, Mutex, PoisonError};

use scorpiox_audit::ClientName;
use serde_json::value::RawValue;

use crate::mcp::Params;
use crate::mcp::params::Text;
use crate::server::dispatch::Request;

/// Longest words that are kept to be known again.
const MAX_KEPT_BYTES: usize = 4096;

#[derive(Default)]
pub(super) struct Clients {
    handshake: Mutex<Option<Arc<ClientName>>>,
    /// Of the newest request that said it, with the words: the next one says the same.
    newest: Mutex<Option<(String, Arc<ClientName>)>>,
}

impl Clients {
    /// Takes what the handshake says.
    pub(super) fn introduce(&self, info: Option<&RawValue>) {
        *lock(&self.handshake) = info.and_then(read).map(Arc::new);
    }

    /// Who makes a request.
    pub(super) fn of(&self, request: &Request<'_>) -> Option<Arc<ClientName>> {
        if request.revision.features().handshake {
            return lock(&self.handshake).clone();
        }
        let info = request.meta.client_info?;
        let mut newest = lock(&self.newest);
        if let Some((words, name)) = &*newest
            && words == info.get()
        {
            return Some(Arc::clone(name));
        }
        let name = Arc::new(read(info)?);
        if info.get().len() <= MAX_KEPT_BYTES {
            *newest = Some((info.get().to_owned(), Arc::clone(&name)));
        }
        Some(name)
    }

    /// Who called last, for people.
    pub(super) fn last(&self) -> String {
        let newest = lock(&self.newest).as_ref().map(|(_, name)| Arc::clone(name));
        newest.or_else(|| lock(&self.handshake).clone()).map(|name| name.text.clone()).unwrap_or_default()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is missing or no text is empty: this decides nothing.
fn read(info: &RawValue) -> Option<ClientName> {
    let info = Params::new(serde_json::from_str(info.get()).ok()?).ok()?;
    let text =
        |name| info.optional::<Text<'_>>(name, "").ok().flatten().map(|text| text.0).unwrap_or_default();
    Some(ClientName::new(&text("name"), &text("version")))
}
