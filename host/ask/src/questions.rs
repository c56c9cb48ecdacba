//! What may be asked.

use std::fmt;
use std::fmt::Write;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};

/// Largest `questions_json`, in bytes: more than all limits together, written with escapes.
pub const MAX_JSON_BYTES: usize = 1 << 20;
/// Most questions in one call.
pub const MAX_QUESTIONS: usize = 4;
/// Most options of one question.
pub const MAX_OPTIONS: usize = 20;
/// Longest question, in characters.
pub const MAX_QUESTION_CHARS: usize = 2000;
/// Longest header, in characters.
pub const MAX_HEADER_CHARS: usize = 40;
/// Longest label of an option, in characters.
pub const MAX_LABEL_CHARS: usize = 200;
/// Longest description of an option, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 1000;

/// One to [`MAX_QUESTIONS`] questions, within all limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Questions {
    asker: Asker,
    list: Vec<Question>,
}

/// Who asks. It is said before all that the asker wrote, in each way to ask.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asker {
    /// The model that the client runs.
    #[default]
    Model,
    /// A plugin, by its name.
    Plugin(String),
}

impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => write!(f, "Your AI model asks:"),
            Self::Plugin(name) => write!(f, "The plugin {name} asks:"),
        }
    }
}

/// A question with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is asked, in one or several lines.
    pub text: String,
    /// A word or two that stand for it.
    pub header: Option<String>,
    /// What can be chosen; the labels differ.
    pub options: Vec<Choice>,
    /// Whether several options may be chosen.
    pub multi_select: bool,
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What is shown, and what the answer says.
    pub label: String,
    /// What choosing it means, in one or several lines.
    pub description: Option<String>,
}

impl Questions {
    /// Questions of the model, within all limits.
    pub(crate) fn of_model(list: Vec<Question>) -> Self {
        Self { asker: Asker::Model, list }
    }

    /// The same questions of somebody else.
    #[must_use]
    pub fn asked_by(self, asker: Asker) -> Self {
        Self { asker, ..self }
    }

    /// Who asks.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// The questions, in order.
    pub fn as_slice(&self) -> &[Question] {
        &self.list
    }

    /// The questions as text, with numbers, for where there is no other way to ask.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (number, question) in (1..).zip(&self.list) {
            if number > 1 {
                text.push('\n');
            }
            let several = if question.multi_select { " (several may be chosen)" } else { "" };
            let _ = writeln!(text, "{number}. {}{several}", question.text.replace('\n', "\n   "));
            for (letter, option) in ('a'..).zip(&question.options) {
                let _ = write!(text, "   {letter}) {}", option.label);
                if let Some(description) = &option.description {
                    let _ = write!(text, " – {}", description.replace('\n', " "));
                }
                text.push('\n');
            }
        }
        text
    }
}

impl Question {
    /// The header, or what stands for it.
    pub fn title(&self, index: usize) -> String {
        self.header.clone().unwrap_or_else(|| format!("Question {}", index + 1))
    }
}

/// Written in the second of the two shapes.
impl Serialize for Questions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.list.len()))?;
        for question in &self.list {
            list.serialize_element(question)?;
        }
        list.end()
    }
}

impl Serialize for Question {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("question", &self.text)?;
        if let Some(header) = &self.header {
            members.serialize_entry("header", header)?;
        }
        members.serialize_entry("options", &self.options)?;
        members.serialize_entry("multiSelect", &self.multi_select)?;
        members.end()
    }
}

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("label", &self.label)?;
        if let Some(description) = &self.description {
            members.serialize_entry("description", description)?;
        }
        members.end()
    }
}

/// Why there is nothing to ask. Each is one sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuestionsError {
    /// Larger than [`MAX_JSON_BYTES`].
    #[error("questions_json has {bytes} bytes, but the limit is {MAX_JSON_BYTES}")]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// No JSON.
    #[error(r#"questions_json is not valid JSON ({reason}; it begins {begin}); write {{"questions":[{{"question":"…","options":["A","B"]}}]}}"#)]
    NotJson {
        /// What the parser says, with line and column.
        reason: String,
        /// Its first characters, in quotes.
        begin: String,
    },
    /// An empty list.
    #[error("questions_json has no questions; it takes 1 to {MAX_QUESTIONS}")]
    NoQuestions,
    /// More than [`MAX_QUESTIONS`].
    #[error(
        "questions_json has {count} questions, but the limit is {MAX_QUESTIONS}; ask the rest in another call"
    )]
    TooManyQuestions {
        /// How many there are.
        count: usize,
    },
    /// A value of a wrong kind.
    #[error("{at}: expected {fits}, found {found}")]
    Wrong {
        /// Where.
        at: At,
        /// What is there.
        found: String,
        /// What should be.
        fits: &'static str,
    },
    /// A member that must be there is not.
    #[error("{at} is missing: expected {fits}")]
    Missing {
        /// Where.
        at: At,
        /// What should be.
        fits: &'static str,
    },
    /// A text that shows nothing.
    #[error("{at} is {found}, which shows nothing; write 1 to {max} characters")]
    Blank {
        /// Where.
        at: At,
        /// What is there.
        found: String,
        /// Characters that fit.
        max: usize,
    },
    /// A text beyond its limit.
    #[error("{at} has {chars} characters ({found}), but the limit is {max}")]
    TooLong {
        /// Where.
        at: At,
        /// How it begins.
        found: String,
        /// How long it is.
        chars: usize,
        /// Characters that fit.
        max: usize,
    },
    /// An empty list of options.
    #[error("question {question} has no options; it takes 1 to {MAX_OPTIONS}")]
    NoOptions {
        /// Which, from 1.
        question: usize,
    },
    /// More than [`MAX_OPTIONS`].
    #[error("question {question} has {count} options, but the limit is {MAX_OPTIONS}")]
    TooManyOptions {
        /// Which, from 1.
        question: usize,
        /// How many there are.
        count: usize,
    },
    /// Two options that could not be told apart.
    #[error(
        "option {option} of question {question} has the label {label:?}, which looks like that of option {first}, but labels must differ"
    )]
    Duplicate {
        /// Which question, from 1.
        question: usize,
        /// Which option, from 1.
        option: usize,
        /// The one that has it already, from 1.
        first: usize,
        /// The label.
        label: String,
    },
}

/// A place in the argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// All of it.
    Whole,
    /// A question, from 1.
    Question(usize),
    /// A member of a question.
    Of(usize, &'static str),
    /// An option of a question, both from 1.
    Option(usize, usize),
    /// A member of an option.
    OfOption(usize, usize, &'static str),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => write!(f, "questions_json"),
            Self::Question(question) => write!(f, "question {question}"),
            Self::Of(question, member) => write!(f, "`{member}` of question {question}"),
            Self::Option(question, option) => write!(f, "option {option} of question {question}"),
            Self::OfOption(question, option, member) => {
                write!(f, "`{member}` of option {option} of question {question}")
            }
        }
    }
}
