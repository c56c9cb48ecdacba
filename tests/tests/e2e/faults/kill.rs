//! Tests of `SIGKILL` at random moments: acknowledged writes survive.

use std::collections::{BTreeMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use scorpiox_tests::Program;
use serde_json::{Value, json};

use super::support::{Bare, Random, call, create, database_of, handshake, seed, stored};

/// Moment at which the server of a round is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// After its first write was sent.
    Writing,
    /// From process start on, including the creation of the database.
    Starting,
}

/// Writes that were sent, and writes that a server acknowledged.
#[derive(Default)]
struct Ledger {
    sent: HashSet<String>,
    tasks: BTreeMap<u64, String>,
    steps: BTreeMap<u64, (u64, String)>,
    /// Texts of the current round by request ID, and whether each is a task.
    round: Vec<(String, bool)>,
    /// IDs of the tasks that the next round checks first.
    unchecked: Vec<u64>,
}

impl Ledger {
    /// Returns another write, in random order and of random size.
    fn next_write(&mut self, random: &mut Random, label: &str) -> String {
        let id = self.round.len() as u64;
        let is_task = self.tasks.is_empty() || random.chance(40);
        let most = if is_task { 10 } else { 90 };
        let words: Vec<_> =
            (0..random.below(most)).map(|_| format!("word{:x}", random.below(4096))).collect();
        let text = format!("{label} n{id} {}", words.join(" ")).trim().to_owned();
        self.sent.insert(text.clone());
        self.round.push((text.clone(), is_task));
        if is_task {
            return create(id, &text);
        }
        call(id, "TaskManager", json!({ "action": "add", "text": text }))
    }

    fn acknowledged(&mut self, answer: &Value) {
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{answer}");
        let (text, is_task) = &self.round[answer["id"].as_u64().expect("an id of ours") as usize];
        let made = &result["structuredContent"][if *is_task { "tasks" } else { "steps" }][0];
        let id = made["id"].as_u64().expect("an id");
        if *is_task {
            assert_eq!(made["name"], **text);
            self.unchecked.push(id);
            let before = self.tasks.insert(id, text.clone());
            assert!(before.is_none(), "task id {id} was given to {before:?} and to {text:?}");
        } else {
            assert_eq!(made["text"], **text);
            let task = made["task_id"].as_u64().expect("an id");
            let before = self.steps.insert(id, (task, text.clone()));
            assert!(before.is_none(), "step id {id} was given to {before:?} and to {text:?}");
        }
    }

    /// Asks a server for the most recently acknowledged tasks.
    fn check_with(&mut self, server: &mut Bare) {
        let Some(oldest) = self.unchecked.iter().min().copied() else { return };
        let mut listed = BTreeMap::new();
        let mut next = json!({ "action": "list", "query": "" });
        while listed.keys().next().is_none_or(|id| *id > oldest) {
            server.send(&call("list", "TaskManager", next)).expect("the server reads");
            let answer = server.line().expect("an answer");
            let data = &answer["result"]["structuredContent"];
            for task in data["tasks"].as_array().unwrap_or_else(|| panic!("no list: {answer}")) {
                let name = task["name"].as_str().expect("a name").to_owned();
                let before = listed.insert(task["id"].as_u64().expect("an id"), name);
                assert!(before.is_none(), "listed twice: {before:?}");
            }
            let Some(arguments) = data["next"].as_str() else { break };
            next = serde_json::from_str(arguments).expect("arguments of the next page");
        }
        for id in self.unchecked.drain(..) {
            assert_eq!(listed.get(&id), self.tasks.get(&id), "task {id} was acknowledged");
        }
    }

    /// Compares all acknowledged writes with the content of the database.
    fn check_all(&self, program: &Program) {
        let found = stored(&database_of(program));
        for (id, name) in &self.tasks {
            assert_eq!(found.tasks.get(id), Some(name), "task {id} was acknowledged");
        }
        for (id, step) in &self.steps {
            assert_eq!(found.steps.get(id), Some(step), "step {id} was acknowledged");
        }
        let texts: Vec<_> = found.tasks.values().chain(found.steps.values().map(|(_, text)| text)).collect();
        assert!(texts.iter().all(|text| self.sent.contains(*text)), "something is there that nobody sent");
        let different: HashSet<_> = texts.iter().collect();
        assert_eq!(different.len(), texts.len(), "something was written twice");
    }
}

