use super::*;
use std::fs;
use tempfile::TempDir;

const COMMAND: &str = "/home/me/.scorpiox/scorpiox-code";
const CLIENTS: [Client; 13] = [
    Client::ClaudeDesktop,
    Client::ClaudeCode,
    Client::Cursor,
    Client::VsCode,
    Client::Codex,
    Client::Gemini,
    Client::Qwen,
    Client::OpenCode,
    Client::Copilot,
    Client::Continue,
    Client::Cline,
    Client::Windsurf,
    Client::Zed,
];

fn started(program: &str) -> Start {
    Start { program: program.to_owned(), arguments: Vec::new() }
}

fn snippet(client: Client, program: &str) -> String {
    super::snippet(client, &started(program))
}

fn write(path: &Path, client: Client, program: &str) -> Result<Written, WriteError> {
    super::write(path, client, &started(program), Owner::Person)
}

#[test]
fn what_decides_the_policy_is_carried_and_corrected() {
    let folder = folder();
    let mut start = started(COMMAND);
    start.arguments = ["--home", "/srv/own", "--workspace", "/srv/project"].map(str::to_owned).to_vec();
    for client in CLIENTS {
        let path = folder.path().join(format!("{client:?}"));
        let fresh = super::snippet(client, &start);
        assert!(fresh.contains("\"--home\"") && fresh.contains("\"/srv/project\""), "{fresh}");
        fs::write(&path, &fresh).expect("write");
        let again = super::write(&path, client, &start, Owner::Person).expect("write");
        assert!(matches!(again.how, How::Unchanged), "{client:?}");
        fs::write(&path, snippet(client, COMMAND)).expect("write");
        let corrected = super::write(&path, client, &start, Owner::Person);
        if client == Client::Continue {
            let refused = corrected.expect_err("refused").to_string();
            assert!(refused.contains("other arguments than --home /srv/own"), "{refused}");
        } else {
            assert!(matches!(corrected.expect("write").how, How::Updated { .. }), "{client:?}");
            assert_eq!(fs::read_to_string(&path).expect("read"), fresh, "{client:?}");
        }
    }
}

fn folder() -> TempDir {
    // Results contain resolved paths, so the folder must be canonical.
    TempDir::new_in(fs::canonicalize(std::env::temp_dir()).expect("canonical")).expect("temporary folder")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("list");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn names_on_the_command_line() {
    let names = CLIENTS
        .map(|client| clap::ValueEnum::to_possible_value(&client).expect("a name").get_name().to_owned());
    let expected = [
        "claude-desktop",
        "claude-code",
        "cursor",
        "vscode",
        "codex",
        "gemini",
        "qwen",
        "opencode",
        "copilot",
        "continue",
        "cline",
        "windsurf",
        "zed",
    ];
    assert_eq!(names, expected);
}

#[test]
fn snippets_are_what_the_clients_document() {
    let program = format!("\"command\": \"{COMMAND}\"");
    let json = |key: &str, members: &[&str]| {
        let members = members.join(",\n      ");
        format!("{{\n  \"{key}\": {{\n    \"scorpiox\": {{\n      {members}\n    }}\n  }}\n}}\n")
    };
    let within = "\"env\": {\n        \"ANSWER_WITHIN\": \"580\"\n      }";
    let (args, stdio, local) = ("\"args\": []", "\"type\": \"stdio\"", "\"type\": \"local\"");
    let listed = format!("\"command\": [\"{COMMAND}\"]");
    let all = "\"tools\": [\"*\"]";
    for client in [Client::ClaudeDesktop, Client::Cursor, Client::Gemini, Client::Qwen, Client::Windsurf] {
        assert_eq!(snippet(client, COMMAND), json("mcpServers", &[&program, args]), "{client:?}");
    }
    let expected = [
        (Client::ClaudeCode, json("mcpServers", &[&program, args, "\"alwaysLoad\": true"])),
        (Client::VsCode, json("servers", &[stdio, &program, args])),
        (Client::Zed, json("context_servers", &[&program, args])),
        (Client::OpenCode, json("mcp", &[local, &listed, "\"enabled\": true"])),
        (Client::Copilot, json("mcpServers", &[local, &program, args, all])),
        (Client::Cline, json("mcpServers", &[stdio, &program, args, "\"timeout\": 600", within])),
        (Client::Codex, format!("[mcp_servers.scorpiox]\ncommand = \"{COMMAND}\"\nargs = []\n")),
        (
            Client::Continue,
            format!("mcpServers:\n  - name: scorpiox\n    command: \"{COMMAND}\"\n    args: []\n"),
        ),
    ];
    for (client, expected) in expected {
        assert_eq!(snippet(client, COMMAND), expected, "{client:?}");
    }
}

#[test]
fn a_command_with_any_characters_is_quoted() {
    let command = "C:\\Users\\\"me\"\\\u{1}\u{7f}é\u{2028}.exe";
    let value: serde_json::Value = serde_json::from_str(&snippet(Client::Cursor, command)).expect("JSON");
    assert_eq!(value["mcpServers"]["scorpiox"]["command"], command);
}

fn path_with(client: Client, variables: &[(&str, &str)]) -> String {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| PathBuf::from(value))
    };
    let around =
        Surroundings { home: Path::new("/home/me"), workspace: Path::new("/ws"), variable: &variable };
    // Normalize the separators to those of the tests.
    config_path(client, &around).to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

