//! The answer to a question while the user edits it.

use super::editor::Editor;
use crate::answers::Answer;
use crate::questions::Question;

/// An answer being edited.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) chosen: Vec<bool>,
    pub(super) other: Editor,
    /// `true` if the free text counts. The text is kept when an option is chosen instead.
    other_chosen: bool,
}

impl Draft {
    /// Creates an empty draft.
    pub(super) fn of(question: &Question) -> Self {
        Self { chosen: vec![false; question.options.len()], ..Self::default() }
    }

    pub(super) fn has_other(&self) -> bool {
        self.other_chosen && !self.other.is_blank()
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.has_other() && !self.chosen.contains(&true)
    }

    /// Chooses this option only.
    pub(super) fn choose(&mut self, option: usize) {
        self.chosen.fill(false);
        self.chosen[option] = true;
        self.other_chosen = false;
    }

    /// Makes the free text count, unless it is blank. It replaces the options unless several answers are
    /// allowed.
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
        // Cannot fail: the labels are the question's own, and the editor enforces its limit.
        Answer::new(question, labels, other).unwrap_or_default()
    }
}
