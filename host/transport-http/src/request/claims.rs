//! Properties of a body that are read before it is processed.

use std::borrow::Cow;

use scorpiox_mcp::jsonrpc::{Id, Message};
use scorpiox_mcp::{Params, RequestMeta, RpcError};

use scorpiox_mcp::params::Text;

/// Properties of a message that the transport needs.
#[derive(Debug)]
pub struct Claims {
    /// Kind of the message.
    pub kind: Kind,
    /// Method; empty for a response.
    pub method: String,
    /// Subject of the request: the name of a tool or prompt, the URI of a resource, or the ID of a task.
    pub subject: Option<String>,
    /// Protocol revision in `_meta`.
    pub version: Option<String>,
    /// `true` if `_meta` contains the client's capabilities.
    pub has_capabilities: bool,
}

/// Kind of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A request with its ID.
    Request(Id<'static>),
    /// A notification, which has no answer.
    Notification,
    /// A response.
    Response,
}

/// A request with invalid parameters.
#[derive(Debug)]
pub struct Unread {
    /// Properties that could be read.
    pub claims: Claims,
    /// Error in the parameters.
    pub error: RpcError,
}

impl Claims {
    /// Reads the properties of a message.
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
            // Notifications are never answered.
            Err(_) if claims.id().is_none() => Ok(claims),
            Err(error) => Err(Box::new(Unread { claims, error })),
        }
    }

    fn read(&mut self, params: Option<scorpiox_mcp::jsonrpc::Members<'_>>) -> Result<(), RpcError> {
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

    /// Returns the ID of a request.
    pub fn id(&self) -> Option<&Id<'static>> {
        match &self.kind {
            Kind::Request(id) => Some(id),
            Kind::Notification | Kind::Response => None,
        }
    }

    /// Returns `true` if the message has the `_meta` members of a protocol revision without a handshake.
    pub fn is_modern(&self) -> bool {
        self.version.is_some() || self.has_capabilities
    }
}
