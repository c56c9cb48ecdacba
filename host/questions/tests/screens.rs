//! Compares the screen as text with `tests/screens/*.txt`. `BLESS=1` rewrites these files.

use std::fmt::Write;
use std::path::Path;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::CellWidth;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Position;
use ratatui::style::{Color, Modifier};
use scorpiox_questions::screen::{Model, Theme, drive, view};
use scorpiox_questions::{Answer, Answers, Questions};

const TWO: &str = r#"[
    {"question":"Which database shall the service use?","header":"Database","options":[
        {"label":"SQLite","description":"A file beside the program; nothing to install."},
        {"label":"PostgreSQL","description":"A server of its own; many writers at a time, and a good deal more to look after."},
        "None"]},
    {"question":"Which parts shall be tested first?","header":"Tests","multiSelect":true,
        "options":["Parsing","Storage",{"label":"Network","description":"Needs a second machine."}]}]"#;

const CJK: &str = r#"[{"question":"どの言語で説明しますか？必要なら、下の欄に「ほかの言語」を書いてください。","header":"言語",
    "options":[{"label":"日本語","description":"すべての説明を日本語で書きます。コードの中のコメントも同じです。"},
        "中文","한국어 (韓國語)","English 👍"]}]"#;

/// A session on a terminal of a given size.
struct Session {
    model: Model,
    terminal: Terminal<TestBackend>,
    theme: Theme,
}

impl Session {
    fn new(json: &str, width: u16, height: u16) -> Self {
        let questions = Questions::parse(json).expect("questions");
        let terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        let size = terminal.size().expect("a size");
        Self { model: Model::new(questions, size), terminal, theme: Theme::Plain }
    }

    fn keys(mut self, keys: &str) -> Self {
        for event in keys.split_whitespace().flat_map(events) {
            self.model.update(&event);
        }
        self
    }

    fn model_size(&self) -> ratatui::layout::Size {
        self.terminal.size().expect("a size")
    }

    fn resize(mut self, width: u16, height: u16) -> Self {
        self.terminal.backend_mut().resize(width, height);
        self.model.update(&Event::Resize(width, height));
        self
    }

    fn draw(&mut self) {
        let (model, theme) = (&self.model, self.theme);
        self.terminal.draw(|frame| view(model, theme, frame)).expect("a drawing");
    }

    /// Returns the lines between bars, and the position of the cursor.
    fn text(&mut self) -> String {
        self.draw();
        let backend = self.terminal.backend();
        let buffer = backend.buffer();
        let mut text = String::new();
        for y in buffer.area.top()..buffer.area.bottom() {
            text.push('|');
            let mut x = buffer.area.left();
            while x < buffer.area.right() {
                let symbol = buffer[(x, y)].symbol();
                text.push_str(symbol);
                x += symbol.cell_width().max(1);
            }
            text.push_str("|\n");
        }
        if backend.cursor_visible() {
            let Position { x, y } = backend.cursor_position();
            let _ = writeln!(text, "cursor: column {x}, row {y}");
        }
        text
    }

    fn assert_screen(mut self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens").join(format!("{name}.txt"));
        let text = self.text();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &text).expect("written");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == expected, "{name} is now (BLESS=1 accepts it)\n{text}\nbut was\n{expected}");
    }
}

/// Converts a word to events: `tab`, `c-x` for a control key, `~text` for a paste; any other word is typed.
fn events(word: &str) -> Vec<Event> {
    let key = |code| vec![Event::Key(KeyEvent::from(code))];
    match word {
        "enter" => key(KeyCode::Enter),
        "esc" => key(KeyCode::Esc),
        "tab" => key(KeyCode::Tab),
        "backtab" => key(KeyCode::BackTab),
        "up" => key(KeyCode::Up),
        "down" => key(KeyCode::Down),
        "left" => key(KeyCode::Left),
        "right" => key(KeyCode::Right),
        "home" => key(KeyCode::Home),
        "end" => key(KeyCode::End),
        "pgup" => key(KeyCode::PageUp),
        "pgdn" => key(KeyCode::PageDown),
        "space" => key(KeyCode::Char(' ')),
        "backspace" => key(KeyCode::Backspace),
        _ if word.starts_with("c-") => {
            let letter = word.chars().nth(2).expect("a letter");
            vec![Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL))]
        }
        _ if word.starts_with('~') => vec![Event::Paste(word[1..].replace('_', "\n"))],
        _ => word.chars().flat_map(|character| key(KeyCode::Char(character))).collect(),
    }
}

