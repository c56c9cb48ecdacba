//! Tests of tool state in a PostgreSQL database, shared by all servers with the workspace at the same path.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use scorpiox_test_support::postgres::{PASSWORD, Postgres};
use scorpiox_tests::Program;
use serde_json::json;

/// Returns a program that stores its state in a database of this server.
fn program(server: &Postgres) -> Program {
    let program = Program::new();
    use_database(&program, &server.database());
    program
}

/// Writes the policy, with the password in a separate file.
fn use_database(program: &Program, address: &str) {
    let address = address.replace(&format!(":{}@", PASSWORD.replace(' ', "%20")), "@");
    let file = program.put("home/database-password", format!("{PASSWORD}\n"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    let store = format!(
        "[store]\nkind = \"postgres\"\naddress = \"{address}\"\npassword_file = \"~/database-password\"\n"
    );
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n{store}"));
}

fn add(program: &Program, title: &str) {
    let mut server = program.start();
    server.initialize("2025-11-25");
    let said = server.text("TaskManager", json!({ "action": "create", "text": title }));
    assert!(said.contains(title), "{said}");
}

fn listed(program: &Program) -> String {
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.text("TaskManager", json!({ "action": "list" }))
}

#[test]
fn tools_keep_what_they_store_in_the_database_and_nothing_on_disk() {
    let server = Postgres::start();
    let program = program(&server);
    add(&program, "water the plants");
    assert!(listed(&program).contains("water the plants"));
    assert!(!program.home().join(".scorpiox/state").exists(), "no file is made");
    let (status, said, errors) = program.run(&["store", "check"]);
    assert!(status.success() && errors.is_empty(), "{said}{errors}");
    assert!(
        said.contains("(format 3)") && said.contains("(this workspace)") && !said.contains(PASSWORD),
        "{said}"
    );
    // A new or restored database has PostgreSQL's default permissions until it is restricted.
    let open = "Every role of this PostgreSQL can connect to the database. Run `scorpiox-code store migrate`";
    assert!(said.contains(open), "{said}");
    let (_, said, _) = program.run(&["doctor"]);
    assert!(
        said.replace('\n', " ").split_whitespace().collect::<Vec<_>>().join(" ").contains(open),
        "{said}"
    );
    assert!(program.run(&["store", "migrate"]).0.success());
    for command in [&["store", "check"][..], &["doctor"]] {
        let (_, said, _) = program.run(command);
        assert!(!said.contains("Every role"), "{said}");
    }
    // The counters match the content of the tables.
    let broken = "UPDATE scorpiox_code.usage SET bytes = bytes + 1";
    server.psql("test0", broken).expect("changed");
    let (status, said, _) = program.run(&["store", "check"]);
    assert!(!status.success() && said.contains("were counted"), "{said}");
}

#[test]
fn a_workspace_is_copied_to_the_database_and_back_and_nothing_is_overwritten() {
    let server = Postgres::start();
    let program = Program::new();
    add(&program, "from a file");
    use_database(&program, &server.database());
    assert!(!listed(&program).contains("from a file"));
    let (status, said, errors) = program.run(&["store", "copy", "--to", "database"]);
    assert!(status.success() && said.contains("and compared"), "{said}{errors}");
    assert!(listed(&program).contains("from a file"));
    add(&program, "from the database");
    // A database that already has content does not prevent the others from being copied.
    let state = program.home().join(".scorpiox/state");
    let files = fs::read_dir(&state).expect("files").map(|file| file.expect("a file").path());
    let mut databases = files.filter(|file| file.extension().is_some_and(|extension| extension == "db"));
    let own = databases.next().expect("a file of the workspace");
    fs::copy(&own, state.join("zoo-0123456789abcdef.db")).expect("copied");
    let (status, said, errors) = program.run(&["store", "copy", "--to", "database", "--all"]);
    assert!(!status.success() && errors.contains("not copied: 1 of 2"), "{said}{errors}");
    let already = said.lines().find(|line| line.contains("has something already"));
    assert!(already.is_some_and(|line| line.contains("was not copied")), "{said}");
    let other = said.lines().find(|line| line.starts_with("zoo-0123456789abcdef: "));
    assert!(other.is_some_and(|line| line.ends_with("and compared")), "{said}");
    // Back to files, in an empty directory.
    fs::rename(&state, state.with_file_name("state-of-before")).expect("moved");
    let (status, said, errors) = program.run(&["store", "copy", "--to", "files", "--all"]);
    assert!(status.success() && said.contains("and compared"), "{said}{errors}");
    program.put("home/.scorpiox/policy.toml", "version = 1\n[store]\nkind = \"sqlite\"\n");
    let all = listed(&program);
    assert!(all.contains("from a file") && all.contains("from the database"), "{all}");
}

#[test]
fn a_database_that_cannot_be_used_is_said_with_its_place_and_no_password() {
    let server = Postgres::start();
    let program = program(&server);
    let said_by = |program: &Program| {
        let mut server = program.start();
        server.initialize("2025-11-25");
        let answer = server.call("TaskManager", json!({ "action": "list" })).to_string();
        assert!(!answer.contains(PASSWORD) && answer.contains("isError"), "{answer}");
        answer
    };
    let file = program.home().join("database-password");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
    assert!(said_by(&program).contains("let nobody but you read it"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    fs::write(&file, "guess").expect("written");
    assert!(said_by(&program).contains("password authentication failed"));
    fs::remove_file(&file).expect("gone");
    assert!(said_by(&program).contains("database-password"));
    let (status, _, errors) = program.run(&["store", "check"]);
    assert!(!status.success() && errors.contains("line 4"), "{errors}");
    let (_, checked, _) = program.run(&["policy", "check"]);
    assert!(checked.contains("tools would refuse what they store"), "{checked}");
}

/// Uses two servers with separate directories, as on two machines.
#[test]
fn servers_of_two_machines_see_what_either_does() {
    let server = Postgres::start();
    let one = program(&server);
    let mut first = one.start();
    first.initialize("2025-11-25");
    let mut second = one.start();
    second.initialize("2025-11-25");
    for at in 0..20 {
        let (add, list) = if at % 2 == 0 { (&mut first, &mut second) } else { (&mut second, &mut first) };
        add.text("TaskManager", json!({ "action": "create", "text": format!("task {at}") }));
        let listed = list.text("TaskManager", json!({ "action": "list" }));
        assert!(listed.contains(&format!("task {at}")), "{listed}");
    }
    first.text("PlanMode", json!({ "action": "enter", "goal": "look first" }));
    assert!(second.text("PlanMode", json!({ "action": "status" })).contains("look first"));
}

#[test]
fn a_row_whose_name_is_a_path_is_copied_nowhere_and_holds_nothing_up() {
    let server = Postgres::start();
    let program = program(&server);
    add(&program, "from the database");
    let outside = program.home().join(".scorpiox/outside.db");
    let named = |name: &str| {
        let made = format!(
            "WITH made AS (INSERT INTO scorpiox_code.workspace (id, name) OVERRIDING SYSTEM VALUE
                 VALUES (abs(hashtext('{name}')), '{name}') RETURNING id)
             INSERT INTO scorpiox_code.entry SELECT id, 'tool', 'k', 'v' FROM made"
        );
        server.psql("test0", &made).expect("written");
    };
    let names = ["../outside", "../../outside", "a/b", "/tmp/outside", "..", "a.db", "con"];
    names.into_iter().for_each(named);
    let (status, said, errors) = program.run(&["store", "copy", "--to", "files", "--all"]);
    assert!(!status.success() && errors.contains("not copied: 7 of 8"), "{said}{errors}");
    for name in names {
        assert!(said.contains(&format!("not copied: \"{name}\" is not the name of a workspace")), "{said}");
    }
    assert!(!outside.exists() && !program.home().join("outside.db").exists());
    let state = fs::read_dir(program.home().join(".scorpiox/state")).expect("files");
    let files = state.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
    assert!(files.filter(|file| file.ends_with(".db")).count() == 1, "the workspace of this folder alone");
    let (status, said, _) = program.run(&["store", "check"]);
    assert!(!status.success() && said.contains("\"../outside\" is not the name of a workspace"), "{said}");
}

#[test]
fn migrating_lets_nobody_connect_who_was_given_nothing() {
    let server = Postgres::start();
    let program = program(&server);
    let (status, said, errors) = program.run(&["store", "migrate"]);
    assert!(status.success() && said.contains("REVOKE CONNECT"), "{said}{errors}");
    let (_, again, _) = program.run(&["store", "migrate"]);
    assert!(again.contains("already") && !again.contains("REVOKE"), "{again}");
    let open = "SELECT has_database_privilege('stranger', 'test0', 'CONNECT')";
    server.psql("postgres", "CREATE ROLE stranger LOGIN").expect("a role");
    assert_eq!(server.psql("postgres", open).expect("an answer").trim(), "f");
    add(&program, "its owner goes on");
}
