//! rmcp's client with additional timeouts.

use std::process::Stdio;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError};
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::session::{Served, Session};
use crate::steps::Outcome;

/// Maximum time for a response.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Start of a session, and the expected revision.
pub struct Era {
    is_over_http: bool,
    lifecycle: ClientLifecycleMode,
    /// Revision that `initialize` offers, if the era has a handshake.
    offer: ProtocolVersion,
    pub revision: ProtocolVersion,
}

impl Era {
    pub fn named(name: &str) -> Self {
        let (name, is_over_http) = name.strip_prefix("http-").map_or((name, false), |name| (name, true));
        let newest = ProtocolVersion::V_2026_07_28;
        let preferred_versions = vec![newest.clone()];
        let (lifecycle, offer) = match name.strip_prefix("initialize-") {
            Some(offer) => (ClientLifecycleMode::Initialize, known(offer)),
            None if name == "auto" => {
                (ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }, newest.clone())
            }
            None => (ClientLifecycleMode::Discover { preferred_versions }, newest.clone()),
        };
        // A handshake cannot negotiate the revision without one, so the newest revision with one is expected.
        let revision = match lifecycle {
            ClientLifecycleMode::Initialize if offer == newest => ProtocolVersion::V_2025_11_25,
            _ => offer.clone(),
        };
        Self { is_over_http, lifecycle, offer, revision }
    }
}

fn known(name: &str) -> ProtocolVersion {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|version| version.as_str() == name);
    known.unwrap_or_else(|| panic!("rmcp does not know the revision {name}")).clone()
}

/// Receiver of server notifications.
pub struct Handler {
    offer: ProtocolVersion,
    progress: UnboundedSender<ProgressNotificationParam>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("tests", "1"))
            .with_protocol_version(self.offer.clone())
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        // The receiver is dropped at the end of the session.
        let _ = self.progress.send(params);
    }
}

pub struct Client {
    pub service: RunningService<RoleClient, Handler>,
    /// Server for an HTTP session.
    _served: Option<Served>,
    progress: UnboundedReceiver<ProgressNotificationParam>,
}

impl Client {
    pub async fn connect(era: &Era, session: &Session) -> Outcome<Self> {
        let (sender, progress) = unbounded_channel();
        let handler = Handler { offer: era.offer.clone(), progress: sender };
        if era.is_over_http {
            let served = session.serve_http().await?;
            let config = StreamableHttpClientTransportConfig::with_uri(served.url.clone());
            let config = config.auth_header(served.token.clone());
            let transport = StreamableHttpClientTransport::from_config(config);
            let serving = handler.serve_with_lifecycle(transport, era.lifecycle.clone());
            let service = tokio::time::timeout(PATIENCE, serving).await??;
            return Ok(Self { service, _served: Some(served), progress });
        }
        let builder = TokioChildProcess::builder(Command::new(session.server()));
        let (transport, _) = builder.stderr(Stdio::inherit()).spawn()?;
        let serving = handler.serve_with_lifecycle(transport, era.lifecycle.clone());
        let service = tokio::time::timeout(PATIENCE, serving).await??;
        Ok(Self { service, _served: None, progress })
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let call = self.service.call_tool(params(tool, arguments));
        tokio::time::timeout(PATIENCE, call).await.unwrap_or(Err(ServiceError::Timeout { timeout: PATIENCE }))
    }

    /// Sends a call without waiting for its response.
    pub async fn begin(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<RequestHandle<RoleClient>, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params(tool, arguments)));
        self.service.send_cancellable_request(request, PeerRequestOptions::no_options()).await
    }

    /// Returns the next progress notification.
    pub async fn progress(&mut self) -> Outcome<ProgressNotificationParam> {
        Ok(tokio::time::timeout(PATIENCE, self.progress.recv()).await?.ok_or("the session has ended")?)
    }

    /// `true` if an unread progress notification exists.
    pub fn has_more_progress(&self) -> bool {
        !self.progress.is_empty()
    }
}

fn params(tool: &str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
}