#[test]
fn configuration_paths() {
    for (client, path) in [
        (Client::ClaudeCode, "/ws/.mcp.json"),
        (Client::VsCode, "/ws/.vscode/mcp.json"),
        (Client::Cursor, "/home/me/.cursor/mcp.json"),
        (Client::Codex, "/home/me/.codex/config.toml"),
        (Client::Gemini, "/home/me/.gemini/settings.json"),
        (Client::Qwen, "/home/me/.qwen/settings.json"),
        (Client::OpenCode, "/home/me/.config/opencode/opencode.json"),
        (Client::Copilot, "/home/me/.copilot/mcp-config.json"),
        (Client::Continue, "/home/me/.continue/config.yaml"),
        (Client::Cline, "/home/me/.cline/data/settings/cline_mcp_settings.json"),
        (Client::Windsurf, "/home/me/.codeium/windsurf/mcp_config.json"),
        (
            Client::Zed,
            if cfg!(windows) {
                "/home/me/AppData/Roaming/Zed/settings.json"
            } else {
                "/home/me/.config/zed/settings.json"
            },
        ),
    ] {
        assert_eq!(path_with(client, &[]), path, "{client:?}");
    }
}

#[test]
fn folders_that_clients_move_by_a_variable_are_found() {
    // Only absolute XDG paths are used, and on Windows those start with a drive.
    let drive = if cfg!(windows) { "C:" } else { "" };
    let config = format!("{drive}/cfg");
    let variables = [
        ("CODEX_HOME", "/codex"),
        ("COPILOT_HOME", "/copilot"),
        ("CONTINUE_GLOBAL_DIR", "/continue"),
        ("XDG_CONFIG_HOME", config.as_str()),
    ];
    assert_eq!(path_with(Client::Codex, &variables), "/codex/config.toml");
    assert_eq!(path_with(Client::Copilot, &variables), "/copilot/mcp-config.json");
    assert_eq!(path_with(Client::Continue, &variables), "/continue/config.yaml");
    assert_eq!(path_with(Client::OpenCode, &variables), format!("{drive}/cfg/opencode/opencode.json"));
}

