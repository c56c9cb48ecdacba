//! Answers of the user.

use serde_json::{Value, json};

use crate::clean::clean_lines;
use crate::questions::{Question, Questions};

/// Maximum length of an answer in the user's own words, in characters.
pub const MAX_OTHER_CHARS: usize = 2000;

/// Outcome of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answers {
    /// One answer for each question, in order.
    Answered(Vec<Answer>),
    /// The user declined, or closed the window.
    Declined,
}

/// Answer to one question. May be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    selected: Vec<String>,
    other: Option<String>,
}

/// Reason why a value is not an answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// No option has this label.
    #[error("{0:?} is none of the question's options")]
    Unknown(String),
    /// Several labels for a question that takes one.
    #[error("{0} options are chosen, but the question takes one")]
    Several(usize),
    /// Free text longer than [`MAX_OTHER_CHARS`].
    #[error("the text has {0} characters, but the limit is {MAX_OTHER_CHARS}")]
    TooLong(usize),
    /// The numbers of answers and questions differ.
    #[error("there are {answers} answers to {questions} questions")]
    Count {
        /// Number of answers.
        answers: usize,
        /// Number of questions.
        questions: usize,
    },
}

impl Answer {
    /// Creates an answer from option labels and free text. Labels are sorted in the order of the options.
    /// Text without visible characters is dropped.
    pub fn new<'a>(
        question: &Question,
        labels: impl IntoIterator<Item = &'a str>,
        other: Option<&str>,
    ) -> Result<Self, AnswerError> {
        let mut chosen = vec![false; question.options.len()];
        for label in labels {
            let index = question.options.iter().position(|option| option.label == label);
            chosen[index.ok_or_else(|| AnswerError::Unknown(label.to_owned()))?] = true;
        }
        let options = question.options.iter().zip(chosen);
        let selected: Vec<_> =
            options.filter(|(_, chosen)| *chosen).map(|(option, _)| option.label.clone()).collect();
        if selected.len() > 1 && !question.multi_select {
            return Err(AnswerError::Several(selected.len()));
        }
        let other = other.map(clean_lines).filter(|text| !text.is_empty());
        let chars = other.as_ref().map_or(0, |text| text.chars().count());
        if chars > MAX_OTHER_CHARS {
            return Err(AnswerError::TooLong(chars));
        }
        Ok(Self { selected, other })
    }

    /// Returns the labels of the chosen options, in their order.
    pub fn selected(&self) -> &[String] {
        &self.selected
    }

    /// Returns the free text that the user wrote instead of or in addition to choosing.
    pub fn other(&self) -> Option<&str> {
        self.other.as_deref()
    }

    /// Returns `true` if the question has no answer.
    pub fn is_empty(&self) -> bool {
        self.selected.is_empty() && self.other.is_none()
    }

    /// Returns the labels, followed by the free text.
    fn all(&self) -> impl Iterator<Item = &str> {
        self.selected.iter().map(String::as_str).chain(self.other())
    }

    fn to_text(&self) -> String {
        let chosen = self.selected.join("; ");
        match (self.selected.is_empty(), self.other()) {
            (true, None) => "Answer: none was given".to_owned(),
            (true, Some(text)) => format!("Answer, in their own words: {text}"),
            (false, None) => format!("Answer: {chosen}"),
            (false, Some(text)) => format!("Answer: {chosen}\nAnd in their own words: {text}"),
        }
    }
}

impl Answers {
    /// Creates the outcome with one answer for each question.
    pub fn answered(questions: &Questions, answers: Vec<Answer>) -> Result<Self, AnswerError> {
        let count = questions.as_slice().len();
        if answers.len() != count {
            return Err(AnswerError::Count { answers: answers.len(), questions: count });
        }
        Ok(Self::Answered(answers))
    }

    /// Returns `true` if exactly one question was answered, with exactly this option.
    pub fn is_only(&self, label: &str) -> bool {
        match self {
            Self::Answered(list) => {
                matches!(&list[..], [answer] if answer.selected() == [label] && answer.other().is_none())
            }
            Self::Declined => false,
        }
    }

    /// Returns the text that the user wrote instead of choosing an option of the first question.
    pub fn in_own_words(&self) -> Option<&str> {
        match self {
            Self::Answered(list) => list.first()?.other(),
            Self::Declined => None,
        }
    }

