//! An ordinary program. Its standard output is the result of the tool. If it fails, the model reads its
//! standard error.

use std::io::{Read as _, stdin};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut text = String::new();
    if let Err(error) = stdin().read_to_string(&mut text) {
        eprintln!("The text cannot be read: {error}.");
        return ExitCode::FAILURE;
    }
    let what = std::env::args().nth(1).unwrap_or_else(|| "words".to_owned());
    let count = match what.as_str() {
        "words" => text.split_whitespace().count(),
        "lines" => text.lines().count(),
        "characters" => text.chars().count(),
        other => {
            eprintln!("{other:?} cannot be counted; write words, lines or characters.");
            return ExitCode::FAILURE;
        }
    };
    println!("{count}");
    ExitCode::SUCCESS
}
