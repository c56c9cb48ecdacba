//! Asks the user outside of the client: in a separate terminal, or in a dialog of the desktop.
//!
//! The helper that runs commands starts either this program or a system program ([`Person`]), with arguments
//! that no model chooses. It runs without a sandbox, because a terminal must reach the desktop.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use scorpiox_audit::{BUILT_IN, Uses};
use scorpiox_executor::Cancel;
use scorpiox_fs::home::instance;
use scorpiox_questions::launch::{Call, Chosen, Dialog, Way, Window};
use scorpiox_questions::request::{is_asking, read_answer, write_request};
use scorpiox_questions::{Answers, Questions};
use scorpiox_sandbox::{Cell, CellSpec, CommandSpec, Happened, Limits, Network, Status, Tier};

use scorpiox_shell::HELPER;
use scorpiox_shell::scratch::{self, Scratch};
use scorpiox_workspace_config::Operator;

use super::Asked;
use super::person::Person;

/// Maximum time for an unattended window to start asking.
const OPEN_TIME: Duration = Duration::from_secs(5);
/// Interval between checks whether a window still asks.
const LOOK_TIME: Duration = Duration::from_millis(200);
/// Delay after the user declined, so that repeated questions cannot wear the user down.
const PAUSE: Duration = Duration::from_secs(3);
/// Maximum size of a dialog's stored output, in bytes.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;
const LIMITS: Limits = Limits { processes: 4096, memory: 8 << 30, open_files: 4096, file_size: 1 << 40 };

/// Asks questions with the means of this machine, one at a time.
pub struct Prompter {
    operator: Arc<Operator>,
    /// Locked while a question is asked. Contains the time when the user last declined.
    turn: Mutex<Option<Instant>>,
}

/// Context of a question: recipient, files, and cancellation.
struct At<'a> {
    person: &'a Person,
    place: &'a Place,
    cancel: &'a Cancel,
}

/// Exit code and output of a program.
struct Ran {
    code: Option<i32>,
    output: Vec<u8>,
}

impl Prompter {
    /// Creates a prompter for a server with this policy.
    pub fn new(operator: Arc<Operator>) -> Self {
        Self { operator, turn: Mutex::default() }
    }

    /// Waits until no other question is asked, and then tries each method in order.
    pub fn ask(&self, questions: &Questions, cancel: &Cancel, uses: &Uses) -> Asked {
        let Some(mut declined) = self.turn(cancel) else { return Asked::Cancelled };
        let asked = self.ask_now(questions, cancel, uses);
        if asked == Asked::Answered(Answers::Declined) {
            *declined = Some(Instant::now());
        }
        asked
    }

    /// Waits until no other question is asked and [`PAUSE`] has passed since the user declined. Returns
    /// `None` if the call is cancelled.
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
        // A closed popup exits before the screen inside it has reported that.
        let open_time = if window.is_attended { Duration::ZERO } else { OPEN_TIME };
        wait_for_asking(&place.request, open_time, cancel);
        match read_answer(&place.answer, questions) {
            Ok(Some(answers)) => Ok(answers),
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
            // Some programs search for files in their working directory.
            workspace: folder.as_path().into(),
            exposed: Vec::new(),
            home: folder.as_path().into(),
            scratch: folder.join(format!("asks-{}", instance::name())).into(),
            home_links: Vec::new(),
            home_files: Vec::new(),
            stand_ins: Vec::new(),
            tmp_bytes: 0,
            network: Network::Host,
            ssh_config: None,
            local: Vec::new(),
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

/// Files of one question.
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

    /// Returns the command that shows the screen.
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
        let _ = scorpiox_sandbox::remove_folder(&self.scratch.path);
    }
}

/// Waits up to `open_time` for a window to start asking, and then until it stops.
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

/// Returns the methods of asking on this machine, for display, best first. Fails with the reason if there can
/// be none.
pub fn ways_here(operator: &Operator) -> Result<Vec<&'static str>, String> {
    Ok(Person::new(operator)?.ways(&[]).iter().map(Way::name).collect())
}

/// Returns the path by which other programs start this one: the running file, even if its path refers to
/// another file.
fn this_program() -> OsString {
    #[cfg(target_os = "linux")]
    {
        format!("/proc/{}/exe", std::process::id()).into()
    }
    // Nothing is started on other systems.
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
