//! Tests of everyday developer tools, in the strongest tier.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use scorpiox_tests::{Program, Started};

use super::support::{TIERS, bash, bash_for, in_tier, start, with_policy};

#[track_caller]
fn works(server: &mut Started, command: &str) -> String {
    bash_for(server, &format!("set -euo pipefail\n{command}"), 300_000).succeeded().to_owned()
}

const IDENTITY: &str =
    "export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t\n";

#[test]
fn git_from_init_to_worktree_and_submodule() {
    let program = Program::new();
    let mut server = start(&program);
    let script = format!(
        "{IDENTITY}git init -q -b main library && cd library && echo lib > lib.txt && git add . && git commit -qm lib && cd ..
git init -q -b main project && cd project && echo a > a.txt && git add . && git commit -qm one
git -c protocol.file.allow=always submodule --quiet add ../library lib && git commit -qm submodule
git worktree add -q ../tree -b side && cd ../tree && echo b > b.txt && git add . && git commit -qm two && cd ../project
git merge -q side && git stash list && git status --porcelain && git log --format=%s && ls lib && git submodule status | cut -c1
git tag v1 && git describe --tags && git gc -q && git fsck && git clone -q . ../copy && ls ../copy"
    );
    let output = works(&mut server, &script);
    assert_eq!(output, "two\nsubmodule\none\nlib.txt\n \nv1\na.txt\nb.txt\nlib\n");
    // These repositories are protected from the second command on.
    let again = format!(
        "{IDENTITY}cd project && echo c >> a.txt && git commit -qam three && git worktree list | wc -l
cd ../tree && echo d >> b.txt && git commit -qam four && git -C ../project/lib log --format=%s
cd ../project/lib && echo e >> lib.txt && git commit -qam five && git log -1 --format=%s"
    );
    assert_eq!(works(&mut server, &again), "2\nlib\nfive\n");
}

