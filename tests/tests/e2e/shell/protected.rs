//! Tests of names in the workspace that make programs run later, and of files that are denied.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use scorpiox_tests::Program;

use super::support::{
    background, bash, comes_true, in_each_tier, read_to_end, read_until, start, where_modes_change,
};

const ATTACK: &str = r#"
names=".git/hooks/pre-commit .git/config .mcp.json .claude/settings.json .vscode/tasks.json .idea/x .bashrc .profile"
for name in $names; do
    mkdir -p "$(dirname $name)"; echo evil > $name; echo evil >> $name; rm -rf $name; ln -sf /tmp/x $name; mv plain $name
    cp plain $name; install -D plain $name; git config core.hooksPath /tmp
done
for folder in .git .claude .vscode .git/hooks; do mv $folder away; rm -rf $folder; ln -s away $folder; done
true
"#;

fn repository(program: &Program) {
    for (path, content) in [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", "[core]\n\tbare = false\n"),
        (".git/hooks/pre-commit", "#!/bin/sh\n"),
        (".claude/settings.json", "{}"),
        (".vscode/tasks.json", "[]"),
        ("plain", "plain"),
    ] {
        program.put(&format!("workspace/{path}"), content);
    }
    fs::create_dir_all(program.workspace().join(".git/objects")).expect("a folder");
    fs::create_dir_all(program.workspace().join(".git/refs")).expect("a folder");
}

#[test]
fn protected_files_stay_as_they_are() {
    in_each_tier(|program, server| {
        repository(program);
        bash(server, ATTACK);
        let is = |path: &str| fs::read_to_string(program.workspace().join(path)).expect("the file");
        assert_eq!(is(".git/config"), "[core]\n\tbare = false\n");
        assert_eq!(is(".git/hooks/pre-commit"), "#!/bin/sh\n");
        assert_eq!(is(".claude/settings.json"), "{}");
        assert_eq!(is(".vscode/tasks.json"), "[]");
        for folder in [".git", ".git/hooks", ".claude", ".vscode"] {
            let found = program.workspace().join(folder).symlink_metadata().expect("the folder");
            assert!(found.is_dir(), "{folder} is no link");
        }
    });
}

#[test]
fn protected_names_that_are_absent_stay_absent() {
    in_each_tier(|program, server| {
        program.put("workspace/plain", "plain");
        bash(server, ATTACK);
        for name in [".mcp.json", ".claude", ".vscode", ".idea"] {
            let path = program.workspace().join(name);
            assert!(path.symlink_metadata().is_err(), "{name} is there");
        }
    });
}

#[test]
fn protected_names_that_are_links_protect_what_they_lead_to() {
    in_each_tier(|program, server| {
        program.put("workspace/real/settings.json", "{}");
        program.put("workspace/mcp-real.json", "{}");
        symlink("real", program.workspace().join(".claude")).expect("a link");
        symlink("mcp-real.json", program.workspace().join(".mcp.json")).expect("a link");
        bash(
            server,
            "echo evil > .claude/settings.json; echo evil > real/settings.json; echo evil > mcp-real.json; rm .claude .mcp.json; mv real r; ln -sfn /tmp .claude; true",
        );
        let is = |path: &str| fs::read_to_string(program.workspace().join(path)).expect("the file");
        assert_eq!((is("real/settings.json"), is("mcp-real.json")), ("{}".into(), "{}".into()));
        assert_eq!(
            fs::read_link(program.workspace().join(".claude")).expect("a link"),
            std::path::Path::new("real")
        );
        assert_eq!(is(".mcp.json"), "{}");
    });
}

#[test]
fn denied_files_cannot_be_read_by_any_way_to_them() {
    in_each_tier(|program, server| {
        program.put("workspace/.env", "SECRET");
        program.put("workspace/deep/er/.env.local", "SECRET");
        program.put("workspace/deep/readable", "seen");
        symlink(".env", program.workspace().join("harmless")).expect("a link");
        symlink("deep/er", program.workspace().join("short")).expect("a link");
        let ran = bash(
            server,
            "cat .env harmless deep/er/.env.local short/.env.local ./deep/../.env /proc/self/cwd/.env; grep -r . ; \
             cp -r deep $TMPDIR/copy; cat $TMPDIR/copy/er/.env.local; ln .env linked; cat linked; mv deep d; cat d/er/.env.local; \
             tar c . 2>/dev/null | strings; cat deep/readable; true",
        );
        assert!(!ran.text.contains("SECRET"), "{}", ran.text);
        assert!(ran.text.contains("seen"), "{}", ran.text);
        assert!(!program.workspace().join("linked").exists());
    });
}

#[test]
fn a_file_denied_since_the_last_command_is_denied_to_the_next() {
    let program = Program::new();
    let mut server = start(&program);
    for round in 0..20 {
        let name = format!("workspace/f{round}/.env");
        program.put(&name, "SECRET");
        let ran = bash(&mut server, &format!("cat f{round}/.env"));
        assert!(ran.is_error && !ran.text.contains("SECRET"), "{round}: {}", ran.text);
    }
}

