//! The envelope of results: empty in older revisions; type and server in the newest.

use serde::Serialize;

use super::Revision;

/// Identity of the server.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Implementation {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'static str>,
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'static str>,
}

impl Implementation {
    /// Returns this server's identity, with the members that the revision has.
    pub fn of(revision: Revision) -> Self {
        let features = revision.features();
        Self {
            name: "scorpiox-code",
            title: features.titles.then_some("scorpiox-code"),
            version: env!("CARGO_PKG_VERSION"),
            description: features
                .descriptions
                .then_some("Tools that run in WebAssembly sandboxes, with only the rights they are granted"),
        }
    }
}

#[derive(Debug, Serialize)]
struct ResultMeta {
    #[serde(rename = "io.modelcontextprotocol/serverInfo", skip_serializing_if = "Option::is_none")]
    server_info: Option<Implementation>,
    #[serde(rename = "scorpiox/account", skip_serializing_if = "Option::is_none")]
    account: Option<Account>,
}

/// Account of a call, for a user who tries a tool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Kind of the error that ended the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
    /// Peak memory of the tool in bytes.
    pub memory: u64,
    /// Accesses and refusals, one per line.
    pub touched: Vec<String>,
}

/// Members of a result's envelope.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<ResultMeta>,
}

impl Envelope {
    /// Creates the envelope of a complete result.
    pub fn complete(revision: Revision) -> Self {
        if !revision.features().result_envelope {
            return Self::default();
        }
        Self {
            result_type: Some("complete"),
            meta: Some(ResultMeta { server_info: Some(Implementation::of(revision)), account: None }),
            ..Self::default()
        }
    }

    /// Creates the envelope of a result that requires input from the client before it calls again.
    pub fn input_required(revision: Revision) -> Self {
        Self { result_type: Some("input_required"), ..Self::complete(revision) }
    }

    /// Creates the envelope of a result that the client may cache. Results can depend on the files of the
    /// user and the workspace, so the cache scope is always private.
    pub fn cacheable(revision: Revision, ttl_ms: u64) -> Self {
        let complete = Self::complete(revision);
        match complete.result_type {
            Some(_) => Self { ttl_ms: Some(ttl_ms), cache_scope: Some("private"), ..complete },
            None => complete,
        }
    }
}

/// A result with its envelope.
#[derive(Debug, Serialize)]
pub struct Enveloped<T> {
    #[serde(flatten)]
    envelope: Envelope,
    #[serde(flatten)]
    body: T,
}

impl<T: Serialize> Enveloped<T> {
    /// Creates a complete result.
    pub fn complete(revision: Revision, body: T) -> Self {
        Self { envelope: Envelope::complete(revision), body }
    }

    /// Creates a complete result with an optional account of the call.
    pub fn accounted(revision: Revision, account: Option<Account>, body: T) -> Self {
        let mut envelope = Envelope::complete(revision);
        if account.is_some() {
            envelope.meta.get_or_insert(ResultMeta { server_info: None, account: None }).account = account;
        }
        Self { envelope, body }
    }

    /// Creates a result that requires input from the client before it calls again.
    pub fn input_required(revision: Revision, body: T) -> Self {
        Self { envelope: Envelope::input_required(revision), body }
    }

    /// Creates a result that the client may cache for `ttl_ms`.
    pub fn cacheable(revision: Revision, ttl_ms: u64, body: T) -> Self {
        Self { envelope: Envelope::cacheable(revision, ttl_ms), body }
    }
}
