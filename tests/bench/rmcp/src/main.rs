//! Echo server built with the official Rust SDK: as in its examples, or, with `RMCP_SETUP=fastest`, in its
//! fastest configuration.
//!
//! Pinned to one core (AMD EPYC; µs per echo, answers per second with 64 in flight, µs from spawn to the
//! answer of `initialize`):
//!
//! | runtime, transport | echo | in flight | start |
//! | --- | --- | --- | --- |
//! | `current_thread`, `stdio_pipes` | 12.1 | 99,000 | 960 |
//! | `multi_thread`, `stdio_pipes` | 12.5 | 94,000 | 1,100 |
//! | `current_thread`, `stdio` | 40.3 | 16,500 | 1,070 |
//! | `multi_thread`, `stdio` | 40.5 | 16,200 | 1,150 |
//!
//! rmcp's feature `local`, tokio's queue intervals and a disabled `tracing` have no measurable effect. rmcp's
//! own examples use `stdio` and `multi_thread`.

use std::sync::Arc;

use axum::serve::ListenerExt as _;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::io::stdio_pipes;
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServiceExt, schemars, tool, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

struct Server;

#[allow(clippy::unused_self)] // same signature as in rmcp's examples
#[tool_router(server_handler)]
impl Server {
    #[tool(description = "Returns the text it is given")]
    fn echo(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text
    }

    #[tool(description = "Returns the length of the text it is given, in bytes")]
    fn length(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text.len().to_string()
    }
}

/// Serves over HTTP as in rmcp's examples, on a free port.
async fn serve_http() -> Result<(), Box<dyn std::error::Error>> {
    let service = StreamableHttpService::new(
        || Ok(Server),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("serving at http://{}/mcp", listener.local_addr()?);
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    use tokio::runtime::Builder;
    if std::env::args().nth(1).as_deref() == Some("http") {
        return Builder::new_multi_thread().enable_all().build()?.block_on(serve_http());
    }
    if std::env::var_os("RMCP_SETUP").is_some_and(|setup| setup == "fastest") {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            Server.serve(stdio_pipes()).await?.waiting().await?;
            Ok(())
        })
    } else {
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            Server.serve(stdio()).await?.waiting().await?;
            Ok(())
        })
    }
}
