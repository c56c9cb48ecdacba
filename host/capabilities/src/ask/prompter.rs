//! Asking the person outside of the client: in a terminal of its own, or in a desktop's dialog.
//!
//! What is started is this program or one of the system's ([`Person`]), with arguments that no model
//! chooses, by the helper that starts commands, too, and without a sandbox: a terminal has to reach
//! the desktop.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use scorpiox_ask::launch::{Call, Chosen, Dialog, Way, Window};
use scorpiox_ask::request::{is_asking, read_answer, write_request};
use scorpiox_ask::{Answers, Questions};
use scorpiox_audit::{BUILT_IN, Uses};
use scorpiox_cell::{Cell, CellSpec, CommandSpec, Happened, Limits, Network, Status, Tier};
use scorpiox_executor::Cancel;
use scorpiox_home::instance;

use scorpiox_operator::Operator;
use scorpiox_shell::HELPER;
use scorpiox_shell::scratch::{self, Scratch};

use super::Asked;
use super::person::Person;

/// Until a window that is not waited for has begun to ask.
const OPEN_TIME: Duration = Duration::from_secs(5);
/// How often it is looked whether it still asks.
const LOOK_TIME: Duration = Duration::from_millis(200);
/// After the person declined: nobody is to be worn down by questions.
const PAUSE: Duration = Duration::from_secs(3);
/// Longest output that is kept of a dialog, in bytes.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;
const LIMITS: Limits = Limits { processes: 4096, memory: 8 << 30, open_files: 4096, file_size: 1 << 40 };

/// Asks with what this machine has, one question after the other.
pub struct Prompter {
    operator: Arc<Operator>,
    /// Who holds it asks. When the person declined last.
    turn: Mutex<Option<Instant>>,
}

/// How a question is asked: whom, by which files, and until when.
struct At<'a> {
    person: &'a Person,
    place: &'a Place,
    cancel: &'a Cancel,
}

/// How a program ended, and what it printed.
struct Ran {
    code: Option<i32>,
    output: Vec<u8>,
}

impl Prompter {
    /// For a server under this policy.
    pub fn new(operator: Arc<Operator>) -> Self {
        Self { operator, turn: Mutex::default() }
    }

    /// Tries one way after the other, when it is this question's turn.
    pub fn ask(&self, questions: &Questions, cancel: &Cancel, uses: &Uses) -> Asked {
        let Some(mut declined) = self.turn(cancel) else { return Asked::Cancelled };
        let asked = self.ask_now(questions, cancel, uses);
        if asked == Asked::Answered(Answers::Declined) {
            *declined = Some(Instant::now());
        }
        asked
    }

