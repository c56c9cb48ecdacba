//! The state of the screen, and what an event does to it.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Size;

use super::draft::Draft;
use super::geometry::Geometry;
use super::page::{Page, SEND};
use super::place::{Extent, Place};
use super::wrap::is_uncertain;
use crate::answers::Answers;
use crate::questions::{Asker, Question, Questions};

/// What the person has done so far.
#[derive(Debug, Clone)]
pub struct Model {
    questions: Questions,
    drafts: Vec<Draft>,
    /// One for each question, and one for the review.
    places: Vec<Place>,
    /// Whether a key was pressed that nobody types for another program.
    has_begun: bool,
    tab: usize,
    size: Size,
    has_uncertain_questions: bool,
    keys: Keys,
    outcome: Option<Answers>,
}

/// Whether keys do anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// They may be meant for what was there before.
    ComeTooSoon,
    Count,
    /// The questions were taken back.
    ComeTooLate,
}

impl Model {
    /// Nothing answered yet, in a window of this size.
    pub fn new(questions: Questions, size: Size) -> Self {
        let drafts: Vec<_> = questions.as_slice().iter().map(Draft::of).collect();
        let places = vec![Place::default(); drafts.len() + 1];
        let has_uncertain_questions = questions.as_slice().iter().any(has_uncertain_widths);
        let (tab, has_begun, keys, outcome) = (0, false, Keys::Count, None);
        Self { questions, drafts, places, has_begun, tab, size, has_uncertain_questions, keys, outcome }
    }

    /// Keys may be meant for what was here a moment ago: they count for nothing until [`Self::settle`].
    pub fn unsettled(questions: Questions, size: Size) -> Self {
        Self { keys: Keys::ComeTooSoon, ..Self::new(questions, size) }
    }

    /// From now on keys are meant for the questions.
    pub fn settle(&mut self) {
        self.keys = Keys::Count;
    }

    /// From now on keys count for nothing: nobody wants the answers any more.
    pub fn take_back(&mut self) {
        self.keys = Keys::ComeTooLate;
    }

    /// How it ended, once it has.
    pub fn outcome(&self) -> Option<&Answers> {
        self.outcome.as_ref()
    }

    /// Takes in what happened: a key, a paste, a new size.
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

    /// The question of the page; `None` on the review.
    pub(super) fn question(&self) -> Option<&Question> {
        self.questions().get(self.tab)
    }

    pub(super) fn place(&self) -> Place {
        self.places[self.tab]
    }

    /// Whether keys write own words.
    pub(super) fn is_writing(&self) -> bool {
        self.question().is_some_and(|question| self.place().focus == question.options.len())
    }

    /// Whether Enter chooses and sends. Who types for another program presses it, too, after letters
    /// and digits; but not after keys that move about a page.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the question of the page has an answer.
    pub(super) fn is_answered(&self) -> bool {
        self.drafts.get(self.tab).is_some_and(|draft| !draft.is_empty())
    }

    pub(super) fn keys(&self) -> Keys {
        self.keys
    }

    /// Whether there is text that terminals may measure differently.
    pub(super) fn has_uncertain_widths(&self) -> bool {
        self.has_uncertain_questions || self.drafts.iter().any(|draft| is_uncertain(draft.other.text()))
    }

    fn key(&mut self, key: KeyEvent) {
        let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        if key.code == KeyCode::Esc || is_interrupt {
            self.outcome = Some(Answers::Declined);
            return;
        }
        // In a window that shows nothing, nothing else can be meant.
        let Some(extent) = self.extent() else { return };
        if self.is_writing() && self.write(key, &extent) {
            return;
        }
        let moves = match key.code {
            KeyCode::Down | KeyCode::PageDown | KeyCode::Home | KeyCode::End => true,
            // On a question it would come first where a shell's last command is fetched.
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
            // Who acts on what is not seen is shown it first.
            KeyCode::Enter | KeyCode::Char(' ') if !place.sees_focus(&extent) => place.show(&extent),
            KeyCode::Enter if self.has_begun => self.enter(),
            KeyCode::Char(' ') if self.has_begun => self.space(),
            // A number chose something, which is seen.
            KeyCode::Enter if self.drafts.get(self.tab).is_some_and(|draft| !draft.is_empty()) => {
                self.turn(1);
            }
            _ => {}
        }
    }

    /// Whether the key went into the own words.
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

    /// To another page, around the end.
    fn turn(&mut self, steps: usize) {
        self.tab = (self.tab + steps) % self.places.len();
        if let Some(extent) = self.extent() {
            self.places[self.tab].clamp(&extent);
        }
    }

    /// Goes to an item by its number, and chooses it.
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

    /// Own words count, if there are any: instead of an option where there is one answer.
    fn choose_other(&mut self) {
        let is_several = self.question().is_some_and(|question| question.multi_select);
        self.drafts[self.tab].choose_other(is_several);
    }

    fn send(&mut self) {
        let pairs = self.drafts.iter().zip(self.questions());
        let answers = pairs.map(|(draft, question)| draft.answer(question)).collect();
        self.outcome = Some(Answers::Answered(answers));
    }

    /// To the first question without an answer, else to the first.
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

    /// The page that is shown, in lines of this width.
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