#[test]
fn commits_work_beside_protected_hooks() {
    where_modes_change(|_, server| {
        let ran = bash(
            server,
            "git init -q . && git config user.name t; echo x > file && git add file && git -c user.name=t -c user.email=t@t commit -qm one && git log --format=%s",
        );
        assert!(ran.succeeded().ends_with("one\n"), "{}", ran.text);
        let ran = bash(
            server,
            "echo y >> file && git -c user.name=t -c user.email=t@t commit -qam two && git stash list && git log --format=%s",
        );
        assert_eq!(ran.succeeded(), "two\none\n");
        assert_ne!(bash(server, "git config core.hooksPath /tmp").exit_code(), 0);
    });
}

/// This includes T2, where the supervisor itself creates, moves and removes names in `.git`.
#[test]
fn commits_work_in_a_repository_that_is_there() {
    in_each_tier(|program, server| {
        let git = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            let made = command.current_dir(program.workspace()).args(arguments).status();
            assert!(made.expect("git starts").success(), "{arguments:?}");
        };
        git(&["init", "-q", "."]);
        program.put("workspace/file", "one");
        let commit = "git add file && git -c user.name=t -c user.email=t@t commit -qam";
        bash(server, &format!("{commit} one")).succeeded();
        let ran =
            bash(server, &format!("echo two > file && {commit} two && git log --format=%s && git status -s"));
        assert_eq!(ran.succeeded(), "two\none\n");
    });
}

/// Some programs require an empty directory.
#[test]
fn an_empty_workspace_is_empty() {
    in_each_tier(|program, server| {
        let task = background(server, "until [ -e /proc/self/cwd/go ]; do sleep 0.02; done");
        assert_eq!(names(program), [""; 0], "something stands in the workspace");
        assert_eq!(bash(server, "ls -A").succeeded(), "");
        bash(server, "echo > go").succeeded();
        read_until(server, task, "nothing");
        fs::remove_file(program.workspace().join("go")).expect("a file");
    });
}

#[test]
fn a_repository_can_be_cloned_into_an_empty_workspace() {
    where_modes_change(|program, server| {
        let script = "git init -q $HOME/from && cd $HOME/from && echo one > file && git add file && \
            git -c user.name=t -c user.email=t@t commit -qm one && cd \"$OLDPWD\" && git clone -q $HOME/from . && ls -A";
        assert_eq!(bash(server, script).succeeded(), ".git\nfile\n");
        assert_eq!(names(program), [".git", "file"]);
    });
}

fn names(program: &Program) -> Vec<String> {
    let entries = fs::read_dir(program.workspace()).expect("a folder").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A killed server leaves nothing behind, and nothing appears later.
#[test]
fn a_killed_server_leaves_nothing_in_the_workspace() {
    in_each_tier(|program, server| {
        background(server, "while :; do mkdir .claude; echo > .mcp.json; done 2>/dev/null");
        server.kill();
        assert!(comes_true(Duration::from_secs(5), || names(program).is_empty()), "{:?}", names(program));
    });
}

#[test]
fn what_was_not_made_is_said() {
    in_each_tier(|program, server| {
        let ran = bash(server, "mkdir .vscode; echo x > .mcp.json; echo on");
        assert!(ran.output().contains("on"), "{}", ran.text);
        for name in [".vscode", ".mcp.json"] {
            assert!(ran.text.contains("[not created: ") && ran.text.contains(name), "{}", ran.text);
        }
        let task = background(server, "mkdir .idea; echo over");
        let read = read_until(server, task, "not created: ");
        assert!(!read.is_empty() && !program.workspace().join(".idea").exists(), "{read}");
    });
}

/// The file mode has no influence on the protection.
#[test]
fn a_protected_folder_of_any_mode_is_protected() {
    use std::os::unix::fs::PermissionsExt;
    in_each_tier(|program, server| {
        repository(program);
        for name in [".vscode", ".git/hooks"] {
            let path = program.workspace().join(name);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).expect("a mode");
        }
        bash(server, ATTACK);
        assert_eq!(
            fs::read_to_string(program.workspace().join(".vscode/tasks.json")).expect("the file"),
            "[]"
        );
        let hook = program.workspace().join(".git/hooks/pre-commit");
        assert_eq!(fs::read_to_string(hook).expect("the file"), "#!/bin/sh\n");
    });
}

