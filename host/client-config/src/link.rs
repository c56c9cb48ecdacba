//! Install links, which add the entry when a client opens them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::{Client, ENTRY_NAME, Start};

/// Returns the link with which a client asks the user to add this server, or `None` if the client has none.
///
/// Sources: <https://cursor.com/docs/mcp/install-links>,
/// <https://code.visualstudio.com/api/extension-guides/ai/mcp>.
pub fn link(client: Client, start: &Start) -> Option<String> {
    let Start { program, arguments } = start;
    let escaped = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    match client {
        Client::Cursor => {
            let config = STANDARD.encode(json!({ "command": program, "args": arguments }).to_string());
            Some(format!(
                "cursor://anysphere.cursor-deeplink/mcp/install?name={ENTRY_NAME}&config={}",
                escaped(&config)
            ))
        }
        Client::VsCode => {
            let entry = json!({ "name": ENTRY_NAME, "command": program, "args": arguments });
            Some(format!("vscode:mcp/install?{}", escaped(&entry.to_string())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::percent_decode_str;
    use serde_json::Value;

    fn start() -> Start {
        Start {
            program: "/opt/it's \"here\"/scorpiox-code".to_owned(),
            arguments: vec!["--home".to_owned(), "/a b".to_owned()],
        }
    }

    #[test]
    fn cursor_is_given_the_entry_in_base64() {
        let link = link(Client::Cursor, &start()).expect("as it is made");
        let config = link.split_once("&config=").expect("as it is made").1;
        let config = percent_decode_str(config).decode_utf8().expect("as it is made");
        let entry: Value =
            serde_json::from_slice(&STANDARD.decode(config.as_bytes()).expect("as it is made"))
                .expect("as it is made");
        assert_eq!(entry, json!({ "command": start().program, "args": start().arguments }));
    }

    #[test]
    fn visual_studio_code_is_given_json() {
        let link = link(Client::VsCode, &start()).expect("as it is made");
        let entry = percent_decode_str(link.strip_prefix("vscode:mcp/install?").expect("as it is made"))
            .decode_utf8()
            .expect("as it is made");
        let entry: Value = serde_json::from_str(&entry).expect("as it is made");
        assert_eq!(entry["name"], "scorpiox");
        assert_eq!(entry["command"], start().program);
    }

    #[test]
    fn others_have_no_address() {
        assert_eq!(super::link(Client::Codex, &start()), None);
    }
}
