//! Steps of a session, printed one per line.

use std::error::Error;
use std::fmt::Debug;

/// Outcome of a step.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Printer of the steps of one session, which records failures.
pub struct Steps {
    prefix: String,
    failed: bool,
}

impl Steps {
    pub fn new(client: &str, era: &str) -> Self {
        Self { prefix: format!("{client:<13} {era:<22}"), failed: false }
    }

    pub fn record(&mut self, what: &str, outcome: Outcome) {
        match outcome {
            Ok(()) => println!("ok    {} {what}", self.prefix),
            Err(error) => {
                self.failed = true;
                println!("FAIL  {} {what}: {}", self.prefix, error.to_string().replace('\n', " "));
            }
        }
    }

    pub fn all_passed(&self) -> bool {
        !self.failed
    }
}

pub fn equal<T: Debug + PartialEq<U>, U: Debug>(found: T, expected: U) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("expected {expected:?}, found {found:?}").into()) }
}

pub fn contains(text: &str, parts: &[&str]) -> Outcome {
    match parts.iter().find(|part| !text.contains(**part)) {
        None => Ok(()),
        Some(part) => Err(format!("{part:?} is not in {text:?}").into()),
    }
}
