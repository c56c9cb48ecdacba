//! Tests of attacks on the question programs, which run outside of the sandbox: a command or a project cannot
//! substitute them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use scorpiox_tests::{Canonical as _, Program, Served};
use serde_json::json;

use super::tmux::Tmux;
use super::{TWO, ask, program};

/// Returns a script that records in the workspace that it ran, and answers like a dialog.
fn impostor(workspace: &Path) -> String {
    format!("#!/bin/bash\necho ran >> '{}/ran'\necho 1\n", workspace.display())
}

fn put_program(program: &Program, path: &str) {
    let path = program.put(path, impostor(&program.workspace()));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("sets");
}

/// Asserts that the result contains the questions as text and that no impostor ran.
fn assert_unasked(server: &mut Served) {
    let id = ask(server, TWO);
    let result = server.answer(id)["result"].clone();
    assert_eq!(result["isError"], true, "{result}");
    assert!(!server.program.workspace().join("ran").exists(), "{result}");
}

#[test]
fn programs_on_path_are_not_started() {
    let names = ["tmux", "x-terminal-emulator", "xterm", "kitty", "foot", "zenity", "kdialog", "osascript"];
    for folder in ["workspace/node_modules/.bin", "home/.local/bin", "elsewhere"] {
        let program = Program::new();
        for name in names {
            put_program(&program, &format!("{folder}/{name}"));
        }
        let path = program.home().join("..").join(folder).canonical();
        let path = format!("{}:/usr/bin:/bin", path.display());
        let program = program.with("PATH", &path).with("DISPLAY", ":99").with("WAYLAND_DISPLAY", "wayland-9");
        let program = program.with("TERMINAL", "kitty").with("BROWSER", "kitty");
        let mut server = program.serve();
        server.initialize("2025-11-25");
        assert_unasked(&mut server);
    }
}

#[test]
fn a_socket_in_the_workspace_is_no_tmux() {
    let program = program();
    let socket = program.workspace().canonical().join("tmux");
    let listener = UnixListener::bind(&socket).expect("a socket");
    listener.set_nonblocking(true).expect("a mode");
    let mut server = program.with("TMUX", &format!("{},1,0", socket.display())).serve();
    server.initialize("2025-11-25");
    assert_unasked(&mut server);
    assert!(listener.accept().is_err(), "it was asked to show the questions");
}

#[test]
fn what_programs_load_is_not_taken_from_the_environment() {
    let program = Program::new();
    let workspace = program.workspace().canonical();
    let log = workspace.join("environment");
    let script = format!("#!/bin/bash\nenv > '{}'\necho 1\n", log.display());
    let start = program.put("workspace/start", impostor(&workspace));
    let folder = workspace.display().to_string();
    let program = program
        .with_system_program("zenity", &script)
        .with("DISPLAY", ":99")
        .with("BASH_ENV", start.to_str().expect("Unicode"))
        .with("LD_LIBRARY_PATH", &folder)
        .with("GTK_MODULES", "evil")
        .with("XDG_CONFIG_HOME", &folder)
        .with("XDG_DATA_DIRS", &format!("/usr/share:{folder}"))
        .with("XDG_RUNTIME_DIR", "/run");
    let mut server = program.serve();
    server.initialize("2025-11-25");
    let id = ask(&mut server, r#"[{"text":"Which?","options":["A","B"]}]"#);
    let result = server.answer(id)["result"].clone();
    assert_eq!(result["isError"], false, "{result}");
    let had = fs::read_to_string(log).expect("it ran");
    for name in ["BASH_ENV", "LD_LIBRARY_PATH", "GTK_MODULES", "XDG_CONFIG_HOME", "XDG_DATA_DIRS"] {
        assert!(!had.lines().any(|line| line.starts_with(&format!("{name}="))), "{name}:\n{had}");
    }
    assert!(had.contains("DISPLAY=:99\n") && had.contains("XDG_RUNTIME_DIR=/run\n"), "{had}");
    let path = had.lines().find_map(|line| line.strip_prefix("PATH=")).expect("a path");
    assert!(
        path.split(':').all(|folder| folder.starts_with('/') && !folder.starts_with(&*folder_of(&server))),
        "{path}"
    );
    assert!(!server.program.workspace().join("ran").exists());
}

fn folder_of(server: &Served) -> String {
    server.program.workspace().display().to_string()
}

#[test]
fn the_screen_is_shown_by_the_program_that_runs_whatever_lies_at_its_path_by_now() {
    let tmux = Tmux::with_pane(80, 24);
    let program = tmux.program().with_own_binary();
    let own = program.home().join("../bin/scorpiox-code").canonical();
    let mut server = program.serve();
    server.initialize("2025-11-25");
    server.call("ListBgTasks", json!({}));
    fs::remove_file(&own).expect("removes");
    fs::write(&own, impostor(&server.program.workspace())).expect("writes");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("sets");
    let id = ask(&mut server, r#"[{"text":"Which?","options":["A","B"]}]"#);
    tmux.listens_with("Which?");
    tmux.press(&["Down", "Up", "Enter"]);
    tmux.screen_with("Send");
    tmux.press(&["Enter"]);
    assert_eq!(server.answer(id)["result"]["isError"], false);
    assert!(!server.program.workspace().join("ran").exists());
}
