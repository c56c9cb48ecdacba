//! A full-screen terminal UI that asks the questions.
//!
//! `Model` is the state and handles keys; [`view`] draws it. Both are pure: the screen depends only on the
//! questions, the events and the window size. [`run`] connects them to a real terminal, and restores it
//! afterwards.
//!
//! Each question has a page, and a final page reviews all answers before they are sent. A page consists of
//! lines of text, some of which belong to items: options, free text, buttons. It scrolls if the window is
//! small.

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
