//! What surrounds every result: nothing in the older revisions, its type and sender in
//! the newest.

use serde::Serialize;

use super::Revision;

/// Who the server is.
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
    /// This server, as far as the revision can say.
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

/// What a call took, for a person who tries a tool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// What kind of error it ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
    /// Most bytes that the tool had for itself at a time.
    pub memory: u64,
    /// What it touched, and what it was refused: a line each.
    pub touched: Vec<String>,
}

/// The members that surround a result.
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
    /// Of a result that is complete.
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

    /// Of a result that says what the client has to bring along when it calls again.
    pub fn input_required(revision: Revision) -> Self {
        Self { result_type: Some("input_required"), ..Self::complete(revision) }
    }

    /// Of a result that the client may keep for a while. It can depend on the user's and
    /// the workspace's files, so it is never shared with others.
    pub fn cacheable(revision: Revision, ttl_ms: u64) -> Self {
        let complete = Self::complete(revision);
        match complete.result_type {
            Some(_) => Self { ttl_ms: Some(ttl_ms), cache_scope: Some("private"), ..complete },
            None => complete,
        }
    }
}

/// A result with what surrounds it.
#[derive(Debug, Serialize)]
pub struct Enveloped<T> {
    #[serde(flatten)]
    envelope: Envelope,
    #[serde(flatten)]
    body: T,
}

impl<T: Serialize> Enveloped<T> {
    /// `body` as a complete result.
    pub fn complete(revision: Revision, body: T) -> Self {
        Self { envelope: Envelope::complete(revision), body }
    }

    /// `body` as a complete result, with an account of the call if the client is to have one.
    pub fn accounted(revision: Revision, account: Option<Account>, body: T) -> Self {
        let mut envelope = Envelope::complete(revision);
        if account.is_some() {
            envelope.meta.get_or_insert(ResultMeta { server_info: None, account: None }).account = account;
        }
        Self { envelope, body }
    }

    /// `body` as what the client has to bring along when it calls again.
    pub fn input_required(revision: Revision, body: T) -> Self {
        Self { envelope: Envelope::input_required(revision), body }
    }

    /// `body` as a result that may be kept for `ttl_ms`.
    pub fn cacheable(revision: Revision, ttl_ms: u64, body: T) -> Self {
        Self { envelope: Envelope::cacheable(revision, ttl_ms), body }
    }
}