    /// Formats each question with its answer for the model.
    pub fn to_text(&self, questions: &Questions) -> String {
        let Self::Answered(answers) = self else {
            return "The person declined to answer.".to_owned();
        };
        let pair = |(question, answer): (&Question, &Answer)| {
            format!("Question: {}\n{}", question.text, answer.to_text())
        };
        questions.as_slice().iter().zip(answers).map(pair).collect::<Vec<_>>().join("\n\n")
    }

    /// Returns `{"answers":[{"question","selected"}]}`. `selected` is a string if one option can be chosen
    /// (`null` without an answer), otherwise an array. Free text appears among the labels.
    pub fn to_json(&self, questions: &Questions) -> Value {
        let Self::Answered(answers) = self else { return json!({"declined": true, "answers": []}) };
        let pair = |(question, answer): (&Question, &Answer)| {
            let all: Vec<_> = answer.all().collect();
            let selected = match all.as_slice() {
                _ if question.multi_select => json!(all),
                [] => Value::Null,
                [one] => json!(one),
                // A form can carry both a label and free text; neither must be lost.
                several => json!(several.join("; ")),
            };
            json!({"question": question.text, "selected": selected})
        };
        json!({"answers": questions.as_slice().iter().zip(answers).map(pair).collect::<Vec<_>>()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions() -> Questions {
        let json = r#"[{"text":"One?","options":["A","B"]},{"text":"Some?","options":["C","D","E"],"multiSelect":true}]"#;
        Questions::parse(json).unwrap()
    }

    fn answers(one: (&[&str], Option<&str>), some: (&[&str], Option<&str>)) -> Answers {
        let questions = questions();
        let answer = |index: usize, (labels, other): (&[&str], Option<&str>)| {
            Answer::new(&questions.as_slice()[index], labels.iter().copied(), other).unwrap()
        };
        Answers::answered(&questions, vec![answer(0, one), answer(1, some)]).unwrap()
    }

    #[test]
    fn json_has_a_text_for_one_and_an_array_for_several() {
        for (given, one, some) in [
            (answers((&["B"], None), (&["E", "C"], None)), json!("B"), json!(["C", "E"])),
            (answers((&[], Some("x")), (&["C"], Some(" y "))), json!("x"), json!(["C", "y"])),
            (answers((&["A"], Some("x")), (&[], None)), json!("A; x"), json!([])),
            (answers((&[], None), (&[], Some("\u{1b}[1m"))), json!(null), json!([])),
        ] {
            let expected = json!({"answers": [{"question": "One?", "selected": one}, {"question": "Some?", "selected": some}]});
            assert_eq!(given.to_json(&questions()), expected);
        }
        assert_eq!(Answers::Declined.to_json(&questions()), json!({"declined": true, "answers": []}));
    }

    #[test]
    fn text_says_what_was_chosen_and_what_was_written() {
        let text = answers((&[], Some("x")), (&["C", "D"], Some("y"))).to_text(&questions());
        assert_eq!(
            text,
            "Question: One?\nAnswer, in their own words: x\n\nQuestion: Some?\nAnswer: C; D\nAnd in their own words: y"
        );
        let text = answers((&["A"], None), (&[], None)).to_text(&questions());
        assert_eq!(text, "Question: One?\nAnswer: A\n\nQuestion: Some?\nAnswer: none was given");
        assert_eq!(Answers::Declined.to_text(&questions()), "The person declined to answer.");
    }

    #[test]
    fn what_was_not_asked_is_no_answer() {
        let questions = questions();
        let one = &questions.as_slice()[0];
        assert_eq!(Answer::new(one, ["a"], None), Err(AnswerError::Unknown("a".to_owned())));
        assert_eq!(Answer::new(one, ["A", "B"], None), Err(AnswerError::Several(2)));
        assert!(Answer::new(one, ["A", "A"], None).is_ok());
        let long = "x".repeat(MAX_OTHER_CHARS + 1);
        assert_eq!(Answer::new(one, [], Some(&long)), Err(AnswerError::TooLong(2001)));
        let count = AnswerError::Count { answers: 0, questions: 2 };
        assert_eq!(Answers::answered(&questions, Vec::new()), Err(count));
    }
}