    /// Waits until nothing else is asked, and a while after the person declined; `None` when the call is
    /// to stop.
    fn turn(&self, cancel: &Cancel) -> Option<MutexGuard<'_, Option<Instant>>> {
        while !cancel.is_set() {
            let turn = self.turn.try_lock();
            let is_free = |declined: &Option<Instant>| declined.is_none_or(|at| at.elapsed() >= PAUSE);
            if let Some(turn) = turn.filter(|declined| is_free(declined)) {
                return Some(turn);
            }
            thread::sleep(LOOK_TIME);
        }
        None
    }

    fn ask_now(&self, questions: &Questions, cancel: &Cancel, uses: &Uses) -> Asked {
        let Ok(place) = Place::new(&self.operator.site().own_home) else {
            return Asked::NoWay("no folder for the questions can be made".to_owned());
        };
        let person = match Person::new(&self.operator) {
            Ok(person) => person,
            Err(why) => return Asked::NoWay(why),
        };
        let at = At { person: &person, place: &place, cancel };
        let mut failed = Vec::new();
        for way in person.ways(&place.screen()) {
            uses.allowed("ask", way.name(), BUILT_IN);
            let asked = match &way {
                Way::Screen(window) => self.on_screen(window, questions, &at),
                Way::Dialog(dialog) => self.in_dialog(dialog, questions, &at),
            };
            match asked {
                _ if cancel.is_set() => return Asked::Cancelled,
                Ok(answers) => return Asked::Answered(answers),
                Err(why) => failed.push(why),
            }
        }
        Asked::NoWay(if failed.is_empty() {
            "there is no tmux, no terminal and no dialog to ask with".to_owned()
        } else {
            failed.join("; ")
        })
    }

    fn on_screen(&self, window: &Window, questions: &Questions, at: &At<'_>) -> Result<Answers, String> {
        let At { place, cancel, .. } = at;
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", window.name);
        place.clear();
        write_request(&place.request, questions).map_err(|error| failed(&error))?;
        let ran = self.run(&window.call, at).map_err(|error| failed(&error))?;
        // A popup that is closed ends before the screen in it, which is yet to say so.
        let open_time = if window.is_attended { Duration::ZERO } else { OPEN_TIME };
        wait_for_asking(&place.request, open_time, cancel);
        match read_answer(&place.answer, questions) {
            Ok(Some(answers)) => Ok(answers),
            // Closed without a word, by somebody who saw it.
            Ok(None) if ran.code == Some(0) && window.is_attended => Ok(Answers::Declined),
            Ok(None) => {
                let words = String::from_utf8_lossy(&ran.output);
                Err(failed(&words.trim().lines().next_back().unwrap_or("it showed nothing")))
            }
            Err(error) => Err(failed(&error)),
        }
    }

    fn in_dialog(&self, dialog: &Dialog, questions: &Questions, at: &At<'_>) -> Result<Answers, String> {
        let name = dialog.program.display();
        let failed = |why: &dyn std::fmt::Display| format!("{name}: {why}");
        let mut answers = Vec::new();
        for (index, question) in questions.as_slice().iter().enumerate() {
            let call = dialog.choose(questions, index).ok_or_else(|| failed(&"no such question"))?;
            let ran = self.run(&call, at).map_err(|error| failed(&error))?;
            let chosen = dialog.read_chosen(question, ran.code, &ran.output).map_err(|e| failed(&e))?;
            let mut other = None;
            if matches!(chosen, Chosen::Options { wants_other: true, .. })
                && let Some(call) = dialog.own_words(questions, index)
            {
                let ran = self.run(&call, at).map_err(|error| failed(&error))?;
                other = dialog.read_own_words(ran.code, &ran.output).map_err(|error| failed(&error))?;
            }
            let answer = chosen.answer(question, other.as_deref()).map_err(|error| failed(&error))?;
            let Some(answer) = answer else { return Ok(Answers::Declined) };
            answers.push(answer);
        }
        Answers::answered(questions, answers).map_err(|error| failed(&error))
    }

    /// Runs a program to its end.
    fn run(&self, call: &Call, at: &At<'_>) -> Result<Ran, String> {
        let cancel = at.cancel;
        let setup = self.operator.site();
        let folder = scratch::folder(&setup.own_home);
        let spec = CellSpec {
            tier: Tier::None,
            // Some programs look for things where they are started.
            workspace: folder.as_path().into(),
            exposed: Vec::new(),
            home: folder.as_path().into(),
            scratch: folder.join(format!("asks-{}", instance::name())).into(),
            home_links: Vec::new(),
            home_files: Vec::new(),
            tmp_bytes: 0,
            network: Network::Host,
            landlock_at_most: None,
        };
        let built = Cell::build(&HELPER, &spec).map_err(|error| error.to_string())?;
        let mut running =
            built.run(command(call, at.person)?, None, None).map_err(|error| error.to_string())?;
        running.wait_until_started().map_err(|error| error.to_string())?;
        let mut output = Vec::new();
        let mut stopped = false;
        loop {
            if cancel.is_set() && !stopped {
                stopped = true;
                running.stop(false);
            }
            let bell = if stopped { None } else { cancel.bell() };
            match running.next(None, bell).map_err(|error| error.to_string())? {
                Happened::Output(bytes) => {
                    output.extend_from_slice(bytes);
                    output.truncate(MAX_OUTPUT_BYTES);
                }
                Happened::Nothing => {}
                Happened::Done(outcome) => {
                    let code = match outcome.status {
                        Status::Code(code) => Some(code),
                        Status::Signal(_) => None,
                    };
                    return Ok(Ran { code, output });
                }
            }
        }
    }
}

/// The files of one question.
struct Place {
    scratch: Scratch,
    request: PathBuf,
    answer: PathBuf,
}

impl Place {
    fn new(own_home: &Path) -> std::io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let scratch = Scratch::new(own_home, &format!("ask-{}-{count}", instance::name()))?;
        let (request, answer) = (scratch.path.join("request.json"), scratch.path.join("answer.json"));
        Ok(Self { scratch, request, answer })
    }

    /// What shows the screen.
    fn screen(&self) -> Vec<OsString> {
        vec![
            this_program(),
            "ask".into(),
            "--request".into(),
            self.request.clone().into(),
            "--answer".into(),
            self.answer.clone().into(),
        ]
    }

    fn clear(&self) {
        let _ = std::fs::remove_file(&self.request);
        let _ = std::fs::remove_file(&self.answer);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.scratch.path);
    }
}

/// Waits while a window asks, and for it to begin for as long as `open_time`.
fn wait_for_asking(request: &Path, open_time: Duration, cancel: &Cancel) {
    let opened = Instant::now();
    let mut has_asked = false;
    while !cancel.is_set() {
        match is_asking(request) {
            Ok(true) => has_asked = true,
            Ok(false) if has_asked || opened.elapsed() >= open_time => return,
            Ok(false) => {}
            Err(_) => return,
        }
        thread::sleep(LOOK_TIME);
    }
}

/// For people: what would be tried to ask them, best first; or why nothing is.
pub fn ways_here(operator: &Operator) -> Result<Vec<&'static str>, String> {
    Ok(Person::new(operator)?.ways(&[]).iter().map(Way::name).collect())
}

/// What others start this program by: the running file itself, whatever lies at its path by now.
fn this_program() -> OsString {
    #[cfg(target_os = "linux")]
    {
        format!("/proc/{}/exe", std::process::id()).into()
    }
    // Nothing is started there.
    #[cfg(not(target_os = "linux"))]
    {
        "scorpiox-code".into()
    }
}

fn command(call: &Call, person: &Person) -> Result<CommandSpec, String> {
    let mut line = String::from("exec");
    for word in &call.argv {
        let word = std::str::from_utf8(word.as_bytes())
            .map_err(|_| format!("{} is no UTF-8", word.to_string_lossy()))?;
        let _ = write!(line, " '{}'", word.replace('\'', r"'\''"));
    }
    let more = call.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let environment = person.environment().into_iter().chain(more).collect();
    Ok(CommandSpec::new(line, environment, LIMITS))
}
