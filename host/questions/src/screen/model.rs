//! State of the screen and its event handling.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Size;

use super::draft::Draft;
use super::geometry::Geometry;
use super::page::{Page, SEND};
use super::place::{Extent, Place};
use super::wrap::is_uncertain;
use crate::answers::Answers;
use crate::questions::{Asker, Question, Questions};

/// Everything the user has entered so far.
#[derive(Debug, Clone)]
pub struct Model {
    questions: Questions,
    drafts: Vec<Draft>,
    /// Scroll positions: one for each question, and one for the review.
    places: Vec<Place>,
    /// `true` once a key was pressed that a user would not type for another program.
    has_begun: bool,
    tab: usize,
    size: Size,
    has_uncertain_questions: bool,
    keys: Keys,
    outcome: Option<Answers>,
}

/// Effect of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// Ignored, because they may be meant for the previous content of the terminal.
    ComeTooSoon,
    Count,
    /// Ignored, because the questions were withdrawn.
    ComeTooLate,
}

impl Model {
    /// Creates the state without answers, in a window of this size.
    pub fn new(questions: Questions, size: Size) -> Self {
        let drafts: Vec<_> = questions.as_slice().iter().map(Draft::of).collect();
        let places = vec![Place::default(); drafts.len() + 1];
        let has_uncertain_questions = questions.as_slice().iter().any(has_uncertain_widths);
        let (tab, has_begun, keys, outcome) = (0, false, Keys::Count, None);
        Self { questions, drafts, places, has_begun, tab, size, has_uncertain_questions, keys, outcome }
    }

    /// Creates the state with keys ignored until [`Self::settle`], because they may be meant for the previous
    /// content of the terminal.
    pub fn unsettled(questions: Questions, size: Size) -> Self {
        Self { keys: Keys::ComeTooSoon, ..Self::new(questions, size) }
    }

    /// Starts to accept keys.
    pub fn settle(&mut self) {
        self.keys = Keys::Count;
    }

    /// Ignores all further keys, because the answers are not wanted anymore.
    pub fn take_back(&mut self) {
        self.keys = Keys::ComeTooLate;
    }

    /// Returns the outcome, once there is one.
    pub fn outcome(&self) -> Option<&Answers> {
        self.outcome.as_ref()
    }

