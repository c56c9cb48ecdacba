//! Runs the golden conversations, the files in `tests/conversations`, with one test each. They show the
//! messages that clients of each revision exchange.
//!
//! Each received message is validated against the schema of its revision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use scorpiox_tests::schema::Seen;
use scorpiox_tests::{Program, conversation};

const SKILL: &str = "---
name: greet
description: Greet somebody in the project's tone. Use when a person is to be welcomed.
license: MIT
---
# Greet

Say hello to $0, in the tone of notes/tone.md. All of it: $ARGUMENTS
";

/// Messages received in a conversation, once it has run.
type Held = Arc<OnceLock<Arc<Vec<Seen>>>>;

/// Runs the named conversation once for all tests, in a workspace with one skill.
pub fn run(name: &'static str) -> Arc<Vec<Seen>> {
    static RUNS: Mutex<BTreeMap<&str, Held>> = Mutex::new(BTreeMap::new());
    let held = Arc::clone(RUNS.lock().expect("lock").entry(name).or_default());
    Arc::clone(held.get_or_init(|| Arc::new(start(name))))
}

fn start(name: &str) -> Vec<Seen> {
    let program = Program::as_shipped();
    program.put("workspace/docs/plan.md", "# Plan\n");
    program.put("workspace/.claude/skills/greet/SKILL.md", SKILL);
    program.put("workspace/.claude/skills/greet/notes/tone.md", "Warm and short.\n");
    conversation::run(name, &program)
}

macro_rules! conversations {
    ($($test:ident => $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                run($name);
            }
        )*

        const NAMES: &[&str] = &[$($name),*];
    };
}

conversations! {
    a_session_of_2024_11_05 => "2024-11-05",
    a_session_of_2025_03_26 => "2025-03-26",
    a_session_of_2025_06_18 => "2025-06-18",
    a_session_of_2025_11_25 => "2025-11-25",
    requests_of_2026_07_28 => "2026-07-28",
    both_eras_live_in_one_process => "both-eras",
    one_revision_has_batches => "batches",
    bad_messages_are_answered_and_the_next_is_read => "mistakes",
    cancelled_requests_are_not_answered => "cancelled",
}

#[test]
fn every_conversation_has_a_test() {
    let files = std::fs::read_dir(conversation::folder()).expect("the folder of the conversations");
    let names = files.map(|file| file.expect("a file").path());
    let names: BTreeSet<_> = names.map(|path| path.file_stem().expect("a name").to_owned()).collect();
    assert_eq!(names, NAMES.iter().map(Into::into).collect());
}
