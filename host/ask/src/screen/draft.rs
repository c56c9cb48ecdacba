//! The answer to one question while it is being made.

use super::editor::Editor;
use crate::answers::Answer;
use crate::questions::Question;

/// An answer that is being made.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) chosen: Vec<bool>,
    pub(super) other: Editor,
    /// Own words count; they stay when an option is chosen instead.
    other_chosen: bool,
}

impl Draft {
    /// Nothing chosen yet.
    pub(super) fn of(question: &Question) -> Self {
        Self { chosen: vec![false; question.options.len()], ..Self::default() }
    }

    pub(super) fn has_other(&self) -> bool {
        self.other_chosen && !self.other.is_blank()
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.has_other() && !self.chosen.contains(&true)
    }

    /// This option, and nothing else.
    pub(super) fn choose(&mut self, option: usize) {
        self.chosen.fill(false);
        self.chosen[option] = true;
        self.other_chosen = false;
    }

    /// Own words count, if there are any: beside options where there may be several answers.
    pub(super) fn choose_other(&mut self, is_several: bool) {
        self.other_chosen = !self.other.is_blank();
        if self.other_chosen && !is_several {
            self.chosen.fill(false);
        }
    }

    pub(super) fn answer(&self, question: &Question) -> Answer {
        let options = question.options.iter().zip(&self.chosen);
        let labels = options.filter(|(_, chosen)| **chosen).map(|(option, _)| option.label.as_str());
        let other = self.has_other().then(|| self.other.text());
        // Labels are the question's own, and the editor keeps its limit.
        Answer::new(question, labels, other).unwrap_or_default()
    }
}
