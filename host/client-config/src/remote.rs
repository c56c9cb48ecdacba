//! Client entry of a server that is reached over HTTP.

use serde_json::{Value, json};

use super::{Client, ENTRY_NAME};

/// A remote server.
pub struct Remote {
    /// URL, including the path.
    pub url: String,
    /// Bearer token for the entry. `None` if the client contacts an authorization server itself, or if no
    /// token is needed.
    pub token: Option<String>,
}

/// Returns the entry that a user adds to the client's file, or `None` if the client does not configure remote
/// servers in a file.
///
/// Sources: <https://code.claude.com/docs/en/mcp>, <https://cursor.com/docs/mcp>,
/// <https://code.visualstudio.com/docs/copilot/reference/mcp-configuration>,
/// <https://developers.openai.com/codex/mcp>, <https://geminicli.com/docs/tools/mcp-server>,
/// <https://opencode.ai/docs/mcp-servers>, <https://docs.windsurf.com/windsurf/cascade/mcp>,
/// <https://zed.dev/docs/ai/mcp>.
pub fn remote_snippet(client: Client, remote: &Remote) -> Option<String> {
    let Remote { url, token } = remote;
    let authorization = token.as_ref().map(|token| format!("Bearer {token}"));
    let mut entry = match client {
        Client::ClaudeDesktop => return None,
        Client::Codex => {
            let header =
                authorization.map(|shown| format!("\nhttp_headers = {{ Authorization = {} }}", json!(shown)));
            return Some(format!(
                "[mcp_servers.{ENTRY_NAME}]\nurl = {}{}",
                json!(url),
                header.unwrap_or_default()
            ));
        }
        Client::Continue => {
            let header = authorization.map(|shown| {
                format!("\n    requestOptions:\n      headers:\n        Authorization: {}", json!(shown))
            });
            return Some(format!(
                "mcpServers:\n  - name: {ENTRY_NAME}\n    type: streamable-http\n    url: {}{}",
                json!(url),
                header.unwrap_or_default()
            ));
        }
        Client::ClaudeCode => json!({ "type": "http", "url": url, "alwaysLoad": true }),
        Client::VsCode => json!({ "type": "http", "url": url }),
        Client::Copilot => json!({ "type": "http", "url": url, "tools": ["*"] }),
        Client::Cursor | Client::Zed => json!({ "url": url }),
        Client::Gemini | Client::Qwen => json!({ "httpUrl": url }),
        Client::OpenCode => json!({ "type": "remote", "url": url }),
        Client::Cline => json!({ "type": "streamableHttp", "url": url }),
        Client::Windsurf => json!({ "serverUrl": url }),
    };
    if let Some(shown) = authorization {
        entry["headers"] = json!({ "Authorization": shown });
    }
    let servers = match client {
        Client::VsCode => "servers",
        Client::OpenCode => "mcp",
        Client::Zed => "context_servers",
        _ => "mcpServers",
    };
    let file: Value = json!({ servers: { ENTRY_NAME: entry } });
    serde_json::to_string_pretty(&file).ok()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_client_with_such_servers_is_given_address_and_token() {
        let remote =
            Remote { url: "http://127.0.0.1:7300/mcp".to_owned(), token: Some("scorpiox_abc".to_owned()) };
        for client in Client::value_variants() {
            let Some(snippet) = remote_snippet(*client, &remote) else {
                assert_eq!(*client, Client::ClaudeDesktop);
                continue;
            };
            assert!(snippet.contains("\"http://127.0.0.1:7300/mcp\""), "{snippet}");
            assert!(snippet.contains("\"Bearer scorpiox_abc\"") && snippet.contains(ENTRY_NAME), "{snippet}");
        }
    }
}
