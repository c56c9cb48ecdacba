//! No process of a command affects or observes a process outside of the command.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use scorpiox_sandbox::{Ended, Happened, Running, Status, Tier};

use crate::bed::{
    Bed, Finished, SECRET, Victim, attack, comes_true, command, finish, for_each_tier, leak_a_descriptor,
    parent_of,
};

/// Variables of a command: those of the bed, and those of every shell.
const VARIABLES: [&str; 11] =
    ["TIER", "PATH", "HOME", "ESCAPE_MARK", "VICTIM", "OUTSIDE", "WORKSPACE", "PWD", "OLDPWD", "SHLVL", "_"];

/// Passes information about a process to commands of this bed.
fn tell(bed: &mut Bed, victim: &Victim) {
    bed.environment = vec![
        ("VICTIM_PID".to_owned(), victim.pid().to_string()),
        ("VICTIM_ADDRESS".to_owned(), victim.address.clone()),
    ];
}

/// Runs the attack without a sandbox, to verify that it works there.
fn unconfined(bed: &Bed, arguments: &[&str]) -> Output {
    let mut attacker = command(&attack("processes"));
    attacker.args(arguments).envs(bed.environment.clone()).output().expect("an attacker")
}

/// Returns `true` if a process is a zombie or has been reaped.
fn has_ended(pid: u32) -> bool {
    let ended = || fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "));
    comes_true(Duration::from_secs(5), ended)
}

/// Starts a command that attacks its own ancestors, and passes their process IDs to it.
fn start_with_ancestors(bed: &mut Bed, attacks: &str) -> (Running, Vec<u32>) {
    let wait = "until [ -e numbers ]; do sleep 0.01; done";
    let running = bed.start(&format!("{wait}; for all in \"$PPID $(cat numbers)\"; do {attacks}; done"));
    let until = Instant::now() + Duration::from_secs(10);
    let shell = loop {
        let own = bed.processes();
        if let Some(shell) = own.iter().find(|pid| parent_of(**pid).is_some_and(|up| !own.contains(&up))) {
            break *shell;
        }
        assert!(Instant::now() < until, "no shell");
    };
    let above = std::iter::successors(parent_of(shell), |pid| parent_of(*pid));
    let above: Vec<_> = above.take_while(|pid| *pid != std::process::id() && *pid > 1).collect();
    assert!(above.len() >= 2, "a helper and a supervisor, not {above:?}");
    let numbers: Vec<_> = above.iter().map(u32::to_string).collect();
    fs::rename(bed.put("numbers.new", &numbers.join(" ")), bed.at("numbers")).expect("a file");
    (running, above)
}

/// Process outside that reports its state on request.
struct Other {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// First line of its output.
    told: String,
}

impl Other {
    fn new(arguments: &[&str]) -> Self {
        let mut start = command(&attack("processes"));
        start.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = start.spawn().expect("a process");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut other = Self { input, output, child, told: String::new() };
        other.told = other.line();
        other
    }

