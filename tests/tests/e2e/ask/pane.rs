//! Tests of answers from a tmux pane.

use serde_json::{Value, json};

use super::tmux::Tmux;
use super::{TWO, ask};

const THREE: &str = r#"{"questions":[
    {"question":"Which database?","header":"Database","options":[
        {"label":"SQLite","description":"a file"},{"label":"PostgreSQL","description":"a server"}]},
    {"question":"哪些语言？","header":"语言","multiSelect":true,"options":["中文","日本語","한국어"]},
    {"question":"What shall it be called?","header":"Name","options":["alpha","beta"]}]}"#;

#[test]
fn the_questions_get_a_pane_of_their_own() {
    let tmux = Tmux::with_pane(100, 20);
    let mut server = tmux.serve();
    let id = ask(&mut server, TWO);
    let screen = tmux.listens_with("Which colour?");
    assert!(screen.contains("Red") && screen.contains("Grün"), "{screen}");
    tmux.press(&["Down", "Enter"]);
    tmux.screen_with("Which sizes?");
    tmux.press(&["Space"]);
    tmux.press(&["Enter"]);
    tmux.screen_with("Send");
    tmux.press(&["Enter"]);
    let answer = server.answer(id);
    let expected = json!({"answers": [
        {"question": "Which colour?", "selected": "Grün"},
        {"question": "Which sizes?", "selected": ["S"]}
    ]});
    assert_eq!(answer["result"]["structuredContent"], expected, "{answer}");
    tmux.waits_for_one_pane();
}

