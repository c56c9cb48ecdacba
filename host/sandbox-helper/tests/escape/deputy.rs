//! The supervisor of a command creates files on its behalf, with more privileges than the command. It must
//! not lend them to any process, and must do exactly what the kernel would have done.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use scorpiox_sandbox::Tier;

use crate::bed::{Bed, SECRET, Shield, attack, command, for_each_tier, leak_a_descriptor};

/// Configures a bed whose supervisor mediates every name.
fn guarded(bed: &mut Bed) {
    bed.put("own/file", "mine\n");
    bed.shield = Shield { absent: vec![bed.at(".mcp.json"), bed.at(".claude")], ..Shield::default() };
}

/// A client that starts the server may leak a directory, which would bypass the sandbox.
#[test]
fn a_folder_that_the_host_was_started_with_leads_nowhere() {
    for_each_tier(|bed| {
        guarded(bed);
        let hidden = bed.put("sub/.env", SECRET);
        let frozen = bed.put("conf/settings", "theirs\n");
        bed.shield.hide = vec![hidden.clone()];
        bed.shield.freeze = vec![frozen.clone()];
        let _leaked = leak_a_descriptor("/".as_ref());
        let finished = bed.run(
            r"
            ln -s /proc/self own/self; ln -s /proc own/proc
            python3 - <<'P'
import os
tried = 0
for base in ['/proc/self', '/proc//self', '/proc/./self', '/proc/../proc/self', '/proc/1', '/proc/1/../1',
             '/proc/thread-self', '/proc//thread-self', '/proc/%d' % os.getppid(), 'own/self', 'own/proc/self',
             'own/proc/1', '/proc/self/task/../../self', '/dev/fd/..', '/dev/../proc/self']:
    for number in range(3, 20):
        for name in ['sub/.env', 'conf/settings', '.mcp.json', '../outside/new', '../outside/victim']:
            path = '%s/fd/%d%s/%s' % (base, number, os.environ['WORKSPACE'], name)
            for flags in [os.O_RDWR, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC]:
                tried += 1
                try:
                    os.open(path, flags)
                    print('ESCAPED', path)
                except OSError:
                    pass
            for act in [lambda: os.mkdir(path + '.new'), lambda: os.symlink('x', path + '.new'),
                        lambda: os.link('own/file', path + '.new'), lambda: os.link(path, 'own/taken'),
                        lambda: os.rename(path, 'own/taken'), lambda: os.rename('own/file', path),
                        lambda: os.chmod(path, 0o777), lambda: os.utime(path)]:
                try:
                    act()
                    print('ESCAPED', path)
                except OSError:
                    pass
print(tried, 'tries')
P
            echo finished",
        );
        finished.assert_nothing_escaped();
        assert_eq!(fs::read_to_string(&hidden).expect("a file"), SECRET);
        assert_eq!(fs::read_to_string(&frozen).expect("a file"), "theirs\n");
        assert!(!bed.at(".mcp.json").exists());
    });
}

/// Applies to every other process of the user, in a tier without namespaces.
#[test]
fn what_other_processes_have_open_gets_no_name() {
    for_each_tier(|bed| {
        guarded(bed);
        bed.arm("deputy");
        let folder = bed.workspace.display().to_string();
        let mut start = command(&attack("deputy"));
        start.args(["lend", &folder]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut other = start.spawn().expect("another process");
        let mut said = String::new();
        BufReader::new(other.stdout.take().expect("a pipe")).read_line(&mut said).expect("two numbers");
        let finished = bed.run(&format!("./deputy take {said}; cat stolen; echo changed >> stolen"));
        drop(other.stdin.take());
        let _ = other.wait();
        finished.assert_nothing_escaped();
        assert!(!bed.at("made").exists() && bed.at("named").exists());
    });
}

/// Paths below `/proc` depend on the reading process, and the text of some links there is not a path.
#[test]
fn paths_through_procfs_lead_where_they_lead_the_command() {
    for_each_tier(|bed| {
        guarded(bed);
        bed.put("here/made", "theirs\n");
        bed.put("file", "theirs\n");
        let finished = bed.run(
            r#"
            set -e
            exec 3>own/gone; rm own/gone; echo one > /proc/self/fd/3
            exec 4<>own/kept; echo two > /proc/self/fd/4; echo three >> /proc//self/fd/4; cat own/kept
            exec 5<>own/moved; mv own/moved own/other; echo new > own/moved; echo four > /dev/fd/5; cat own/other own/moved
            mkdir sub; ln -s /proc/self/cwd sub/here; ln -s self/cwd/up sub/no
            (cd sub; echo five > here/made; echo six > here/file; mkdir here/folder); cat sub/made sub/file
            (echo seven > /dev/stdout; echo eight >> /dev//stderr) > sub/out 2>&1; cat sub/out
            python3 -c 'import threading, os
t = threading.Thread(target=lambda: open("/proc/thread-self/cwd/sub/thread", "w").write("nine\n")); t.start(); t.join()
print(open("sub/thread").read(), end="")'
            ls own; echo finished"#,
        );
        assert!(finished.says("finished"), "{finished:?}");
        let words: Vec<_> = finished.text.split_whitespace().collect();
        let expected = "two three four new five six seven eight nine file kept moved other finished";
        assert_eq!(words.join(" "), expected);
        assert_eq!(fs::read_to_string(bed.at("here/made")).expect("a file"), "theirs\n");
        assert_eq!(fs::read_to_string(bed.at("file")).expect("a file"), "theirs\n");
        assert!(!bed.at("folder").exists());
    });
}

#[test]
fn a_file_that_others_remove_can_be_opened_and_made() {
    for_each_tier(|bed| {
        guarded(bed);
        bed.arm("deputy");
        bed.run("./deputy lock own/lock").assert_nothing_escaped();
    });
}

#[test]
fn what_is_used_one_at_a_time_meets_no_bound() {
    for_each_tier(|bed| {
        bed.arm("deputy");
        bed.limits.memory = 256 << 20;
        bed.limits.processes = 64;
        bed.run("./deputy turns 1000").assert_nothing_escaped();
    });
}

/// A connection that waits to be accepted has an end that belongs to no process, and neither does the data
/// sent there.
#[test]
fn connections_that_nobody_accepts_hold_no_more_than_they_may() {
    for_each_tier(|bed| {
        bed.arm("deputy");
        bed.limits.memory = 64 << 20;
        let finished = bed.run("./deputy queue 3");
        finished.assert_nothing_escaped();
        let number = |after: &str| -> u64 {
            let found = finished.text.lines().find_map(|line| line.strip_suffix(after));
            found.expect("a number").parse().expect("a number")
        };
        let (held, unread) = (number(" MiB in queues"), number(" KiB unread"));
        match bed.tier {
            Tier::T2 => assert_eq!(unread, 0),
            Tier::T1 => assert!((100..1024).contains(&unread), "{unread} KiB"),
            _ => assert!(unread > 100),
        }
        match bed.tier {
            Tier::T2 => assert_eq!(held, 0),
            // 64 sockets, including some of the sandbox itself.
            _ => assert!((2..=32).contains(&held), "{held} MiB"),
        }
    });
}
