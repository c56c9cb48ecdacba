//! Asks on this terminal: `cargo run -p scorpiox-questions --example ask [FILE]`.
//!
//! The file has the questions in the tool's format. Without a file, sample questions are asked.

use std::cell::RefCell;
use std::error::Error;
use std::io;

use scorpiox_questions::{Questions, screen};

const SAMPLE: &str = r#"{"questions":[
    {"question":"Which database shall the service use?","header":"Database","options":[
        {"label":"SQLite","description":"A file beside the program; nothing to install, one writer at a time."},
        {"label":"PostgreSQL","description":"A server of its own; many writers."},
        {"label":"None","description":"Everything stays in memory and is lost at the end."}]},
    {"question":"Which parts shall be tested first?","header":"Tests","multiSelect":true,"options":[
        "Parsing","Storage",{"label":"Network","description":"Needs a second machine."}]},
    {"text":"どの言語で説明しますか？","options":["日本語","中文","한국어","English 🇬🇧"]}
]}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let text = match std::env::args_os().nth(1) {
        Some(path) => std::fs::read_to_string(path)?,
        None => SAMPLE.to_owned(),
    };
    let questions = Questions::parse(&text)?;
    let last = RefCell::new(None);
    screen::run(
        &questions,
        || true,
        |answers| {
            last.replace(Some(answers.clone()));
            Ok::<(), io::Error>(())
        },
    )?;
    if let Some(answers) = last.into_inner() {
        eprintln!("{}\n\n{}", answers.to_text(&questions), answers.to_json(&questions));
    }
    Ok(())
}
