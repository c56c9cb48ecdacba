//! Prints the commands that would ask the questions here, as one JSON array of arguments per line: `cargo run
//! -p scorpiox-ask --example ways FILE PROGRAM [ARGUMENT…]`.
//!
//! The file has the questions; the program is the one that would show the screen.

use std::error::Error;
use std::ffi::OsString;
use std::io::{Write, stdout};
use std::path::PathBuf;

use scorpiox_questions::Questions;
use scorpiox_questions::launch::{Call, Surroundings, Way, ways};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let file = arguments.next().ok_or("the first argument is a file with questions")?;
    let questions = Questions::parse(&std::fs::read_to_string(file)?)?;
    let program: Vec<OsString> = arguments.collect();
    let around = Surroundings::new(|name| std::env::var_os(name), &find);
    for way in ways(&around, &program) {
        match way {
            Way::Screen(window) => show(&window.call)?,
            Way::Dialog(dialog) => {
                for index in 0..questions.as_slice().len() {
                    for call in [dialog.choose(&questions, index), dialog.own_words(&questions, index)] {
                        call.as_ref().map_or(Ok(()), show)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn show(call: &Call) -> Result<(), Box<dyn Error>> {
    let argv: Vec<_> = call.argv.iter().map(|argument| argument.to_string_lossy()).collect();
    writeln!(stdout(), "{}", serde_json::to_string(&argv)?)?;
    Ok(())
}