#[test]
fn open_code_keeps_the_name_that_its_file_has() {
    let folder = folder();
    let config = folder.path().to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    let found = || path_with(Client::OpenCode, &[("XDG_CONFIG_HOME", &config)]);
    assert_eq!(found(), format!("{config}/opencode/opencode.json"));
    fs::create_dir(folder.path().join("opencode")).expect("a folder");
    fs::write(folder.path().join("opencode/opencode.jsonc"), "{}").expect("write");
    assert_eq!(found(), format!("{config}/opencode/opencode.jsonc"));
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn the_desktop_configuration_follows_xdg() {
    let default = path_with(Client::ClaudeDesktop, &[]);
    assert_eq!(default, "/home/me/.config/Claude/claude_desktop_config.json");
    let moved = path_with(Client::ClaudeDesktop, &[("XDG_CONFIG_HOME", "/cfg")]);
    assert_eq!(moved, "/cfg/Claude/claude_desktop_config.json");
    let relative = path_with(Client::ClaudeDesktop, &[("XDG_CONFIG_HOME", "cfg")]);
    assert_eq!(relative, default, "a relative XDG_CONFIG_HOME is ignored");
}

#[test]
fn a_missing_file_is_created_with_its_folders() {
    let folder = folder();
    let path = folder.path().join("a/b/mcp.json");
    let written = write(&path, Client::VsCode, COMMAND).expect("write");
    assert_eq!(written, Written { path: path.clone(), how: How::Created, stayed: Vec::new() });
    assert_eq!(fs::read_to_string(&path).expect("read"), snippet(Client::VsCode, COMMAND));
    assert_eq!(names(&folder.path().join("a/b")), ["mcp.json"]);
}

#[test]
fn a_second_write_changes_nothing_and_makes_no_backup() {
    let folder = folder();
    for client in CLIENTS.into_iter().filter(|client| *client != Client::Continue) {
        let path = folder.path().join(format!("{client:?}"));
        write(&path, client, COMMAND).expect("write");
        let before = names(folder.path());
        let again = write(&path, client, COMMAND).expect("write");
        assert_eq!(again, Written { path: path.clone(), how: How::Unchanged, stayed: Vec::new() });
        assert_eq!(names(folder.path()), before);
    }
}

#[test]
fn each_change_makes_a_backup_of_its_own() {
    let folder = folder();
    let path = folder.path().join("mcp.json");
    fs::write(&path, "{} // mine").expect("write");
    for (n, command) in ["/a", "/b"].iter().enumerate() {
        let before = fs::read_to_string(&path).expect("read");
        let backup = folder.path().join(format!("mcp.json.scorpiox-backup-{}", n + 1));
        let written = write(&path, Client::Cursor, command).expect("write");
        assert_eq!(written.how, How::Updated { backup: backup.clone() });
        assert_eq!(fs::read_to_string(backup).expect("read"), before);
    }
    assert_eq!(
        names(folder.path()),
        ["mcp.json", "mcp.json.scorpiox-backup-1", "mcp.json.scorpiox-backup-2"]
    );
    assert!(fs::read_to_string(&path).expect("read").contains("// mine"));
}

#[test]
fn a_file_that_is_refused_stays_as_it_is() {
    let folder = folder();
    let path = folder.path().join("mcp.json");
    let cases = [
        ("{\n  \"mcpServers\": {", "2:17: not valid JSON: Unterminated object"),
        ("{\"mcpServers\":\n []}", "1: \"mcpServers\" must be an object, { … }"),
    ];
    for (text, expected) in cases {
        fs::write(&path, text).expect("write");
        let message = write(&path, Client::Cursor, COMMAND).expect_err("refused").to_string();
        assert_eq!(
            message,
            format!(
                "{}:{expected}; correct the file, or paste the entry by hand; nothing was changed",
                path.display()
            )
        );
        assert_eq!(fs::read_to_string(&path).expect("read"), text);
    }
    fs::write(&path, b"{\"a\": \"\xff\"}").expect("write");
    assert!(matches!(write(&path, Client::Cursor, COMMAND), Err(WriteError::NotUtf8 { at: 7, .. })));
    fs::write(&path, vec![b' '; 4 * 1024 * 1024 + 1]).expect("write");
    assert!(matches!(write(&path, Client::Cursor, COMMAND), Err(WriteError::TooLarge { .. })));
    assert!(matches!(write(folder.path(), Client::Cursor, COMMAND), Err(WriteError::NotAFile { .. })));
    assert_eq!(names(folder.path()), ["mcp.json"]);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_stays_a_link() {
    let folder = folder();
    let (link, real) = (folder.path().join("mcp.json"), folder.path().join("dotfiles.json"));
    std::os::unix::fs::symlink("dotfiles.json", &link).expect("link");
    assert!(matches!(write(&link, Client::Cursor, COMMAND), Err(WriteError::DanglingLink { .. })));

    fs::write(&real, "{}\n").expect("write");
    let written = write(&link, Client::Cursor, COMMAND).expect("write");
    assert_eq!(written.path, real);
    assert!(fs::symlink_metadata(&link).expect("look").is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("read"), snippet(Client::Cursor, COMMAND));
}

#[cfg(unix)]
#[test]
fn permissions_are_kept_and_the_backup_has_them_too() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let path = folder.path().join("mcp.json");
    for mode in [0o600, 0o664] {
        fs::write(&path, "{}").expect("write");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("permissions");
        let How::Updated { backup } = write(&path, Client::Cursor, COMMAND).expect("write").how else {
            panic!("not updated");
        };
        for file in [&path, &backup] {
            assert_eq!(fs::metadata(file).expect("look").permissions().mode() & 0o7777, mode);
        }
    }
}

#[test]
fn what_someone_else_writes_meanwhile_is_not_overwritten() {
    let folder = folder();
    let path = folder.path().join("mcp.json");
    fs::write(&path, "{}").expect("write");
    let original = file::read(&path).expect("read").expect("a file");
    fs::write(&path, "{\"theirs\": 1}").expect("write");
    let refused = file::replace(&original, "{\"ours\": 1}");
    assert!(matches!(refused, Err(WriteError::ChangedMeanwhile { .. })));
    assert!(matches!(file::create(&path, "{}"), Err(WriteError::ChangedMeanwhile { .. })));
    assert_eq!(fs::read_to_string(&path).expect("read"), "{\"theirs\": 1}");
    assert_eq!(names(folder.path()), ["mcp.json"]);
}

/// Writes to a project's file that contains `text`, and returns its new content.
fn in_project(text: &str, client: Client, existing: Option<Existing>) -> Result<String, String> {
    let folder = folder();
    let path = folder.path().join("mcp.json");
    fs::write(&path, text).expect("write");
    let written = super::write(&path, client, &started(COMMAND), Owner::Project(existing));
    let after = fs::read_to_string(&path).expect("read");
    if written.is_err() {
        assert_eq!(after, text);
    }
    written.map(|_| after).map_err(|error| error.to_string())
}

#[test]
fn an_entry_that_a_project_brought_is_not_adopted() {
    let keep = Some(Existing::Keep);
    let replace = Some(Existing::Replace);
    for (more, steers) in [
        (r#""env": {"LD_PRELOAD": ".x/e.so", "TOOL_BASH": "0"}"#, "env LD_PRELOAD"),
        (r#""env": {"SCORPIOX_HOME": ".x"}"#, "env SCORPIOX_HOME"),
        (r#""env": {"Path": "."}"#, "env Path"),
        (r#""env": "${X}""#, "env"),
        (r#""envFile": ".env""#, "envFile"),
        (r#""cwd": "/""#, "cwd"),
        (r#""url": "https://mcp.example.com""#, "url"),
        (r#""\u0075rl": "https://mcp.example.com""#, "url"),
        (r#""headersHelper": "touch x""#, "headersHelper"),
        (r#""type": "http""#, "type"),
    ] {
        let text = format!(r#"{{"mcpServers": {{"scorpiox": {{"command": "{COMMAND}", {more}}}}}}}"#);
        let error = in_project(&text, Client::ClaudeCode, None).expect_err(more);
        assert!(error.contains("--existing replace") && error.contains("nothing was changed"), "{error}");
        let error = in_project(&text, Client::ClaudeCode, keep).expect_err(more);
        assert!(error.contains(&format!("under which policy: {steers};")), "{error}");
        let replaced = in_project(&text, Client::ClaudeCode, replace).expect("replaced");
        let expected: serde_json::Value =
            serde_json::from_str(&snippet(Client::ClaudeCode, COMMAND)).expect("JSON");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&replaced).expect("JSON"), expected, "{more}");
    }
    let text = r#"{"servers": {"scorpiox": {"type": "http", "command": "/x", "args": ["--x\u001b[2J"]}}}"#;
    let error = in_project(text, Client::VsCode, None).expect_err("args");
    assert!(error.contains("\n  args: [\"--x\\u001b[2J\"]\n"), "{error}");
    let error = in_project(text, Client::VsCode, keep).expect_err("args say which policy holds");
    assert!(error.contains("under which policy: args"), "{error}");
}

#[test]
fn an_entry_of_a_project_with_nothing_to_decide_is_corrected() {
    let usual = r#"{"mcpServers": {"scorpiox": {"type": "stdio", "command": "/x", "args": [], "env": {}, "alwaysLoad": false}}}"#;
    let expected = usual.replace("/x", COMMAND);
    assert_eq!(in_project(usual, Client::ClaudeCode, None), Ok(expected));
}

#[test]
fn what_stays_of_a_persons_entry_is_said() {
    let folder = folder();
    let json = r#"env: {"A": "1"}"#;
    for (client, text, stayed) in [
        (Client::Cursor, r#"{"mcpServers": {"scorpiox": {"command": "/x", "env": {"A": "1"}}}}"#, json),
        (
            Client::Codex,
            "[mcp_servers.scorpiox]\ncommand = \"/x\"\nargs = []\nenv = { A = \"1\" }\n",
            r#"env: { A = "1" }"#,
        ),
        (
            Client::Continue,
            "mcpServers:\n  - name: scorpiox\n    command: /x\n    env: {\"A\": \"1\"}\n",
            json,
        ),
    ] {
        let path = folder.path().join(format!("{client:?}"));
        fs::write(&path, text).expect("write");
        assert_eq!(write(&path, client, COMMAND).expect("write").stayed, [stayed], "{client:?}");
        let refused = super::write(&path, client, &started(COMMAND), Owner::Project(None));
        assert!(matches!(refused, Err(WriteError::Brought { .. })), "{client:?}");
    }
}
