//! Tests of command output of any size and content.

use std::fs;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;

use super::support::{bash, bash_for, start};

/// Number of bytes that a result shows from the start and from the end.
const HEAD: usize = SHOWN / 3;
const TAIL: usize = SHOWN - HEAD;
/// Number of the 20,000 characters that are not reserved for notes and messages.
const SHOWN: usize = 20_000 - 2400 - 1500;

#[test]
fn a_long_output_shows_both_ends_and_names_the_file_with_all_of_it() {
    let program = Program::new();
    let mut server = start(&program);
    let ran = bash(&mut server, "seq 1 100000");
    let whole: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    let left_out = whole.len() - HEAD - TAIL;
    assert_eq!(ran.data["truncated_bytes"], left_out);
    assert!(ran.text.contains("\n[… 572,795 bytes left out …]\n"), "{}", ran.text);
    assert!(ran.text.trim_end().ends_with(".txt]"), "where it is stands last: {}", ran.text);
    assert!(ran.output().starts_with(&whole[..HEAD - 8]), "{}", ran.text);
    assert!(ran.output().ends_with(&whole[whole.len() - TAIL + 8..]), "{}", ran.text);
    assert!(ran.text.len() < HEAD + TAIL + 1024, "{}", ran.text.len());
    let path = ran.data["full_output_path"].as_str().expect("a path");
    assert!(ran.text.contains(path));
    assert_eq!(fs::read_to_string(path).expect("the file"), whole);
    // The model can read the file with the next command.
    assert_eq!(bash(&mut server, &format!("sed -n 50000p {path}")).succeeded(), "50000\n");
    assert!(bash(&mut server, &format!("echo changed >> {path}")).is_error);
    assert_eq!(fs::read_to_string(path).expect("the file").len(), whole.len());
}

#[test]
fn an_output_that_just_fits_is_whole() {
    let program = Program::new();
    let mut server = start(&program);
    for (bytes, left_out) in [(HEAD + TAIL, 0), (HEAD + TAIL + 1, 1)] {
        let ran = bash(&mut server, &format!("head -c {bytes} /dev/zero | tr '\\0' x"));
        assert_eq!(ran.data["truncated_bytes"], left_out);
        assert_eq!(ran.data["full_output_path"].is_null(), left_out == 0);
    }
}

#[test]
fn ten_gigabytes_of_output_pass_in_little_memory() {
    let program = Program::new();
    let mut server = start(&program);
    bash(&mut server, "true");
    let before = server.peak_kib().expect("Linux says it");
    let ran = bash_for(&mut server, "head -c 10G /dev/zero | tr '\\0' '\\n' 2>/dev/null", 600_000);
    assert_eq!(ran.exit_code(), 0, "{}", ran.text);
    assert_eq!(ran.data["truncated_bytes"], 10 * 1024 * 1024 * 1024_u64 - (HEAD + TAIL) as u64);
    assert!(server.peak_kib().expect("Linux says it") - before < 8 * 1024, "{before} KiB before");
    let path = ran.data["full_output_path"].as_str().expect("a path");
    assert_eq!(fs::metadata(path).expect("the file").len(), 64 * 1024 * 1024);
    assert!(ran.text.contains("the beginning of the output"), "{}", ran.text);
}

#[test]
fn output_without_end_is_ended_by_the_timeout_and_others_are_served_meanwhile() {
    let program = Program::new();
    let mut server = start(&program);
    let id = server.request(
        "tools/call",
        serde_json::json!({ "name": "Bash", "arguments": { "command": "yes", "timeout": 1000 } }),
    );
    let begin = Instant::now();
    server.ask("ping", serde_json::json!({}));
    assert!(begin.elapsed() < Duration::from_millis(500), "{:?}", begin.elapsed());
    let answer = server.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["timed_out"], true, "{answer}");
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn one_line_of_a_hundred_megabytes_is_output_like_any_other() {
    let program = Program::new();
    let mut server = start(&program);
    let ran = bash(&mut server, "head -c 100000000 /dev/zero | tr '\\0' a; echo end");
    assert!(ran.succeeded().ends_with("aend\n"));
    assert_eq!(ran.data["truncated_bytes"], 100_000_004 - HEAD - TAIL);
}

#[test]
fn bytes_that_are_no_text_are_shown_as_text_or_counted() {
    let program = Program::new();
    let mut server = start(&program);
    let ran = bash(&mut server, r"printf 'ok \xff\xfe \xe2\x82 end\n'");
    assert_eq!(ran.succeeded(), "ok \u{fffd}\u{fffd} \u{fffd} end\n");
    let ran = bash(&mut server, "head -c 5000 /dev/urandom; head -c 5000 /dev/zero");
    assert!(ran.output().len() < 300, "a summary: {}", ran.output());
    assert!(ran.output().starts_with("[binary output: 10,000 bytes; begins "), "{}", ran.output());
}

#[test]
fn a_character_that_comes_in_pieces_stays_whole() {
    let program = Program::new();
    let mut server = start(&program);
    let ran =
        bash(&mut server, r"for b in '\xf0' '\x9f' '\xa6' '\x82'; do printf $b; sleep 0.02; done; echo");
    assert_eq!(ran.succeeded(), "🦂\n");
}

#[test]
fn terminal_sequences_and_overwritten_lines_are_taken_out() {
    let program = Program::new();
    let mut server = start(&program);
    let command = r"printf '\033[31mred\033[0m \033]0;title\007plain\n'; printf '10%%\r50%%\r100%%\n'; printf 'a\bb\033[2J\033[H\n'; printf '\033]8;;http://x\033\\link\033]8;;\033\\\n'";
    let ran = bash(&mut server, command);
    assert!(ran.succeeded().starts_with("red plain\n100%\n"), "{:?}", ran.output());
    assert!(ran.output().ends_with("link\n"), "{:?}", ran.output());
    let strange: Vec<_> = ran.text.chars().filter(|c| c.is_control() && *c != '\n' && *c != '\t').collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn both_streams_come_in_the_order_they_were_written() {
    let program = Program::new();
    let mut server = start(&program);
    let ran = bash(&mut server, "for i in $(seq 200); do echo o$i; echo e$i >&2; done");
    let expected: String = (1..=200).map(|n| format!("o{n}\ne{n}\n")).collect();
    assert_eq!(ran.succeeded(), expected);
}