/// A `commondir` file makes git read another configuration, which can name programs.
#[test]
fn git_is_not_led_to_another_configuration() {
    in_each_tier(|program, server| {
        repository(program);
        program.put("workspace/.git/worktrees/tree/commondir", "../..\n");
        program.put("workspace/evil/config", "[core]\n\tfsmonitor = evil\n");
        for (name, attack) in [
            ("commondir", "echo ../evil > .git/commondir"),
            ("commondir", "mkdir .git/commondir"),
            ("commondir", "ln -s ../evil .git/commondir"),
            ("config.worktree", "cp evil/config .git/config.worktree"),
            ("config.worktree", "mv evil/config .git/config.worktree"),
        ] {
            let ran = bash(server, attack);
            assert!(ran.exit_code() != 0 && ran.text.contains("not created: "), "{attack}: {}", ran.text);
            let path = program.workspace().join(".git").join(name);
            assert!(path.symlink_metadata().is_err(), "{attack}: it is there");
        }
        bash(
            server,
            "echo ../../../evil > .git/worktrees/tree/commondir; mv .git/worktrees/tree .git/worktrees/x",
        );
        let kept = fs::read_to_string(program.workspace().join(".git/worktrees/tree/commondir"));
        assert_eq!(kept.expect("the file"), "../..\n");
    });
}

/// Unpacked archives contain such names, and a new directory can replace an existing one. The result
/// therefore reports the names.
#[test]
fn names_that_came_with_what_was_unpacked_are_told() {
    in_each_tier(|program, server| {
        program.put("workspace/app/main.c", "int main;");
        let ran = bash(server, "mkdir -p n/.vscode && mv app/* n/ && rmdir app && mv n app");
        assert!(ran.text.contains("new: ") && ran.text.contains("app/.vscode"), "{}", ran.text);
        let ran = bash(server, "mkdir -p node_modules/p/.vscode && echo done");
        assert!(!ran.text.contains("new: "), "{}", ran.text);
        // The command that moves it out of the packages need not be the one that created it.
        let ran =
            bash(server, "mkdir -p node_modules/q/r && mv node_modules/p taken && mv node_modules/q plain");
        assert!(ran.text.contains("new: ") && ran.text.contains("taken\""), "{}", ran.text);
        assert!(!ran.text.contains("plain\""), "{}", ran.text);
    });
}

/// Git also runs programs that a nested repository names when it runs in the outer one.
#[test]
fn a_new_repository_that_starts_programs_is_told() {
    in_each_tier(|program, server| {
        repository(program);
        let make = "mkdir -p n/hooks n/objects n/refs && echo 'ref: refs/heads/x' > n/HEAD && : > \
                    n/hooks/pre-commit.sample && mkdir -p sub && mv n sub/.git";
        let ran = bash(
            server,
            &format!("printf '[core]\\n\\tbare = false\\n' > c; {make} && mv c sub/.git/config"),
        );
        assert!(ran.exit_code() == 0 && !ran.text.contains("new: "), "{}", ran.text);
        let evil =
            "mkdir -p a/.git && printf '[core]\\n\\tfsmonitor = x; false\\n' > a/.git/config && mv a moved";
        let ran = bash(server, evil);
        assert!(ran.text.contains("new: ") && ran.text.contains("moved/.git"), "{}", ran.text);
        let task =
            background(server, "mkdir -p b/.git/hooks && echo x > b/.git/hooks/post-index-change; echo over");
        let told = read_to_end(server, task);
        assert!(told.contains("b/.git\": git starts"), "{told}");
    });
}

/// A command may create a repository whose hooks path is below a file.
#[test]
fn a_protected_path_below_a_file_stops_no_command() {
    in_each_tier(|program, server| {
        program.put("workspace/README.md", "text");
        program.put("workspace/settings", "[core]\n\thooksPath = ../README.md/x\n");
        let repository =
            "mkdir -p n/objects n/refs && echo 'ref: refs/heads/x' > n/HEAD && mv settings n/config";
        bash(server, repository).succeeded();
        let ran = bash(server, "echo more >> README.md && rm README.md && mkdir README.md; echo works");
        assert!(ran.text.contains("works"), "{}", ran.text);
        assert!(!program.workspace().join("README.md").is_dir(), "{}", ran.text);
    });
}

/// A client may leak open descriptors to the server. Through a leaked directory, commands could bypass all
/// protection.
#[test]
fn what_a_client_left_open_is_no_way_into_protected_files() {
    let leaked = fs::File::open("/").expect("a folder");
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).expect("a flag");
    in_each_tier(|program, server| {
        program.put("workspace/.env", "SECRET");
        program.put("workspace/.vscode/tasks.json", "[]");
        let attack = "import os
for fd in range(3, 64):
    for name in ['.env', '.vscode/tasks.json', '.mcp.json']:
        try:
            file = os.open('/proc//self/fd/%d%s/%s' % (fd, os.getcwd(), name), os.O_RDWR | os.O_CREAT)
            print('ESCAPED', fd, name, os.read(file, 9))
        except OSError:
            pass
print('finished')";
        let ran = bash(server, &format!("python3 -c \"{attack}\""));
        assert!(ran.text.contains("finished") && !ran.text.contains("ESCAPED"), "{}", ran.text);
        assert!(!program.workspace().join(".mcp.json").exists());
    });
}
