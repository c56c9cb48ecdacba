//! Desktop dialogs: a list of a question's options, and a text input.
//!
//! The dialogs print numbers instead of labels, because labels may contain any character.

mod kdialog;
mod osascript;
mod zenity;

use std::path::PathBuf;

use super::{Call, Surroundings};
use crate::answers::{Answer, AnswerError};
use crate::questions::{Question, Questions};

/// Window title. The asker is named below it, above all text that the asker wrote.
const TITLE: &str = "scorpiox-code";
/// Option that leads to the text input.
const OTHER: &str = "Other…";

/// A program that shows dialogs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    /// Kind of the program.
    pub tool: DialogTool,
    /// Path of the program.
    pub program: PathBuf,
}

/// Supported dialog programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogTool {
    /// GNOME.
    Zenity,
    /// KDE.
    Kdialog,
    /// macOS.
    Osascript,
}

/// Result of the list of options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// The dialog was closed or cancelled: the user declines.
    Closed,
    /// The chosen options.
    Options {
        /// Zero-based indices, in any order.
        indices: Vec<usize>,
        /// `true` if a text input must follow ([`Dialog::own_words`]).
        wants_other: bool,
    },
}

/// Reason why a dialog asked nothing, so that another way may be tried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialogError {
    /// The dialog exited without one of its buttons; `None` means a signal.
    #[error("the dialog {}", .0.map_or("was killed".to_owned(), |code| format!("ended with exit code {code}")))]
    Failed(Option<i32>),
    /// The dialog printed something unexpected.
    #[error("the dialog printed {0:?}")]
    Unexpected(String),
}

/// Returns the available dialogs, the desktop's own first.
pub(super) fn dialogs(around: &Surroundings<'_>) -> Vec<Dialog> {
    let mut tools = Vec::new();
    if around.has_mac() {
        tools.push(DialogTool::Osascript);
    }
    if around.has_x11() || around.has_wayland() {
        tools.extend([DialogTool::Zenity, DialogTool::Kdialog]);
        if around.is_kde() {
            tools.reverse();
        }
    }
    let dialog = |tool: DialogTool| Some(Dialog { tool, program: (around.find)(tool.name())? });
    tools.into_iter().filter_map(dialog).collect()
}

impl DialogTool {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Zenity => "zenity",
            Self::Kdialog => "kdialog",
            Self::Osascript => "osascript",
        }
    }
}

impl Dialog {
    /// Returns the command that shows the options of a question, by zero-based index.
    pub fn choose(&self, questions: &Questions, index: usize) -> Option<Call> {
        let question = questions.as_slice().get(index)?;
        let call = Call::new(self.program.clone());
        let text = heading(questions, index, question);
        Some(match self.tool {
            DialogTool::Zenity => zenity::choose(call, &text, question),
            DialogTool::Kdialog => kdialog::choose(call, &text, question),
            DialogTool::Osascript => osascript::choose(call, &text, question),
        })
    }

    /// Parses the result of [`choose`](Self::choose).
    pub fn read_chosen(
        &self,
        question: &Question,
        exit_code: Option<i32>,
        stdout: &[u8],
    ) -> Result<Chosen, DialogError> {
        let Some(text) = self.output(exit_code, stdout)? else { return Ok(Chosen::Closed) };
        let (mut indices, mut wants_other) = (Vec::new(), false);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            // osascript prints the complete line, which starts with the number.
            let digits = line.trim().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            match digits.parse::<usize>() {
                Ok(number) if (1..=question.options.len()).contains(&number) => indices.push(number - 1),
                Ok(number) if number == question.options.len() + 1 => wants_other = true,
                _ => return Err(DialogError::Unexpected(line.to_owned())),
            }
        }
        Ok(Chosen::Options { indices, wants_other })
    }

    /// Returns the command that asks for free text.
    pub fn own_words(&self, questions: &Questions, index: usize) -> Option<Call> {
        let question = questions.as_slice().get(index)?;
        let call = Call::new(self.program.clone());
        let text = heading(questions, index, question);
        Some(match self.tool {
            DialogTool::Zenity => zenity::own_words(call, &text),
            DialogTool::Kdialog => kdialog::own_words(call, &text),
            DialogTool::Osascript => osascript::own_words(call, &text),
        })
    }

    /// Parses the result of [`own_words`](Self::own_words); `None` if the dialog was closed.
    pub fn read_own_words(
        &self,
        exit_code: Option<i32>,
        stdout: &[u8],
    ) -> Result<Option<String>, DialogError> {
        let text = self.output(exit_code, stdout)?;
        Ok(text.map(|text| text.trim_end_matches('\n').to_owned()))
    }

    /// Returns the output of the dialog, or `None` if it was closed.
    fn output(&self, exit_code: Option<i32>, stdout: &[u8]) -> Result<Option<String>, DialogError> {
        let text = String::from_utf8_lossy(stdout);
        match self.tool {
            DialogTool::Zenity => zenity::output(exit_code, &text),
            DialogTool::Kdialog => kdialog::output(exit_code, &text),
            DialogTool::Osascript => osascript::output(exit_code, &text),
        }
    }
}

impl Chosen {
    /// Returns the answer, with optional free text; `None` if the dialog was closed.
    pub fn answer(&self, question: &Question, other: Option<&str>) -> Result<Option<Answer>, AnswerError> {
        match self {
            Self::Closed => Ok(None),
            Self::Options { indices, .. } => {
                let options = indices.iter().filter_map(|index| question.options.get(*index));
                Answer::new(question, options.map(|option| option.label.as_str()), other).map(Some)
            }
        }
    }
}

fn heading(questions: &Questions, index: usize, question: &Question) -> String {
    let asker = questions.asker();
    match questions.as_slice().len() {
        1 => format!("{asker}\n{}", question.text),
        count => format!("{asker}\n{} of {count}: {}", index + 1, question.text),
    }
}

/// Returns the number, label and description of each line in the list.
fn lines(question: &Question) -> impl Iterator<Item = (String, &str, String)> {
    let options = question.options.iter().map(|option| {
        let description = option.description.as_deref().unwrap_or_default();
        (option.label.as_str(), description.replace('\n', " "))
    });
    let other = (OTHER, String::new());
    (1..).zip(options.chain([other])).map(|(number, (label, text))| (number.to_string(), label, text))
}