fn many_options() -> String {
    let options: Vec<_> = (1..=20).map(|number| format!("\"Option number {number}\"")).collect();
    format!(r#"[{{"text":"Which of many?","options":[{}]}}]"#, options.join(","))
}

fn answered(questions: &str, answers: &[(&[&str], Option<&str>)]) -> Answers {
    let questions = Questions::parse(questions).expect("questions");
    let pairs = questions.as_slice().iter().zip(answers);
    let answers = pairs.map(|(question, (labels, other))| {
        Answer::new(question, labels.iter().copied(), *other).expect("an answer")
    });
    Answers::Answered(answers.collect())
}

#[test]
fn first_question() {
    Session::new(TWO, 80, 24).assert_screen("first_80x24");
    Session::new(TWO, 60, 12).keys("down").assert_screen("second_option_60x12");
    Session::new(TWO, 120, 14).keys("3 tab").assert_screen("several_120x14");
}

#[test]
fn several_options_and_own_words() {
    Session::new(TWO, 60, 12)
        .keys("tab space down down space end ~abc_def")
        .assert_screen("several_own_words_60x12");
}

#[test]
fn narrow_and_low() {
    Session::new(TWO, 20, 6).assert_screen("first_20x6");
    Session::new(TWO, 20, 6).keys("end an-answer-too-long-to-be-seen").assert_screen("own_words_20x6");
    Session::new(TWO, 20, 6).keys("down down down down").assert_screen("scrolled_20x6");
    Session::new(TWO, 39, 10).assert_screen("first_39x10");
}

#[test]
fn too_small() {
    Session::new(TWO, 19, 6).assert_screen("too_small_19x6");
    Session::new(TWO, 40, 5).assert_screen("too_small_40x5");
    Session::new(TWO, 3, 1).assert_screen("too_small_3x1");
    // Nothing out of view can be chosen.
    let session = Session::new(TWO, 19, 6).keys("enter 1 space down").resize(80, 24);
    session.assert_screen("first_80x24");
}

#[test]
fn wide_characters() {
    Session::new(CJK, 60, 14).keys("down").assert_screen("cjk_60x14");
    Session::new(CJK, 24, 12).keys("end 中文も書く left").assert_screen("cjk_24x12");
}

#[test]
fn a_long_list() {
    Session::new(&many_options(), 50, 12).assert_screen("list_begin_50x12");
    Session::new(&many_options(), 50, 12).keys("pgdn").assert_screen("list_page_50x12");
    Session::new(&many_options(), 50, 12).keys("end up enter up").assert_screen("list_review_50x12");
    Session::new(&many_options(), 50, 12).keys("end up space").assert_screen("list_end_50x12");
}

#[test]
fn the_review() {
    Session::new(TWO, 60, 16).keys("2 tab 1 3 end more tab").assert_screen("review_60x16");
    Session::new(TWO, 60, 16).keys("backtab").assert_screen("review_empty_60x16");
    Session::new(TWO, 24, 8).keys("2 tab 1 tab end").assert_screen("review_24x8");
}

#[test]
fn a_new_size_keeps_the_option_in_sight() {
    let session = Session::new(&many_options(), 50, 24).keys("end up").resize(24, 8);
    session.assert_screen("resized_24x8");
}

#[test]
fn enter_chooses_and_goes_on_until_sent() {
    let session = Session::new(TWO, 80, 24).keys("down enter space j space enter enter");
    let expected = answered(TWO, &[(&["PostgreSQL"], None), (&["Parsing", "Storage"], None)]);
    assert_eq!(session.model.outcome(), Some(&expected));
}

#[test]
fn own_words_take_the_place_of_an_option_and_give_it_back() {
    for (keys, labels, other) in [
        ("1 end abc", &[] as &[&str], Some("abc")),
        ("end abc up space", &["None"], None),
        ("end abc up space down enter", &[], Some("abc")),
        ("2 end abc backspace backspace backspace", &[], None),
        ("2 end c-u", &["PostgreSQL"], None),
        ("end jk1 space 2", &[], Some("jk1 2")),
        ("4 ~a_b", &[], Some("a b")),
    ] {
        let mut session = Session::new(TWO, 80, 24).keys(keys);
        while !session.text().contains("Send") {
            session = session.keys("tab");
        }
        let session = session.keys("up enter");
        let expected = answered(TWO, &[(labels, other), (&[], None)]);
        assert_eq!(session.model.outcome(), Some(&expected), "{keys}");
    }
}

#[test]
fn escape_and_control_c_decline_everywhere() {
    for keys in ["esc", "c-c", "end abc esc", "end abc c-c", "backtab esc"] {
        let session = Session::new(TWO, 80, 24).keys(keys);
        assert_eq!(session.model.outcome(), Some(&Answers::Declined), "{keys}");
    }
    let session = Session::new(TWO, 10, 2).keys("esc");
    assert_eq!(session.model.outcome(), Some(&Answers::Declined));
}

#[test]
fn change_goes_to_what_has_no_answer() {
    let mut session = Session::new(TWO, 80, 24).keys("1 backtab down enter");
    assert!(session.text().contains("Which parts"));
    let mut session = Session::new(TWO, 80, 24).keys("1 tab 1 tab down enter");
    assert!(session.text().contains("Which database"));
}

#[test]
fn enter_on_an_option_out_of_sight_only_shows_it() {
    let json = format!(r#"[{{"text":"{}","options":["A","B"]}}]"#, "word ".repeat(60).trim());
    let mut session = Session::new(&json, 40, 8).keys("down enter");
    assert!(session.text().contains("> 1. ( ) A"));
    let mut session = session.keys("enter");
    assert!(session.text().contains("- A"));
}

#[test]
fn what_is_typed_for_a_shell_answers_nothing() {
    for typed in [
        "git space commit enter y enter enter enter",
        "make space -j2 enter enter enter 1 enter 2 enter enter",
        "up enter enter up up enter",
        "l tab tab enter enter tab enter",
        "~yes_yes_ enter space enter",
    ] {
        let session = Session::new(TWO, 80, 24).keys(typed);
        assert_eq!(session.model.outcome(), None, "{typed}");
    }
}

#[test]
fn keys_that_come_too_soon_or_too_late_do_nothing() {
    let mut session = Session::new(TWO, 80, 24);
    session.model = Model::unsettled(Questions::parse(TWO).expect("questions"), session.model_size());
    let mut session = session.keys("down enter space enter enter esc c-c");
    assert!(session.text().contains("One moment") && session.model.outcome().is_none());
    session.model.settle();
    let mut session = session.keys("down");
    assert!(session.text().contains("> 2. ( ) PostgreSQL"));
    session.model.take_back();
    let mut session = session.keys("enter enter up enter esc");
    assert!(session.text().contains("Taken back, nothing is sent: Esc closes"));
    assert_eq!(session.model.outcome(), None);
}

#[test]
fn colours_are_an_addition() {
    for (theme, colour) in [(Theme::Colour, Color::Magenta), (Theme::Plain, Color::Reset)] {
        let mut session = Session::new(TWO, 80, 24);
        session.theme = theme;
        session.draw();
        let buffer = session.terminal.backend().buffer();
        let focused = &buffer[(1, 5)];
        assert_eq!((focused.symbol(), focused.fg), (">", colour));
        assert!(focused.modifier.contains(Modifier::BOLD));
        assert!(buffer[(3, 1)].modifier.contains(Modifier::REVERSED), "the open tab");
        assert!(!buffer[(20, 1)].modifier.contains(Modifier::REVERSED), "another tab");
    }
}

#[test]
fn no_color_is_heeded_unless_it_is_empty() {
    assert_eq!(Theme::from_no_color(None), Theme::Colour);
    assert_eq!(Theme::from_no_color(Some("".as_ref())), Theme::Colour);
    assert_eq!(Theme::from_no_color(Some("1".as_ref())), Theme::Plain);
}

#[test]
fn drive_ends_with_the_answers_or_with_the_events() {
    for (keys, expected) in [
        ("1 tab 1 tab up enter", answered(TWO, &[(&["SQLite"], None), (&["Parsing"], None)])),
        ("1", Answers::Declined),
    ] {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
        let questions = Questions::parse(TWO).expect("questions");
        let mut events = keys.split_whitespace().flat_map(events);
        let answers = drive(&questions, Theme::Plain, &mut terminal, || Ok(events.next()));
        assert_eq!(answers.expect("no error"), expected);
    }
}
