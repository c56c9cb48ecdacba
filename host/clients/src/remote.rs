//! The entry of a server that is reached over HTTP.

use serde_json::{Value, json};

use super::{Client, ENTRY_NAME};

/// A server at an address.
pub struct Remote {
    /// Its address, with the path.
    pub url: String,
    /// What it wants to be shown.
    pub token: String,
}

/// What a person puts into the client's file; `None` for a client that takes no such servers from a file.
///
/// Sources: <https://code.claude.com/docs/en/mcp>, <https://cursor.com/docs/mcp>,
/// <https://code.visualstudio.com/docs/copilot/reference/mcp-configuration>, <https://developers.openai.com/codex/mcp>,
/// <https://geminicli.com/docs/tools/mcp-server>, <https://opencode.ai/docs/mcp-servers>,
/// <https://docs.windsurf.com/windsurf/cascade/mcp>, <https://zed.dev/docs/ai/mcp>.
pub fn remote_snippet(client: Client, remote: &Remote) -> Option<String> {
    let Remote { url, token } = remote;
    let headers = json!({ "Authorization": format!("Bearer {token}") });
    let entry = match client {
        Client::ClaudeDesktop => return None,
        Client::Codex => {
            let [url, header] = [url, &format!("Bearer {token}")].map(|text| json!(text).to_string());
            return Some(format!(
                "[mcp_servers.{ENTRY_NAME}]\nurl = {url}\nhttp_headers = {{ Authorization = {header} }}"
            ));
        }
        Client::Continue => {
            let [url, header] = [url, &format!("Bearer {token}")].map(|text| json!(text).to_string());
            return Some(format!(
                "mcpServers:\n  - name: {ENTRY_NAME}\n    type: streamable-http\n    url: {url}\n    requestOptions:\n      \
                 headers:\n        Authorization: {header}"
            ));
        }
        Client::ClaudeCode | Client::VsCode => json!({ "type": "http", "url": url, "headers": headers }),
        Client::Copilot => json!({ "type": "http", "url": url, "headers": headers, "tools": ["*"] }),
        Client::Cursor | Client::Zed => json!({ "url": url, "headers": headers }),
        Client::Gemini | Client::Qwen => json!({ "httpUrl": url, "headers": headers }),
        Client::OpenCode => json!({ "type": "remote", "url": url, "headers": headers }),
        Client::Cline => json!({ "type": "streamableHttp", "url": url, "headers": headers }),
        Client::Windsurf => json!({ "serverUrl": url, "headers": headers }),
    };
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
        let remote = Remote { url: "http://127.0.0.1:7300/mcp".to_owned(), token: "scorpiox_abc".to_owned() };
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
