//! Who calls, as it says itself: in the handshake, or with each request.

use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_access::Principal;
use scorpiox_audit::ClientName;
use serde_json::value::RawValue;

use crate::request::Request;
use scorpiox_mcp::Params;
use scorpiox_mcp::params::Text;

/// Longest words that are kept to be known again.
const MAX_KEPT_BYTES: usize = 4096;

/// The names of a session's client.
#[derive(Default)]
pub(super) struct Names {
    /// The principal that uses it, and the key that tells it from others.
    principal: Option<(Principal, String)>,
    handshake: Mutex<Option<Arc<ClientName>>>,
    /// Of the newest request that said it, with the words: the next one says the same.
    newest: Mutex<Option<(String, Arc<ClientName>)>>,
}

impl Names {
    /// Of a client that a principal uses: that is known whatever the client says.
    pub(super) fn of_principal(principal: Option<&Principal>) -> Self {
        let names =
            Self { principal: principal.map(|known| (known.clone(), known.key())), ..Self::default() };
        let nameless = names.used(None).map(Arc::new);
        Self { handshake: Mutex::new(nameless), ..names }
    }

    pub(super) fn principal_key(&self) -> Option<&str> {
        self.principal.as_ref().map(|(_, key)| key.as_str())
    }

    /// Who the client is, as far as its handshake and the transport say.
    pub(super) fn known(&self) -> Option<Arc<ClientName>> {
        lock(&self.handshake).clone()
    }

    /// What is said of the client, and who uses it.
    fn used(&self, info: Option<&RawValue>) -> Option<ClientName> {
        match &self.principal {
            None => info.and_then(read),
            Some((Principal { name, issuer, shown, .. }, key)) => {
                let named = info.and_then(read).unwrap_or_else(ClientName::unknown);
                Some(named.used_by(name, issuer.as_deref(), key).known_as(shown.as_deref()))
            }
        }
    }

    /// Takes what the handshake says.
    pub(super) fn introduce(&self, info: Option<&RawValue>) -> Option<Arc<ClientName>> {
        let name = self.used(info).map(Arc::new);
        lock(&self.handshake).clone_from(&name);
        name
    }

    /// Who makes a request; `on_new` is told of a name that the request before it did not have.
    pub(super) fn of(
        &self,
        request: &Request<'_>,
        on_new: impl FnOnce(&Arc<ClientName>),
    ) -> Option<Arc<ClientName>> {
        if request.revision.features().handshake {
            return lock(&self.handshake).clone();
        }
        let Some(info) = request.meta.client_info else {
            // Nothing shook hands: what stands there says who uses the client.
            return lock(&self.handshake).clone();
        };
        let mut newest = lock(&self.newest);
        if let Some((words, name)) = &*newest
            && words == info.get()
        {
            return Some(Arc::clone(name));
        }
        let name = Arc::new(self.used(Some(info))?);
        on_new(&name);
        if info.get().len() <= MAX_KEPT_BYTES {
            *newest = Some((info.get().to_owned(), Arc::clone(&name)));
        }
        Some(name)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> parking_lot::MutexGuard<'_, T> {
    mutex.lock()
}

/// What is missing or no text is empty: this decides nothing.
fn read(info: &RawValue) -> Option<ClientName> {
    let info = Params::new(serde_json::from_str(info.get()).ok()?).ok()?;
    let text =
        |name| info.optional::<Text<'_>>(name, "").ok().flatten().map(|text| text.0).unwrap_or_default();
    Some(ClientName::new(&text("name"), &text("version")))
}
