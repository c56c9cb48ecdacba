//! What a body says of itself: read before anything is done about it.

use std::borrow::Cow;

use scorpiox_mcp::{Params, RequestMeta, RpcError};
use scorpiox_rpc::{Id, Message};

use scorpiox_mcp::params::Text;

/// One message, as far as its transport has to know it.
#[derive(Debug)]
pub struct Claims {
    /// What it is.
    pub kind: Kind,
    /// The method; empty for a response.
    pub method: String,
    /// What the request is about: a tool's or a prompt's name, a resource's address, a task's id.
    pub subject: Option<String>,
    /// The revision that `_meta` names.
    pub version: Option<String>,
    /// Whether `_meta` has what the client can do.
    pub has_capabilities: bool,
}

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// It wants an answer, with this id.
    Request(Id<'static>),
    /// It wants none.
    Notification,
    /// It is an answer itself.
    Response,
}

/// A request whose parameters are none.
#[derive(Debug)]
pub struct Unread {
    /// What was read of it.
    pub claims: Claims,
    /// What is wrong with it.
    pub error: RpcError,
}

impl Claims {
    /// Reads a message.
    pub fn of(message: Message<'_>) -> Result<Self, Box<Unread>> {
        let (kind, method, params) = match message {
            Message::Request { id, method, params } => (Kind::Request(id.into_owned()), method, params),
            Message::Notification { method, params } => (Kind::Notification, method, params),
            Message::Response { .. } => return Ok(Self::response()),
        };
        let mut claims =
            Self { kind, method: method.into_owned(), subject: None, version: None, has_capabilities: false };
        match claims.read(params) {
            Ok(()) => Ok(claims),
            // Nothing answers a notification.
            Err(_) if claims.id().is_none() => Ok(claims),
            Err(error) => Err(Box::new(Unread { claims, error })),
        }
    }

    fn read(&mut self, params: Option<scorpiox_rpc::Members<'_>>) -> Result<(), RpcError> {
        let params = Params::new(params)?;
        let meta = RequestMeta::parse(&params)?;
        self.version = meta.protocol_version.map(Cow::into_owned);
        self.has_capabilities = meta.client_capabilities.is_some();
        let member = match self.method.as_str() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            method if method.starts_with("tasks/") => "taskId",
            _ => return Ok(()),
        };
        self.subject = params.optional::<Text<'_>>(member, "a string")?.map(|text| text.0.into_owned());
        Ok(())
    }

    fn response() -> Self {
        Self {
            kind: Kind::Response,
            method: String::new(),
            subject: None,
            version: None,
            has_capabilities: false,
        }
    }

    /// The id to answer to.
    pub fn id(&self) -> Option<&Id<'static>> {
        match &self.kind {
            Kind::Request(id) => Some(id),
            Kind::Notification | Kind::Response => None,
        }
    }

    /// Whether it carries what every message without a handshake carries.
    pub fn is_modern(&self) -> bool {
        self.version.is_some() || self.has_capabilities
    }
}
