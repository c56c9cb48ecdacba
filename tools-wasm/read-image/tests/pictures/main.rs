//! What is sent of a picture, and what is refused: one program, a module for each subject.

#[path = "../common/mod.rs"]
mod common;

mod broken;
mod drawings;
mod others;
mod sent;
mod suites;
