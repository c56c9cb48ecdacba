//! The client's self-reported name, from the handshake or from each request.

use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_audit::ClientName;
use scorpiox_policy::access::Principal;
use serde_json::value::RawValue;

use crate::request::Request;
use scorpiox_mcp::Params;
use scorpiox_mcp::params::Text;

/// Maximum size of a cached client info in bytes.
const MAX_KEPT_BYTES: usize = 4096;

/// Names of a session's client.
#[derive(Default)]
pub(super) struct Names {
    /// Principal that uses the client, and its unique key.
    principal: Option<(Principal, String)>,
    handshake: Mutex<Option<Arc<ClientName>>>,
    /// Client info of the newest request that had it, with the parsed name. The next request usually repeats
    /// it.
    newest: Mutex<Option<(String, Arc<ClientName>)>>,
}

impl Names {
    /// Creates the names of a client that a principal uses. The principal is known independently of the
    /// client info.
    pub(super) fn of_principal(principal: Option<&Principal>) -> Self {
        let names =
            Self { principal: principal.map(|known| (known.clone(), known.key())), ..Self::default() };
        let nameless = names.used(None).map(Arc::new);
        Self { handshake: Mutex::new(nameless), ..names }
    }

    pub(super) fn principal_key(&self) -> Option<&str> {
        self.principal.as_ref().map(|(_, key)| key.as_str())
    }

    /// Returns the client's name as far as its handshake and transport report it.
    pub(super) fn known(&self) -> Option<Arc<ClientName>> {
        lock(&self.handshake).clone()
    }

    /// Returns the reported client name together with the principal.
    fn used(&self, info: Option<&RawValue>) -> Option<ClientName> {
        match &self.principal {
            None => info.and_then(read),
            Some((Principal { name, issuer, shown, .. }, key)) => {
                let named = info.and_then(read).unwrap_or_else(ClientName::unknown);
                Some(named.used_by(name, issuer.as_deref(), key).known_as(shown.as_deref()))
            }
        }
    }

    /// Stores the client name from the handshake.
    pub(super) fn introduce(&self, info: Option<&RawValue>) -> Option<Arc<ClientName>> {
        let name = self.used(info).map(Arc::new);
        lock(&self.handshake).clone_from(&name);
        name
    }

    /// Returns the name of the requesting client. Calls `on_new` if the name differs from the previous
    /// request's.
    pub(super) fn of(
        &self,
        request: &Request<'_>,
        on_new: impl FnOnce(&Arc<ClientName>),
    ) -> Option<Arc<ClientName>> {
        if request.revision.features().handshake {
            return lock(&self.handshake).clone();
        }
        let Some(info) = request.meta.client_info else {
            // Without a handshake, the stored name only identifies the principal.
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

/// Parses a client info. Missing or invalid strings are empty, which is safe because the name decides
/// nothing.
fn read(info: &RawValue) -> Option<ClientName> {
    let info = Params::new(serde_json::from_str(info.get()).ok()?).ok()?;
    let text =
        |name| info.optional::<Text<'_>>(name, "").ok().flatten().map(|text| text.0).unwrap_or_default();
    Some(ClientName::new(&text("name"), &text("version")))
}