    /// Handles an event: a key, a paste, a new size.
    pub fn update(&mut self, event: &Event) {
        match event {
            Event::Key(_) | Event::Paste(_) if self.keys != Keys::Count => {}
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key),
            Event::Paste(text) => self.paste(text),
            Event::Resize(width, height) => self.resize(Size::new(*width, *height)),
            _ => {}
        }
    }

    pub(super) fn asker(&self) -> &Asker {
        self.questions.asker()
    }

    pub(super) fn questions(&self) -> &[Question] {
        self.questions.as_slice()
    }

    pub(super) fn drafts(&self) -> &[Draft] {
        &self.drafts
    }

    pub(super) fn tab(&self) -> usize {
        self.tab
    }

    /// Returns the question of the current page; `None` on the review.
    pub(super) fn question(&self) -> Option<&Question> {
        self.questions().get(self.tab)
    }

    pub(super) fn place(&self) -> Place {
        self.places[self.tab]
    }

    /// Returns `true` if keys go into the free text.
    pub(super) fn is_writing(&self) -> bool {
        self.question().is_some_and(|question| self.place().focus == question.options.len())
    }

    /// Returns `true` if Enter chooses and sends. A user who types for another program also presses Enter
    /// after letters and digits, but not after keys that navigate a page.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Returns `true` if the question of the current page has an answer.
    pub(super) fn is_answered(&self) -> bool {
        self.drafts.get(self.tab).is_some_and(|draft| !draft.is_empty())
    }

    pub(super) fn keys(&self) -> Keys {
        self.keys
    }

    /// Returns `true` if some text may have a different width in other terminals.
    pub(super) fn has_uncertain_widths(&self) -> bool {
        self.has_uncertain_questions || self.drafts.iter().any(|draft| is_uncertain(draft.other.text()))
    }

    fn key(&mut self, key: KeyEvent) {
        let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        if key.code == KeyCode::Esc || is_interrupt {
            self.outcome = Some(Answers::Declined);
            return;
        }
        // In a window that shows nothing, no other key can be intentional.
        let Some(extent) = self.extent() else { return };
        if self.is_writing() && self.write(key, &extent) {
            return;
        }
        let moves = match key.code {
            KeyCode::Down | KeyCode::PageDown | KeyCode::Home | KeyCode::End => true,
            // On a question, Up may be the first key of a user who recalls a shell command.
            KeyCode::Up => self.question().is_none(),
            _ => false,
        };
        self.has_begun |= moves;
        let place = &mut self.places[self.tab];
        let last = extent.items.len() - 1;
        match key.code {
            KeyCode::Tab | KeyCode::Right => self.turn(1),
            KeyCode::BackTab | KeyCode::Left => self.turn(self.places.len() - 1),
            KeyCode::Down | KeyCode::Char('j') => place.down(&extent),
            KeyCode::Up | KeyCode::Char('k') => place.up(&extent),
            KeyCode::PageDown => place.page_down(&extent),
            KeyCode::PageUp => place.page_up(&extent),
            KeyCode::Home => *place = Place::default(),
            KeyCode::End => place.go_to(last, &extent),
            KeyCode::Char(digit @ '1'..='9') => self.pick(digit as usize - '1' as usize, &extent),
            // If the focused item is out of view, scroll to it before acting on it.
            KeyCode::Enter | KeyCode::Char(' ') if !place.sees_focus(&extent) => place.show(&extent),
            KeyCode::Enter if self.has_begun => self.enter(),
            KeyCode::Char(' ') if self.has_begun => self.space(),
            // A number key has chosen a visible option.
            KeyCode::Enter if self.drafts.get(self.tab).is_some_and(|draft| !draft.is_empty()) => {
                self.turn(1);
            }
            _ => {}
        }
    }

    /// Handles a key in the free text. Returns `true` if the editor uses the key.
    fn write(&mut self, key: KeyEvent, extent: &Extent) -> bool {
        let draft = &mut self.drafts[self.tab];
        let before = draft.other.text().len();
        if !draft.other.key(key) {
            return false;
        }
        if draft.other.text().len() != before {
            self.choose_other();
        }
        self.places[self.tab].show(extent);
        true
    }

    fn paste(&mut self, text: &str) {
        let Some(extent) = self.extent() else { return };
        if self.is_writing() {
            self.drafts[self.tab].other.paste(text);
            self.choose_other();
            self.places[self.tab].show(&extent);
        }
    }

    fn resize(&mut self, size: Size) {
        let before = self.extents();
        self.size = size;
        let after = self.extents();
        for (place, (before, after)) in self.places.iter_mut().zip(before.iter().zip(&after)) {
            let Some(after) = after else { continue };
            match before {
                Some(before) if !place.sees_focus(before) => place.clamp(after),
                _ => place.show(after),
            }
        }
    }

    /// Switches to another page, wrapping around at the end.
    fn turn(&mut self, steps: usize) {
        self.tab = (self.tab + steps) % self.places.len();
        if let Some(extent) = self.extent() {
            self.places[self.tab].clamp(&extent);
        }
    }

    /// Focuses an item by its index, and chooses it.
    fn pick(&mut self, item: usize, extent: &Extent) {
        if item >= extent.items.len() || self.question().is_none() {
            return;
        }
        self.places[self.tab].go_to(item, extent);
        self.space();
    }

    fn enter(&mut self) {
        let item = self.place().focus;
        match self.question() {
            None if item == SEND => self.send(),
            None => self.change(),
            Some(question) => {
                let is_several = question.multi_select;
                if self.is_writing() {
                    self.choose_other();
                } else if !is_several {
                    self.drafts[self.tab].choose(item);
                }
                self.turn(1);
            }
        }
    }

    fn space(&mut self) {
        let item = self.place().focus;
        match self.question() {
            None => self.enter(),
            Some(_) if self.is_writing() => {}
            Some(question) if question.multi_select => {
                let chosen = &mut self.drafts[self.tab].chosen[item];
                *chosen = !*chosen;
            }
            Some(_) => self.drafts[self.tab].choose(item),
        }
    }

    /// Makes the free text count, unless it is blank. It replaces the option of a single-choice question.
    fn choose_other(&mut self) {
        let is_several = self.question().is_some_and(|question| question.multi_select);
        self.drafts[self.tab].choose_other(is_several);
    }

    fn send(&mut self) {
        let pairs = self.drafts.iter().zip(self.questions());
        let answers = pairs.map(|(draft, question)| draft.answer(question)).collect();
        self.outcome = Some(Answers::Answered(answers));
    }

    /// Switches to the first unanswered question, or to the first question.
    fn change(&mut self) {
        self.places[self.tab].focus = SEND;
        self.tab = self.drafts.iter().position(Draft::is_empty).unwrap_or(0);
    }

    fn extent(&self) -> Option<Extent> {
        self.extent_of(self.tab)
    }

    fn extents(&self) -> Vec<Option<Extent>> {
        (0..self.places.len()).map(|tab| self.extent_of(tab)).collect()
    }

    fn extent_of(&self, tab: usize) -> Option<Extent> {
        let body = Geometry::of(self.size)?.body;
        Some(self.page_of(tab, body.width.into()).extent(body.height.into()))
    }

    /// Returns the current page, in lines of this width.
    pub(super) fn page(&self, width: usize) -> Page {
        self.page_of(self.tab, width)
    }

    fn page_of(&self, tab: usize, width: usize) -> Page {
        let focus = self.places[tab].focus;
        match self.questions().get(tab) {
            Some(question) => Page::of_question(question, &self.drafts[tab], focus, width),
            None => Page::of_review(self.questions(), &self.drafts, focus, width),
        }
    }
}

fn has_uncertain_widths(question: &Question) -> bool {
    let details =
        question.options.iter().flat_map(|option| [Some(&option.label), option.description.as_ref()]);
    details.chain([Some(&question.text), question.header.as_ref()]).flatten().any(|text| is_uncertain(text))
}
