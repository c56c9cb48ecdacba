//! Properties of a body that are read before it is processed.

use std::borrow::Cow;

use scorpiox_exchange::outgoing::may_be_asked;
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
    /// A response to a request that no server of this program can have sent.
    Stray,
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
            // An error without an ID may be about a message that the client could not read.
            Message::Response { id: None, outcome: Err(_) } => return Ok(Self::response(Kind::Response)),
            Message::Response { id, .. } => {
                let is_ours = id.is_some_and(|id| may_be_asked(&id));
                return Ok(Self::response(if is_ours { Kind::Response } else { Kind::Stray }));
            }
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

    fn response(kind: Kind) -> Self {
        Self { kind, method: String::new(), subject: None, version: None, has_capabilities: false }
    }

    /// Returns the ID of a request.
    pub fn id(&self) -> Option<&Id<'static>> {
        match &self.kind {
            Kind::Request(id) => Some(id),
            Kind::Notification | Kind::Response | Kind::Stray => None,
        }
    }

    /// Returns `true` if the message has the `_meta` members of a protocol revision without a handshake.
    pub fn is_modern(&self) -> bool {
        self.version.is_some() || self.has_capabilities
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_stray_if_no_server_can_have_asked() {
        let kind = |text: &str| Claims::of(Message::parse(text).expect("a message")).expect("claims").kind;
        for (id, outcome, expected) in [
            ("\"scorpiox-1-2\"", "\"result\":{}", Kind::Response),
            ("\"scorpiox-of-another-server\"", "\"error\":{\"code\":1,\"message\":\"\"}", Kind::Response),
            ("null", "\"error\":{\"code\":1,\"message\":\"\"}", Kind::Response),
            ("null", "\"result\":{}", Kind::Stray),
            ("7", "\"result\":{}", Kind::Stray),
            ("\"7\"", "\"error\":{\"code\":1,\"message\":\"\"}", Kind::Stray),
        ] {
            assert_eq!(
                kind(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{outcome}}}")),
                expected,
                "{id} {outcome}"
            );
        }
    }
}