    /// Starts a process with shared memory, semaphores, and queues.
    fn with_objects(bed: &mut Bed) -> Self {
        let name = format!("/{}", bed.mark);
        let other = Self::new(&["hold", &name]);
        assert!(other.told.contains(':') && !other.told.starts_with("0:"), "no objects: {}", other.told);
        bed.environment = vec![("OBJECTS".to_owned(), other.told.clone()), ("QUEUE".to_owned(), name)];
        other
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    fn state(&mut self) -> String {
        self.input.write_all(b"well?\n").expect("a process that listens");
        self.line()
    }

    /// Ends the process, which removes its objects.
    fn end(mut self) {
        drop(self.input);
        self.child.wait().expect("a child");
    }
}

#[test]
fn a_process_outside_is_neither_seen_nor_harmed() {
    for_each_tier(|bed| {
        bed.arm("processes");
        let other = Victim::new(bed);
        tell(bed, &other);
        let control = unconfined(bed, &["victim"]);
        let control = String::from_utf8_lossy(&control.stdout);
        for way in ["process_vm_readv", "process_vm_writev", "ptrace attach", "not so: no signal"] {
            assert!(control.contains(&format!("ESCAPED {way}\n")), "no attack: {way}");
        }
        assert!(has_ended(other.pid()), "no attack");
        let mut victim = Victim::new(bed);
        tell(bed, &victim);
        let finished = bed.run("./processes victim");
        victim.assert_unharmed();
        finished.assert_nothing_escaped();
    });
}

#[test]
fn a_process_outside_keeps_its_limits_and_its_time() {
    for_each_tier(|bed| {
        bed.arm("processes");
        let mut victim = Victim::new(bed);
        tell(bed, &victim);
        let finished = bed.run("./processes slow $VICTIM_PID");
        victim.assert_unharmed();
        finished.assert_nothing_escaped();
    });
}

#[test]
fn a_process_without_rights_keeps_its_limits_and_its_time() {
    for_each_tier(|bed| {
        bed.arm("processes");
        let victim = Victim::new(bed);
        tell(bed, &victim);
        let control = Other::new(&["sit"]);
        let output = unconfined(bed, &["slow", &control.told]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("ESCAPED sched_setaffinity"), "no attack");
        control.end();
        let mut other = Other::new(&["sit"]);
        let before = other.state();
        let finished = bed.run(&format!("./processes slow {}", other.told));
        let after = other.state();
        other.end();
        assert_eq!(before, after);
        finished.assert_nothing_escaped();
    });
}

#[test]
fn older_kernels_keep_signals_inside_as_well() {
    // The minimum version of each tier. Landlock confines signals from version 6 on.
    for version in [4, 5] {
        for_each_tier(|bed| {
            bed.arm("processes");
            bed.landlock_at_most = Some(version);
            let other = Victim::new(bed);
            tell(bed, &other);
            unconfined(bed, &["file", &other.pid().to_string()]);
            assert!(has_ended(other.pid()), "no attack");
            let mut victim = Victim::new(bed);
            tell(bed, &victim);
            let finished = bed.run("./processes file $VICTIM_PID");
            victim.assert_unharmed();
            finished.assert_nothing_escaped();
            let finished = bed.run("./processes victim");
            victim.assert_unharmed();
            finished.assert_nothing_escaped();
        });
    }
}

#[test]
fn shells_own_commands_find_no_process_outside() {
    for_each_tier(|bed| {
        let mut victim = Victim::new(bed);
        tell(bed, &victim);
        let finished = bed.run(
            "for signal in 0 CONT USR1 TERM STOP KILL; do
                kill -$signal $VICTIM_PID && echo ESCAPED $signal
            done
            for name in environ mem maps fd/3 cwd/victim root/etc/shadow cmdline; do
                cat /proc/$VICTIM_PID/$name && echo ESCAPED $name
            done
            ls -l /proc/$VICTIM_PID/fd /proc/$VICTIM_PID/ns && echo ESCAPED list
            cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ | tr '\\0' '\\n' | grep -a SECRET
            echo finished",
        );
        victim.assert_unharmed();
        finished.assert_nothing_escaped();
    });
}

#[test]
fn signals_to_everybody_stay_inside() {
    for_each_tier(|bed| {
        bed.arm("processes");
        let mut victim = Victim::new(bed);
        tell(bed, &victim);
        // The victim sleeps until it receives SIGCONT.
        let pid = Pid::from_raw(victim.pid().try_into().expect("a number")).expect("a number");
        let sleeps = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", victim.pid())).expect("a process");
            stat.contains(") T ")
        };
        rustix::process::kill_process(pid, Signal::STOP).expect("a signal");
        while !sleeps() {
            std::thread::yield_now();
        }
        let finished = bed.run("sleep 30 & ./processes everybody; sleep 0.1");
        assert!(sleeps(), "somebody woke it");
        rustix::process::kill_process(pid, Signal::CONT).expect("a signal");
        victim.assert_unharmed();
        finished.assert_nothing_escaped();
        let outcome = finished.outcome.expect("the supervisor's report");
        // In a namespace, a signal to all processes only kills those of the command.
        let killed = bed.tier != Tier::T2;
        assert_eq!(outcome.status == Status::Signal(Signal::KILL.as_raw()), killed, "{outcome:?}");
    });
}

#[test]
fn helper_and_supervisor_are_not_looked_into() {
    for_each_tier(|bed| {
        bed.arm("processes");
        let victim = Victim::new(bed);
        tell(bed, &victim);
        let (mut running, _) = start_with_ancestors(bed, "./processes above $all");
        finish(&mut running).assert_nothing_escaped();
    });
}

#[test]
fn helper_and_supervisor_live_through_signals() {
    for_each_tier(|bed| {
        bed.arm("processes");
        let victim = Victim::new(bed);
        tell(bed, &victim);
        let (mut running, above) = start_with_ancestors(bed, "./processes signal $all; kill -KILL $all");
        let finished = finish(&mut running);
        finished.assert_nothing_escaped();
        assert!(finished.outcome.is_some_and(|outcome| outcome.ended.is_none()), "no report");
        let helper = above.last().expect("a helper");
        assert!(parent_of(*helper).is_some(), "the helper has ended");
        assert!(bed.run("echo answers").says("answers"), "no cell any more");
    });
}

