//! Tests of programs that prompt the user.

use std::time::{Duration, Instant};

use scorpiox_tests::Program;

use super::support::{Ran, bash_for, start};

/// Checks the expected outcome of a command.
type IsRight = fn(&Ran) -> bool;

/// Each program ends by itself, long before its timeout, without waiting for input.
#[test]
fn programs_that_ask_get_no_answer_and_end() {
    let program = Program::new();
    let mut server = start(&program);
    let repository = "cd $(mktemp -d); git init -q .; export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t; echo x > f; git add f; ";
    let cases: [(&str, String, IsRight); 9] = [
        ("sudo", "sudo -k true; sudo ls".into(), |ran| ran.is_error),
        ("su", "su -c true nobody".into(), |ran| ran.is_error),
        ("passwd", "passwd".into(), |ran| ran.is_error),
        ("read", "read -p 'Name? ' name; echo \"got $name\"".into(), |ran| ran.output() == "got \n"),
        ("editor", format!("{repository} git commit"), |ran| ran.is_error),
        ("pager", format!("{repository} git commit -qm one; git log; git diff HEAD; git help -a | head -3"), |ran| ran.output().contains("    one")),
        ("rebase", format!("{repository} git commit -qm one; echo y > f; git commit -qam two; git rebase -i HEAD~1"), |ran| ran.is_error),
        ("npm", "mkdir -p pkg && cd pkg && npm init --offline --no-audit --no-update-notifier && cat package.json".into(), |ran| ran.output().contains("\"version\"")),
        ("ssh", "ssh -o ConnectTimeout=2 nobody@127.0.0.1 true; git clone https://127.0.0.1:1/x y".into(), |ran| ran.is_error),
    ];
    for (what, command, is_right) in cases {
        let begin = Instant::now();
        let ran = bash_for(&mut server, &command, 20_000);
        assert_eq!(ran.data["timed_out"], false, "{what}: {}", ran.text);
        assert!(begin.elapsed() < Duration::from_secs(15), "{what}: {:?}", begin.elapsed());
        assert!(is_right(&ran), "{what}: {}", ran.text);
    }
}