/// Writes until the server is killed after `delay`.
fn write_until_killed(
    server: &mut Bare,
    ledger: &mut Ledger,
    random: &mut Random,
    delay: Duration,
    label: &str,
) {
    let pid = server.pid();
    let window = *random.pick(&[1, 2, 4, 8, 32, 128]);
    thread::scope(|scope| {
        scope.spawn(move || {
            // The kill must happen at this exact time.
            thread::sleep(delay);
            kill_process(pid, Signal::KILL).expect("not waited for yet");
        });
        let mut waiting = 0;
        let mut reads = true;
        loop {
            while reads && waiting < window {
                reads = server.send(&ledger.next_write(random, label)).is_ok();
                waiting += 1;
            }
            match server.line() {
                Some(answer) if answer["id"] == "hello" => {}
                Some(answer) => {
                    ledger.acknowledged(&answer);
                    waiting -= 1;
                }
                None => return,
            }
        }
    });
}

fn round(program: &Program, ledger: &mut Ledger, random: &mut Random, moment: Moment, label: &str) {
    let mut server = Bare::start(program);
    server.send(&handshake()).expect("the server reads");
    server.line().expect("an answer");
    ledger.check_with(&mut server);
    ledger.round.clear();
    let delay = match moment {
        Moment::Writing => {
            let most = *random.pick(&[2, 20, 100]);
            random.duration(Duration::from_millis(most))
        }
        Moment::Starting => {
            server = Bare::start(program);
            // The server may be killed before it reads anything.
            let _ = server.send(&handshake());
            // The first write, which creates the database, takes more than 20 ms on a slow disk.
            random.duration(Duration::from_millis(60))
        }
    };
    write_until_killed(&mut server, ledger, random, delay, &format!("{label} delay={delay:?}"));
}

fn rounds(workspaces: usize, rounds: usize, moment: Moment) {
    let start = Instant::now();
    let (mut tasks, mut steps, mut sent) = (0, 0, 0);
    for workspace in 0..workspaces {
        let mut random = Random::new(seed() + workspace as u64 + 1000 * moment as u64);
        let program = Program::new();
        let mut ledger = Ledger::default();
        for number in 0..rounds {
            let label = format!("{moment:?} seed={} workspace={workspace} round={number}", seed());
            // Shown only if the test fails.
            println!("{label}");
            round(&program, &mut ledger, &mut random, moment, &label);
        }
        let mut last = Bare::start(&program);
        last.send(&handshake()).expect("the server reads");
        last.line().expect("an answer");
        ledger.check_with(&mut last);
        ledger.check_all(&program);
        tasks += ledger.tasks.len();
        steps += ledger.steps.len();
        sent += ledger.sent.len();
    }
    assert!(tasks + steps > workspaces * rounds, "too few writes to say anything: {tasks} and {steps}");
    eprintln!(
        "{} kills while {moment:?}: {tasks} tasks and {steps} steps acknowledged of {sent} sent, in {:?}",
        workspaces * rounds,
        start.elapsed()
    );
}

#[test]
fn what_was_acknowledged_survives_a_kill_while_writing() {
    rounds(4, 25, Moment::Writing);
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_moment_since_the_start() {
    rounds(4, 25, Moment::Starting);
}

#[test]
fn a_server_goes_on_when_the_one_beside_it_is_killed() {
    let mut random = Random::new(seed());
    let program = Program::new();
    let mut survivor = program.start();
    survivor.initialize("2025-11-25");
    let mut ledger = Ledger::default();
    let mut kept = BTreeMap::new();
    for number in 0..20 {
        let delay = random.duration(Duration::from_millis(10));
        let label = format!("beside seed={} round={number} delay={delay:?}", seed());
        println!("{label}");
        let mut victim = Bare::start(&program);
        victim.send(&handshake()).expect("the server reads");
        victim.line().expect("an answer");
        ledger.round.clear();
        for n in 0..20 {
            let arguments = json!({ "action": "create", "text": format!("{label} survivor {n}") });
            survivor.request("tools/call", json!({ "name": "TaskManager", "arguments": arguments }));
        }
        write_until_killed(&mut victim, &mut ledger, &mut random, delay, &label);
        for _ in 0..20 {
            let answer = survivor.next().expect("an answer");
            let task = &answer["result"]["structuredContent"]["tasks"][0];
            let name = task["name"].as_str().unwrap_or_else(|| panic!("not created: {answer}")).to_owned();
            ledger.sent.insert(name.clone());
            kept.insert(task["id"].as_u64().expect("an id"), name);
        }
    }
    assert_eq!(kept.len(), 400);
    assert!(kept.keys().all(|id| !ledger.tasks.contains_key(id)), "an id was given twice");
    ledger.tasks.append(&mut kept);
    ledger.check_all(&program);
}