#[test]
fn cargo_builds_and_tests() {
    let program =
        with_policy(Program::new(), "[shell.profile.workspace]\nread = [\"@system\", \"@toolchains\"]\n");
    let program = toolchains(program);
    let mut server = start(&program);
    program.put(
        "workspace/Cargo.toml",
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    program.put("workspace/build.rs", "fn main() { println!(\"cargo::rustc-env=MADE=here\"); }\n");
    program.put(
        "workspace/src/main.rs",
        "fn main() { println!(\"{}\", env!(\"MADE\")); }\n#[test]\nfn threads() { std::thread::spawn(|| 1).join().unwrap(); }\n",
    );
    assert_eq!(works(&mut server, "cargo build -q --offline && ./target/debug/sample"), "here\n");
    assert!(works(&mut server, "cargo test --offline 2>&1").contains("1 passed"));
}

/// Uses the machine's toolchains from the home of the user who runs the tests, instead of the server's home.
fn toolchains(program: Program) -> Program {
    let home = std::env::home_dir().expect("a home folder");
    for name in [".cargo", ".rustup"] {
        let from = std::env::var_os(if name == ".cargo" { "CARGO_HOME" } else { "RUSTUP_HOME" })
            .map_or_else(|| home.join(name), Into::into);
        if from.exists() {
            std::os::unix::fs::symlink(from, program.home().join(name)).expect("a link");
        }
    }
    program
}

/// Many people keep `~/.cargo` and `~/.pyenv` on another disk.
#[test]
fn toolchains_behind_links_are_found_as_the_person_has_them() {
    for tier in TIERS {
        let program = in_tier(tier);
        for (name, folder, tool) in [(".cargo", "bin", "tool"), (".pyenv", "shims", "shim")] {
            let path = program.put(&format!("disk/{name}/{folder}/{tool}"), "#!/bin/sh\necho runs\n");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file");
            let linked = program.home().join(name);
            let disk = program.home().parent().expect("a folder").join("disk").join(name);
            std::os::unix::fs::symlink(disk, linked).expect("a link");
        }
        let home = program.home();
        let path = format!("{0}/.cargo/bin:{0}/.pyenv/shims:/usr/bin:/bin", home.display());
        let mut command = program.command();
        command.env("PATH", &path);
        let mut server = Started::spawn(command);
        server.initialize("2025-11-25");
        assert_eq!(bash(&mut server, "tool && shim").succeeded(), "runs\nruns\n", "{tier}");
        let tool = home.join(".cargo/bin/tool");
        let (_, why, _) = program.run(&["policy", "why", "read", &tool.display().to_string()]);
        assert!(why.contains(": allowed"), "{tier}: {why}");
    }
}

#[test]
fn node_and_npm_run_scripts_and_install_from_a_folder() {
    let program = Program::new();
    let mut server = start(&program);
    program.put(
        "workspace/dependency/package.json",
        r#"{"name":"dependency","version":"1.0.0","main":"index.js"}"#,
    );
    program.put("workspace/dependency/index.js", "module.exports = 42;");
    program.put(
        "workspace/app/package.json",
        r#"{"name":"app","version":"1.0.0","scripts":{"test":"node test.js"},"dependencies":{"dependency":"file:../dependency"}}"#,
    );
    program.put(
        "workspace/app/test.js",
        "const { Worker } = require('worker_threads');
const w = new Worker(\"require('worker_threads').parentPort.postMessage(require('dependency'))\", { eval: true });
w.on('message', m => require('child_process').exec('echo child', (e, out) => console.log(m, out.trim())));",
    );
    let output = works(
        &mut server,
        "cd app && npm install --offline --no-audit --no-fund 2>&1 && npm ci --offline --no-audit --no-fund 2>&1 && npm test --silent",
    );
    assert!(output.ends_with("42 child\n"), "{output}");
}

#[test]
fn pip_makes_an_environment_and_installs_into_it() {
    let program = Program::new();
    let mut server = start(&program);
    program.put("workspace/package/sample.py", "def answer(): return 42\n");
    program.put(
        "workspace/package/pyproject.toml",
        "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n[project]\nname = \"sample\"\nversion = \"1\"\n",
    );
    // A local build backend, because packages cannot be downloaded.
    program.put(
        "workspace/package/backend.py",
        "import zipfile\n\
         def build_wheel(folder, *a):\n    name = 'sample-1-py3-none-any.whl'\n    \
         with zipfile.ZipFile(folder + '/' + name, 'w') as z:\n        z.write('sample.py')\n        \
         z.writestr('sample-1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: sample\\nVersion: 1\\n')\n        \
         z.writestr('sample-1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n        \
         z.writestr('sample-1.dist-info/RECORD', '')\n    return name\n",
    );
    let script = "python3 -m venv env && . env/bin/activate && pip install -q --no-index --no-build-isolation ./package && \
                  python -c 'import sample, sys; print(sample.answer(), sys.prefix != sys.base_prefix)' && pip list 2>/dev/null | grep sample";
    let output = works(&mut server, script);
    assert!(output.starts_with("42 True\n"), "{output}");
}

#[test]
fn make_and_a_compiler_build_a_program() {
    let program = Program::new();
    let mut server = start(&program);
    program.put("workspace/hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n");
    program.put("workspace/Makefile", "all: hello\n\t./hello\nhello: hello.c\n\tcc -O1 -o $@ $<\n");
    assert!(works(&mut server, "make -j4").ends_with("./hello\nhello\n"));
}

#[test]
fn python_shares_memory_between_processes() {
    let program = Program::new();
    let mut server = start(&program);
    program.put(
        "workspace/pool.py",
        "import multiprocessing as mp\nfrom multiprocessing import shared_memory\n\
         def square(n): return n * n\n\
         if __name__ == '__main__':\n    \
         for kind in ['fork', 'spawn', 'forkserver']:\n        \
         with mp.get_context(kind).Pool(4) as pool: print(kind, sum(pool.map(square, range(100))))\n    \
         m = shared_memory.SharedMemory(create=True, size=1 << 20); m.buf[0] = 7; print(m.buf[0]); m.close(); m.unlink()\n    \
         q = mp.Queue(); p = mp.Process(target=q.put, args=('through',)); p.start(); print(q.get()); p.join()\n    \
         with mp.Manager() as manager: print(len(manager.list([1, 2])))\n",
    );
    let output = works(&mut server, "python3 pool.py");
    assert_eq!(output, "fork 328350\nspawn 328350\nforkserver 328350\n7\nthrough\n2\n");
}

#[test]
fn common_tools_work() {
    let program = Program::new();
    let mut server = start(&program);
    let script = "diff <(seq 3) <(seq 3); tee >(wc -l > /tmp/lines) < <(seq 5) > /dev/null; sleep 0.1; cat /tmp/lines
find . -name '*.none' | xargs -r rm; tar czf a.tgz --files-from /dev/null; sort -R <(seq 100) | sort -n | tail -n 1
awk 'BEGIN { print 6 * 7 }'; sed 's/a/b/' <<< a; timeout 5 true; nice -n 5 true; nohup true 2>/dev/null; id -un; hostname
date -u +%Z; mktemp -d | cut -c1-5; ps -e | wc -l | grep -qE '^[1-9]$'; perl -e 'print 2**10, \"\\n\"'; test -w . && test ! -w /usr && echo rights
openssl version | cut -d' ' -f1; locale -a | wc -l > /tmp/locales; getent passwd root | cut -d: -f1; getent hosts localhost | wc -l; nproc | grep -q . && echo cores";
    let output = works(&mut server, script);
    assert!(output.starts_with("5\n100\n42\nb\n"), "{output}");
    assert!(output.contains("cell\nUTC\n/tmp/\n1024\nrights\nOpenSSL\n"), "{output}");
    assert!(output.ends_with("cores\n"), "{output}");
}

/// Runs in each tier, because each has a different home directory.
#[test]
fn git_knows_who_the_person_is_and_nothing_else_of_theirs() {
    for tier in TIERS {
        let program = in_tier(tier);
        program.put("home/more", "[user]\n\temail = ann@example.com\n");
        let config = "[user]\n\tname = Ann Lee\n[include]\n\tpath = more\n[alias]\n\tx = !false\n\
                      [includeIf \"gitdir:**/team/**\"]\n\tpath = team\n";
        program.put("home/.gitconfig", config);
        program.put("home/team", "[user]\n\temail = ann@team.example.com\n");
        let mut server = start(&program);
        let commit = |folder: &str| {
            format!(
                "git init -q {folder} && cd {folder} && touch a && git add a && git commit -qm one && \
                 git log -1 --format='%an %ae' && ! git config alias.x"
            )
        };
        assert_eq!(bash(&mut server, &commit("a")).succeeded(), "Ann Lee ann@example.com\n", "{tier}");
        assert_eq!(
            bash(&mut server, &commit("team")).succeeded(),
            "Ann Lee ann@team.example.com\n",
            "{tier}"
        );
        // Commands can change their own copy.
        let own = "git config --global user.name Other && cd a && git commit -q --amend -m two --reset-author && \
                   git log -1 --format=%an";
        let ran = bash(&mut server, own);
        // In T2, the file is on the real disk, where its name is protected.
        if tier == "T2" {
            assert!(ran.output().contains(".gitconfig: Permission denied"), "{}", ran.text);
        } else {
            assert_eq!(ran.succeeded(), "Other\n", "{tier}");
        }
        let kept = std::fs::read_to_string(program.home().join(".gitconfig")).expect("it is there");
        assert_eq!(kept, config, "{tier}");
    }
}

#[test]
fn commands_have_terminals_of_their_own() {
    let program = in_tier("T1");
    let mut server = start(&program);
    let python = "python3 -c 'import pty; pty.spawn([\"sh\", \"-c\", \"tty; test -t 0 && echo IS\"])'";
    let output = works(&mut server, python);
    assert!(output.contains("/dev/pts/") && output.contains("IS"), "{output}");
    let output = works(&mut server, "script -qec 'stty size; echo PTY' /dev/null");
    assert!(output.contains("PTY"), "{output}");
    // The number of terminals is limited, and none of them belongs to the machine.
    let many = "import os\nopen = []\ntry:\n    while len(open) < 1000: open.append(os.openpty())\n\
                except OSError: pass\nprint(len(open), len(os.listdir('/dev/pts')))";
    assert_eq!(works(&mut server, &format!("python3 - <<'P'\n{many}\nP")), "64 65\n");
    for command in ["echo x > /dev/tty", "touch /dev/pts/x", "touch /dev/x", "chmod 0 /dev/pts/ptmx"] {
        let ran = bash(&mut server, &format!("{command} || echo closed"));
        assert!(ran.output().contains("closed"), "{command}: {}", ran.text);
    }
    // Input cannot be injected into a terminal.
    let input = "import fcntl, os, pty, termios\nfcntl.ioctl(os.openpty()[1], termios.TIOCSTI, b'x')";
    let refused = bash(&mut server, &format!("python3 - <<'P'\n{input}\nP"));
    assert!(refused.output().contains("Inappropriate ioctl"), "{}", refused.text);
    // In the other tiers, the number of terminals could not be limited, and those of the machine are off
    // limits.
    for tier in ["T1b", "T2"] {
        let program = in_tier(tier);
        let refused = bash(&mut start(&program), python);
        assert!(refused.output().contains("out of pty devices"), "{tier}: {}", refused.text);
    }
}

/// If one of the user's rules names an adjacent file, that file is not overwritten.
#[test]
fn an_identity_is_written_over_no_file_of_the_persons() {
    for tier in TIERS {
        let policy = "[shell.profile.workspace]\nread = [\"@system\", \"~/.gitconfig-1\"]\n";
        let program = with_policy(in_tier(tier), policy);
        program.put(
            "home/.gitconfig",
            "[user]\n\tname = Ann\n[includeIf \"gitdir:**\"]\n\tpath = .gitconfig-1\n",
        );
        let own = "[user]\n\temail = ann@example.com\n[core]\n\teditor = ed\n";
        program.put("home/.gitconfig-1", own);
        let mut server = start(&program);
        let ran = bash(&mut server, "cat ~/.gitconfig-1");
        assert!(ran.output().contains("editor = ed"), "{tier}: {}", ran.text);
        let kept = std::fs::read_to_string(program.home().join(".gitconfig-1")).expect("it is there");
        assert_eq!(kept, own, "{tier}");
    }
}

#[test]
fn an_identity_that_changes_reaches_the_next_command() {
    for tier in TIERS {
        let program = in_tier(tier);
        let mut server = start(&program);
        let mut name = || bash(&mut server, "git config user.name || echo nobody").output().to_owned();
        assert_eq!(name(), "nobody\n", "{tier}");
        for who in ["Ann", "Ann Other"] {
            program.put("home/.gitconfig", format!("[user]\n\tname = {who}\n"));
            assert_eq!(name(), format!("{who}\n"), "{tier}");
        }
        fs::remove_file(program.home().join(".gitconfig")).expect("it is there");
        assert_eq!(name(), "nobody\n", "{tier}");
    }
}

#[test]
fn the_policy_answers_for_files_of_etc_as_commands_see_them() {
    let program = in_tier("T1");
    let mut server = start(&program);
    for name in
        ["passwd", "group", "hosts", "nsswitch.conf", "os-release", "shadow", "resolv.conf", "ssl/certs"]
    {
        let path = format!("/etc/{name}");
        let seen = bash(&mut server, &format!("test -r {path} && echo yes || echo no")).output() == "yes\n";
        let (allowed, why, err) = program.run(&["policy", "why", "read", &path]);
        assert_eq!(allowed.success(), seen, "{why}{err}");
    }
    let (allowed, ..) = program.run(&["policy", "why", "write", "/etc/hosts"]);
    assert!(!allowed.success());
}

#[test]
fn an_identity_that_is_denied_is_not_given() {
    for tier in TIERS {
        let policy = "[shell.profile.workspace]\nread = [\"@system\"]\ndeny = [\"~/acme\"]\n";
        let program = with_policy(in_tier(tier), policy);
        program.put("home/.gitconfig", "[user]\n\tname = Ann\n[include]\n\tpath = acme/config\n");
        program.put("home/acme/config", "[user]\n\temail = ann@acme.example.com\n");
        let ran = bash(&mut start(&program), "git config --list | grep -i ann || echo nobody");
        assert_eq!(ran.succeeded(), "nobody\n", "{tier}");
    }
}

#[test]
fn memory_that_is_only_reserved_does_not_count() {
    for tier in ["T1", "T1b"] {
        let program = in_tier(tier);
        let mut server = start(&program);
        let reserve = "import mmap\nmmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n\
                       print('reserved')";
        let output = works(&mut server, &format!("python3 - <<'P'\n{reserve}\nP"));
        assert_eq!(output, "reserved\n", "{tier}");
        // Two of them exceed the limit only together.
        let reserve = "import mmap\nmaps = [mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000) \
                       for _ in range(2)]\nprint('reserved')";
        let output = works(&mut server, &format!("python3 - <<'P'\n{reserve}\nP"));
        assert_eq!(output, "reserved\n", "{tier}");
        let program = "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }";
        for sanitizer in ["address", "thread", "leak", "undefined"] {
            let build = format!(
                "echo '{program}' > a.c && gcc -fsanitize={sanitizer} a.c -o a && ASAN_OPTIONS=detect_leaks=1 ./a 2>&1"
            );
            assert_eq!(works(&mut server, &build), "ran\n", "{tier} {sanitizer}");
        }
        let own = "echo 'leak:nothing' > none.txt && gcc -fsanitize=address a.c -o a && \
                   LSAN_OPTIONS=suppressions=none.txt ./a 2>&1";
        assert_eq!(works(&mut server, own), "ran\n", "{tier}: own options");
    }
}
