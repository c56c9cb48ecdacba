//! A full-screen terminal UI that asks the questions.
//!
//! `Model` is the state and knows what a key does; [`view`] draws it. Both are pure: what is
//! seen depends on nothing but the questions, the events and the window's size. [`run`] joins
//! them to a real terminal, which it leaves as it was.
//!
//! A page for each question, and one to look over all answers before they are sent. A page is
//! lines of text, some of which belong to items: options, own words, buttons. It scrolls when
//! the window is small.

mod draft;
mod editor;
mod geometry;
mod model;
mod page;
mod place;
mod run;
mod terminal;
mod theme;
mod view;
mod watch;
mod wrap;

pub use geometry::{MIN_HEIGHT, MIN_WIDTH};
pub use model::Model;
pub use run::{drive, run};
pub use theme::Theme;
pub use view::view;