#[test]
fn what_is_chosen_and_written_is_reviewed_and_sent() {
    let tmux = Tmux::with_pane(60, 18);
    let mut server = tmux.serve();
    let id = ask(&mut server, THREE);
    tmux.shows("three_first_60x18");
    tmux.press(&["Down", "Enter"]);
    tmux.shows("three_several_60x18");
    tmux.press(&["Space", "Down", "Down", "Space", "Down"]);
    tmux.write("Türkçe, עברית");
    tmux.shows("three_several_answered_60x18");
    tmux.press(&["Enter", "End"]);
    tmux.write("名前 👍");
    tmux.shows("three_own_words_60x18");
    tmux.press(&["Enter"]);
    tmux.shows("three_review_60x18");
    tmux.resize(24, 12);
    tmux.shows("three_review_24x12");
    tmux.resize(60, 18);
    tmux.shows("three_review_60x18");
    tmux.press(&["Enter"]);
    let answer = server.answer(id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let expected = json!({"answers": [
        {"question": "Which database?", "selected": "PostgreSQL"},
        {"question": "哪些语言？", "selected": ["中文", "한국어", "Türkçe, עברית"]},
        {"question": "What shall it be called?", "selected": "名前 👍"}
    ]});
    assert_eq!(answer["result"]["structuredContent"], expected, "{answer}");
    tmux.waits_for_one_pane();
}

#[test]
fn an_answer_is_changed_from_the_review() {
    let tmux = Tmux::with_pane(60, 18);
    let mut server = tmux.serve();
    let id = ask(&mut server, TWO);
    tmux.listens_with("Which colour?");
    tmux.press(&["1", "BTab"]);
    tmux.screen_with("1 question has no answer.");
    tmux.press(&["Down", "Enter"]);
    tmux.screen_with("Which sizes?");
    tmux.press(&["2", "Left", "2", "BTab", "Enter"]);
    let answer = server.answer(id);
    let expected = json!({"answers": [
        {"question": "Which colour?", "selected": "Grün"},
        {"question": "Which sizes?", "selected": ["L"]}
    ]});
    assert_eq!(answer["result"]["structuredContent"], expected, "{answer}");
}

/// Asserts that the user declined, which is not a tool error.
fn assert_declined(answer: &Value) {
    let result = &answer["result"];
    assert_eq!(result["isError"], false, "{answer}");
    assert_eq!(result["structuredContent"], json!({"declined": true, "answers": []}), "{answer}");
}

#[test]
fn escape_declines() {
    let tmux = Tmux::with_pane(40, 15);
    let mut server = tmux.serve();
    let id =
        ask(&mut server, r#"{"questions":[{"text":"Welche Größe? 大小","options":["klein 小","groß 大"]}]}"#);
    tmux.listens_with("klein 小");
    tmux.press(&["Escape"]);
    assert_declined(&server.answer(id));
    tmux.waits_for_one_pane();
}

#[test]
fn escape_declines_on_later_pages_and_takes_what_was_chosen_back() {
    for (keys, page) in [
        (&["Down", "Enter"][..], "Which sizes?"),
        (&["Down", "Up", "Enter", "End", "x"], "Other: x"),
        (&["Down", "Enter", "Space", "Enter"], "Send"),
    ] {
        let tmux = Tmux::with_pane(60, 18);
        let mut server = tmux.serve();
        let id = ask(&mut server, TWO);
        tmux.listens_with("Which colour?");
        tmux.press(keys);
        tmux.screen_with(page);
        tmux.press(&["Escape"]);
        assert_declined(&server.answer(id));
        tmux.waits_for_one_pane();
    }
}

#[test]
fn to_close_the_pane_is_to_decline() {
    let tmux = Tmux::with_pane(60, 18);
    let mut server = tmux.serve();
    let id = ask(&mut server, TWO);
    tmux.listens_with("Which colour?");
    tmux.press(&["Down", "Enter"]);
    tmux.screen_with("Which sizes?");
    tmux.close_pane();
    assert_declined(&server.answer(id));
    // The question does not reopen in another pane.
    assert_eq!(tmux.panes(), 1);
}

#[test]
fn a_cancelled_call_says_so_and_keeps_what_is_typed_until_escape() {
    let tmux = Tmux::with_pane(100, 20);
    let mut server = tmux.serve();
    let id = ask(&mut server, TWO);
    tmux.listens_with("Which colour?");
    tmux.press(&["End"]);
    server.notify("notifications/cancelled", json!({"requestId": id}));
    tmux.screen_with("Taken back, nothing is sent: Esc closes");
    tmux.write("touch x");
    tmux.press(&["Enter", "Enter"]);
    tmux.screen_with("Taken back, nothing is sent: Esc closes");
    assert_eq!(tmux.panes(), 2);
    tmux.press(&["Escape"]);
    tmux.waits_for_one_pane();
}

#[test]
fn keys_for_what_was_there_before_answer_nothing() {
    let tmux = Tmux::with_pane(80, 20);
    let mut server = tmux.serve();
    let id = ask(&mut server, TWO);
    // The user keeps typing from the moment at which the question appears.
    tmux.screen_with("Your AI model asks:");
    for _ in 0..4 {
        tmux.write("git commit");
        tmux.press(&["Enter", "y", "Enter", "2", "Enter", "Enter"]);
    }
    let screen = tmux.listens_with("Which colour?");
    assert!(screen.contains("> 1. ( ) Red") && screen.contains("Down or a number first"), "{screen}");
    // Later, too, keys that do not move the selection choose nothing.
    tmux.write("y");
    tmux.press(&["Enter", "Space", "Enter", "Down"]);
    tmux.screen_with("> 2. ( ) Grün");
    tmux.press(&["Escape"]);
    assert_declined(&server.answer(id));
}

#[test]
fn one_question_stands_at_a_time() {
    let tmux = Tmux::with_pane(80, 20);
    let mut server = tmux.serve();
    let ids = [0, 1, 2].map(|_| ask(&mut server, TWO));
    for _ in ids {
        tmux.listens_with("Which colour?");
        assert_eq!(tmux.panes(), 2);
        tmux.press(&["Escape"]);
        tmux.waits_for_one_pane();
    }
    // The order of the questions is unspecified.
    let mut left = ids.to_vec();
    while !left.is_empty() {
        let answer = server.next().expect("an answer");
        left.retain(|id| answer["id"] != *id);
        assert_declined(&answer);
    }
}

#[test]
fn without_space_for_a_pane_the_model_gets_the_questions_as_text() {
    let tmux = Tmux::with_window(40, 2, &["cat"]);
    let mut server = tmux.serve();
    let id = ask(&mut server, TWO);
    let result = server.answer(id)["result"].clone();
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("tmux pane: ") && text.contains("1. Which colour?"), "{text}");
}
