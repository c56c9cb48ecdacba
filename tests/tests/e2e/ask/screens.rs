//! Tests of the question screen as tmux renders it: `tests/screens/*.txt`.

use serde_json::json;

use super::ask;
use super::tmux::Tmux;

const TWO: &str = r#"[
    {"question":"Which database shall the service use?","header":"Database","options":[
        {"label":"SQLite","description":"A file beside the program; nothing to install."},
        {"label":"PostgreSQL","description":"A server of its own; many writers at a time, and a good deal more to look after."},
        "None"]},
    {"question":"Which parts shall be tested first?","header":"Tests","multiSelect":true,
        "options":["Parsing","Storage",{"label":"Network","description":"Needs a second machine."}]}]"#;

/// Wide, combining and right-to-left characters whose widths are the same in all terminals.
const WORLD: &str = r#"[{"question":"どの言語で説明しますか？ 👍 (cafe\u0301, שלום)","header":"言語","multiSelect":true,
    "options":[{"label":"日本語","description":"すべての説明を日本語で書きます。コードの中のコメントも同じです。"},
        "한국어 (韓國語)","English 👍","cafe\u0301 nai\u0308ve","עברית",
        {"label":"العربية","description":"من اليمين إلى اليسار"}]}]"#;

/// Flags, families and skin tones, which versions of tmux render differently.
const DISPUTED: &str =
    r#"[{"text":"Flag 🇬🇧 or family 👨‍👩‍👧‍👦?","options":["🇬🇧 flag","👨‍👩‍👧‍👦 family","👍🏽 thumb","❤️ heart"]}]"#;

#[test]
fn the_first_view() {
    for (width, height) in [(80, 24), (24, 12), (20, 6)] {
        let tmux = Tmux::with_pane(width, height);
        let mut server = tmux.serve();
        ask(&mut server, TWO);
        tmux.shows(&format!("first_{width}x{height}"));
    }
}

#[test]
fn a_pane_that_is_too_small_says_so_and_chooses_nothing() {
    for (width, height) in [(19, 6), (40, 5), (9, 2)] {
        let tmux = Tmux::with_pane(width, height);
        let mut server = tmux.serve();
        let id = ask(&mut server, TWO);
        tmux.shows(&format!("too_small_{width}x{height}"));
        tmux.press(&["Enter", "1", "Space", "Down", "x"]);
        tmux.run(&["resize-window", "-y", "49"]);
        tmux.resize(80, 24);
        tmux.shows("first_80x24");
        tmux.resize(width, height);
        tmux.shows(&format!("too_small_{width}x{height}"));
        tmux.press(&["Escape"]);
        assert_eq!(server.answer(id)["result"]["structuredContent"]["declined"], true);
    }
}

#[test]
fn wide_characters_take_two_cells() {
    for (width, height) in [(80, 18), (24, 12)] {
        let tmux = Tmux::with_pane(width, height);
        let mut server = tmux.serve();
        ask(&mut server, WORLD);
        let shows = |name: &str| tmux.shows(&format!("world_{name}_{width}x{height}"));
        shows("first");
        tmux.press(&["Down", "Up", "Space", "Down", "Down", "Space", "Down"]);
        shows("moved");
        tmux.press(&["Down", "Down", "Space"]);
        shows("right_to_left");
        tmux.press(&["Up", "Up", "Up", "Up", "Up"]);
        shows("back");
    }
}

#[test]
fn own_words_of_any_script_move_along_with_the_cursor() {
    let tmux = Tmux::with_pane(24, 12);
    let mut server = tmux.serve();
    let id = ask(&mut server, r#"[{"text":"名前は？","options":["甲","乙"]}]"#);
    tmux.listens_with("甲");
    tmux.press(&["End"]);
    tmux.write("日本e\u{301}👍");
    tmux.shows("written_24x12");
    tmux.press(&["Left", "Left", "Left"]);
    tmux.shows("written_left_24x12");
    tmux.press(&["BSpace"]);
    tmux.write("שלום");
    tmux.shows("written_between_24x12");
    tmux.press(&["End"]);
    tmux.write("語a");
    tmux.shows("written_longer_24x12");
    tmux.press(&["Home"]);
    tmux.shows("written_begin_24x12");
    tmux.press(&["C-k"]);
    tmux.paste("1 字\n2\t\u{1b}[31m字");
    tmux.shows("pasted_24x12");
    tmux.press(&["Enter"]);
    tmux.screen_with("Send");
    tmux.press(&["Enter"]);
    let answer = server.answer(id);
    let expected = json!([{"question": "名前は？", "selected": "1 字 2 字"}]);
    assert_eq!(answer["result"]["structuredContent"]["answers"], expected, "{answer}");
}

#[test]
fn another_size_leaves_no_remains() {
    for (name, questions, keys) in
        [("first", TWO, &["k"][..]), ("world_written", WORLD, &["End", "あ", "い"])]
    {
        let tmux = Tmux::with_pane(80, 24);
        let mut server = tmux.serve();
        ask(&mut server, questions);
        tmux.screen_with("Esc decline");
        tmux.press(keys);
        tmux.shows(&format!("{name}_80x24"));
        for (width, height) in [(24, 12), (80, 24), (79, 12), (80, 24)] {
            tmux.scribble("remains");
            tmux.resize(width, height);
            tmux.shows(&format!("{name}_{width}x{height}"));
        }
    }
}

#[test]
fn many_sizes_at_once_leave_the_last_one() {
    let tmux = Tmux::with_pane(80, 24);
    let mut server = tmux.serve();
    ask(&mut server, TWO);
    tmux.screen_with("Esc decline");
    for width in (24..=80).rev().chain(24..=80) {
        tmux.run(&["resize-window", "-x", &width.to_string()]);
    }
    tmux.shows("first_80x24");
    tmux.press(&["End"]);
    tmux.screen_with("Other: type your answer");
    tmux.press(&["Up", "Up", "Up"]);
    tmux.screen_with("> 1. ( ) SQLite");
}

#[test]
fn characters_whose_width_is_disputed_leave_no_remains() {
    let tmux = Tmux::with_pane(40, 14);
    let mut server = tmux.serve();
    ask(&mut server, DISPUTED);
    tmux.screen_with("Esc decline");
    tmux.press(&["Down", "Up"]);
    let first = tmux.screen_with("Enter choose");
    tmux.press(&["Down", "Down"]);
    tmux.screen_with("> 3.");
    tmux.press(&["End"]);
    tmux.write("🇬🇧👨‍👩‍👧👍🏽x");
    tmux.screen_with("(x)");
    tmux.press(&["BSpace", "BSpace", "BSpace", "BSpace"]);
    tmux.screen_with("Other: type your answer");
    tmux.scribble("remains");
    tmux.press(&["Up", "Up", "Up", "Up"]);
    tmux.is_again(&first);
}