#[test]
fn helper_and_supervisor_keep_their_limits_and_their_time() {
    for_each_tier(|bed| {
        bed.arm("processes");
        let victim = Victim::new(bed);
        tell(bed, &victim);
        let (mut running, above) = start_with_ancestors(bed, "sleep 1; ./processes slow $all; sleep 1");
        let state = |pid: &u32| {
            let limits = fs::read_to_string(format!("/proc/{pid}/limits")).expect("a process");
            limits.lines().find(|line| line.starts_with("Max open files")).expect("a line").to_owned()
        };
        let before: Vec<_> = above.iter().map(state).collect();
        let mut text = String::new();
        let after = loop {
            match running.next(Some(Duration::from_secs(1)), None).expect("a command") {
                scorpiox_sandbox::Happened::Output(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
                scorpiox_sandbox::Happened::Nothing => {}
                scorpiox_sandbox::Happened::Done(outcome) => panic!("{outcome:?}: {text}"),
            }
            if text.lines().any(|line| line == "finished") {
                break above.iter().map(state).collect::<Vec<_>>();
            }
        };
        eprintln!("{text}");
        assert_eq!(before, after);
        assert!(!text.contains("ESCAPED"), "something was changed");
    });
}

#[test]
fn limits_hold_when_the_supervisor_is_attacked() {
    for_each_tier(|bed| {
        bed.arm("processes");
        bed.limits.memory = 150 << 20;
        let victim = Victim::new(bed);
        tell(bed, &victim);
        let eat = "for meal in 1 2 3 4 5; do ./processes eat & done; sleep 3";
        let ended = |bed: &mut Bed, command: &str| bed.run(command).outcome.and_then(|outcome| outcome.ended);
        assert_eq!(ended(bed, eat), Some(Ended::Memory), "no limit to attack");
        assert_eq!(ended(bed, &format!("./processes blind $PPID; {eat}")), Some(Ended::Memory));
        assert!(bed.processes_after(Duration::from_secs(2)).is_empty(), "some outlived the command");
    });
}

/// A lock uses 200 bytes of kernel memory, which no process's memory shows.
#[test]
fn locks_count_for_the_memory_of_a_command() {
    for_each_tier(|bed| {
        bed.arm("processes");
        bed.limits.memory = 64 << 20;
        let finished = bed.run("./processes lock");
        assert!(!finished.text.contains("ESCAPED"), "{}", finished.text);
        assert_eq!(finished.outcome.and_then(|outcome| outcome.ended), Some(Ended::Memory));
    });
}

#[test]
fn no_process_outlives_its_command_when_those_above_are_attacked() {
    for_each_tier(|bed| {
        bed.arm("processes");
        let victim = Victim::new(bed);
        tell(bed, &victim);
        let (mut running, _) = start_with_ancestors(bed, "setsid sleep 300 & ./processes blind $all");
        finish(&mut running);
        let after_command = bed.processes_after(Duration::from_secs(2));
        bed.end();
        let after_cell = bed.processes_after(Duration::from_secs(3));
        for pid in &after_cell {
            let pid = Pid::from_raw(i32::try_from(*pid).expect("a number")).expect("a number");
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        assert!(after_cell.is_empty(), "outlived the cell");
        assert!(after_command.is_empty(), "outlived the command");
    });
}

#[test]
fn nothing_is_inherited_from_the_host() {
    for_each_tier(|bed| {
        bed.arm("processes");
        let leaked = leak_a_descriptor(&bed.victim);
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "something in the host's environment");
        let control = unconfined(bed, &["self"]);
        assert!(String::from_utf8_lossy(&control.stdout).contains("ESCAPED descriptor"), "nothing leaks");
        let finished = bed.run("./processes self; cat /proc/$PPID/environ; cat <&3; cat <&4; cat <&5; env");
        finished.assert_nothing_escaped();
        let variables = finished.text.lines().filter_map(|line| line.strip_prefix("variable "));
        let names: Vec<_> = variables.filter_map(|line| Some(line.split_once('=')?.0)).collect();
        assert!(names.contains(&"ESCAPE_MARK"), "no variables");
        let strange: Vec<_> = names.iter().filter(|name| !VARIABLES.contains(name)).collect();
        assert!(strange.is_empty(), "{strange:?}");
        assert!(!finished.text.contains("CARGO_MANIFEST_DIR"), "the host's environment");
        drop(leaked);
    });
}

/// Sent but unread bytes, which no process's memory shows.
#[test]
fn sockets_hold_no_more_than_they_may() {
    for_each_tier(|bed| {
        bed.arm("names");
        bed.limits.memory = 256 << 20;
        let finished = hoard(bed, 3, "sockets");
        finished.assert_nothing_escaped();
        let made = counts(&finished.text, "sockets");
        assert!(made.iter().sum::<u32>() <= 128 + 3 && made.iter().sum::<u32>() >= 32, "{made:?}");
        let finished = bed.run("for i in 1 2 3; do bash -c 'echo x > >(cat)'; done; ./names hoard sockets");
        assert!(counts(&finished.text, "sockets")[0] >= 32, "there is room again");
    });
}

/// Several processes allocate as much of a resource as they get, and keep it until all have finished.
fn hoard(bed: &mut Bed, processes: usize, what: &str) -> Finished {
    let (theirs, ours) = std::io::pipe().expect("a pipe");
    bed.input = Some(theirs.into());
    let each = format!("./names hoard {what} <&3 &");
    let all = vec![each; processes].join(" ");
    let mut running = bed.start(&format!("exec 3<&0; {all} wait; echo finished"));
    let mut text = String::new();
    let until = Instant::now() + Duration::from_secs(30);
    while counts(&text, what).len() < processes {
        assert!(Instant::now() < until, "not all have theirs: {text}");
        if let Ok(Happened::Output(bytes)) = running.next(Some(Duration::from_secs(1)), None) {
            text.push_str(&String::from_utf8_lossy(bytes));
        }
    }
    drop(ours);
    let finished = finish(&mut running);
    Finished { text: text + &finished.text, ..finished }
}

fn counts(text: &str, what: &str) -> Vec<u32> {
    text.lines().filter_map(|line| line.strip_suffix(what)?.trim().parse().ok()).collect()
}

/// A user has 128 instances on most machines, for all programs together.
#[test]
fn watchers_are_left_for_others() {
    for_each_tier(|bed| {
        bed.arm("names");
        let finished = hoard(bed, 4, "watchers");
        finished.assert_nothing_escaped();
        let made: u32 = counts(&finished.text, "watchers").iter().sum();
        match bed.tier {
            Tier::T2 => assert_eq!(made, 0),
            _ => assert!((1..=40).contains(&made), "{}", finished.text),
        }
    });
}

/// Each instance uses kernel memory for every watched descriptor, and the kernel counts these for all
/// programs of a user together.
#[test]
fn waiters_for_descriptors_are_bounded() {
    for_each_tier(|bed| {
        bed.arm("names");
        let finished = hoard(bed, 3, "waiters");
        let made: u32 = counts(&finished.text, "waiters").iter().sum();
        assert!((100..=140).contains(&made), "{}", finished.text);
    });
}

/// Returns the descriptors of a process.
fn descriptors(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("a process");
    let mut names: Vec<_> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[test]
fn processes_of_a_command_have_three_descriptors() {
    for_each_tier(|bed| {
        let leaked = leak_a_descriptor(&bed.victim);
        let mut running = bed.start("sleep 30 & sleep 30");
        // A starting program has its libraries open for a moment. A leaked descriptor stays open.
        let processes = bed.processes_when(3);
        let found = RefCell::new(BTreeMap::new());
        let have_three = comes_true(Duration::from_secs(20), || {
            found.replace(processes.iter().map(|pid| (*pid, descriptors(*pid))).collect());
            found.borrow().values().all(|names| *names == ["0", "1", "2"])
        });
        assert!(have_three, "{:?}", found.into_inner());
        running.stop(false);
        finish(&mut running);
        drop(leaked);
    });
}

#[test]
fn keys_of_the_kernel_are_out_of_reach() {
    for_each_tier(|bed| {
        bed.arm("processes");
        bed.run("./processes keys").assert_nothing_escaped();
    });
}

#[test]
fn objects_shared_between_processes_are_the_commands_own() {
    for_each_tier(|bed| {
        bed.arm("processes");
        let mut other = Other::with_objects(bed);
        let control = unconfined(bed, &["shared"]);
        assert!(String::from_utf8_lossy(&control.stdout).contains(SECRET), "no attack");
        assert_eq!(other.state(), "changed");
        other.end();
        let mut holder = Other::with_objects(bed);
        let finished = bed.run("./processes shared");
        let state = holder.state();
        holder.end();
        finished.assert_nothing_escaped();
        assert_eq!(state, "unharmed");
        if bed.tier != Tier::T2 {
            assert!(finished.says("own memory: there"), "no memory of its own");
        }
    });
}

#[test]
fn a_command_that_is_talked_with_has_one_descriptor_for_it() {
    for_each_tier(|bed| {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("two sockets");
        bed.input = Some(theirs.into());
        let mut running = bed.start(
            "exec 3<&0 4>&0 </dev/null; read -r word <&3; echo \"$word $word\" >&4; \
             for n in 3 4 5 6 7 8 9; do { true <&$n; } 2>/dev/null && echo $n; done",
        );
        (&ours).write_all(b"echo\n").expect("it is there");
        let mut answer = String::new();
        // Reads to the end: no process has the other end open.
        (&ours).read_to_string(&mut answer).expect("an answer");
        assert_eq!(answer, "echo echo\n");
        let finished = finish(&mut running);
        assert_eq!(finished.text.split_whitespace().collect::<Vec<_>>(), ["3", "4"]);
    });
}
