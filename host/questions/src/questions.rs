//! The questions and their limits.

use std::fmt;
use std::fmt::Write;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};

/// Maximum size of `questions_json` in bytes. Larger than all limits together with escapes.
pub const MAX_JSON_BYTES: usize = 1 << 20;
/// Maximum number of questions in a call.
pub const MAX_QUESTIONS: usize = 4;
/// Maximum number of options in a question.
pub const MAX_OPTIONS: usize = 20;
/// Maximum length of a question in characters.
pub const MAX_QUESTION_CHARS: usize = 2000;
/// Maximum length of a header in characters.
pub const MAX_HEADER_CHARS: usize = 40;
/// Maximum length of an option label in characters.
pub const MAX_LABEL_CHARS: usize = 200;
/// Maximum length of an option description in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 1000;

/// One to [`MAX_QUESTIONS`] questions, within all limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Questions {
    asker: Asker,
    list: Vec<Question>,
}

/// Author of the questions. Every channel names the asker before any text of the asker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asker {
    /// The client's model.
    #[default]
    Model,
    /// A plugin, by name.
    Plugin(String),
    /// This program, because a rule of the policy asks.
    Policy,
}

impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => write!(f, "Your AI model asks:"),
            Self::Plugin(name) => write!(f, "The plugin {name} asks:"),
            Self::Policy => write!(f, "scorpiox-code asks, as your policy says:"),
        }
    }
}

/// A question with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Text of the question, in one or several lines.
    pub text: String,
    /// A short title of one or two words.
    pub header: Option<String>,
    /// Options to choose from; their labels are distinct.
    pub options: Vec<Choice>,
    /// `true` if several options may be chosen.
    pub multi_select: bool,
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Label shown to the user and repeated in the answer.
    pub label: String,
    /// Description of the option, in one or several lines.
    pub description: Option<String>,
}

impl Questions {
    /// Creates questions of the model. The caller has checked all limits.
    pub(crate) fn of_model(list: Vec<Question>) -> Self {
        Self { asker: Asker::Model, list }
    }

    /// Returns the same questions with another asker.
    #[must_use]
    pub fn asked_by(self, asker: Asker) -> Self {
        Self { asker, ..self }
    }

    /// Returns the asker.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Returns the questions, in order.
    pub fn as_slice(&self) -> &[Question] {
        &self.list
    }

    /// Formats the questions as numbered text, for use when no other channel is available.
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
    /// Returns the header, or a default title.
    pub fn title(&self, index: usize) -> String {
        self.header.clone().unwrap_or_else(|| format!("Question {}", index + 1))
    }
}

/// Serializes to the second of the two formats.
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

/// Reason why the questions are invalid. Each message is one sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuestionsError {
    /// Larger than [`MAX_JSON_BYTES`].
    #[error("questions_json has {bytes} bytes, but the limit is {MAX_JSON_BYTES}")]
    TooLarge {
        /// Size in bytes.
        bytes: usize,
    },
    /// Invalid JSON.
    #[error(r#"questions_json is not valid JSON ({reason}; it begins {begin}); write {{"questions":[{{"question":"…","options":["A","B"]}}]}}"#)]
    NotJson {
        /// Error of the parser, with line and column.
        reason: String,
        /// First characters of the input, quoted.
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
        /// Number of questions.
        count: usize,
    },
    /// A value of the wrong type.
    #[error("{at}: expected {fits}, found {found}")]
    Wrong {
        /// Location of the value.
        at: At,
        /// Description of the value.
        found: String,
        /// Description of the expected value.
        fits: &'static str,
    },
    /// A required member is missing.
    #[error("{at} is missing: expected {fits}")]
    Missing {
        /// Location of the member.
        at: At,
        /// Description of the expected value.
        fits: &'static str,
    },
    /// Text without visible characters.
    #[error("{at} is {found}, which shows nothing; write 1 to {max} characters")]
    Blank {
        /// Location of the text.
        at: At,
        /// The text, quoted.
        found: String,
        /// Maximum length in characters.
        max: usize,
    },
    /// Text beyond its limit.
    #[error("{at} has {chars} characters ({found}), but the limit is {max}")]
    TooLong {
        /// Location of the text.
        at: At,
        /// Beginning of the text, quoted.
        found: String,
        /// Length in characters.
        chars: usize,
        /// Maximum length in characters.
        max: usize,
    },
    /// An empty list of options.
    #[error(
        "question {question} has no options; it takes 1 to {MAX_OPTIONS}, such as likely answers: the person can also \
         answer in words of their own. Or ask it in your reply instead of by a call"
    )]
    NoOptions {
        /// Number of the question, from 1.
        question: usize,
    },
    /// More than [`MAX_OPTIONS`].
    #[error("question {question} has {count} options, but the limit is {MAX_OPTIONS}")]
    TooManyOptions {
        /// Number of the question, from 1.
        question: usize,
        /// Number of options.
        count: usize,
    },
    /// Two options that look the same.
    #[error(
        "option {option} of question {question} has the label {label:?}, which looks like that of option {first}, but labels must differ"
    )]
    Duplicate {
        /// Number of the question, from 1.
        question: usize,
        /// Number of the option, from 1.
        option: usize,
        /// Number of the earlier option with this label, from 1.
        first: usize,
        /// The label.
        label: String,
    },
}

/// A location in the argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The complete argument.
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
