use proptest::prelude::*;

use super::*;
use crate::description::MAX_BYTES;
use crate::{arguments, front_matter, hygiene};

/// Combines valid and invalid pieces of a `SKILL.md`.
fn skill_md() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "---\n",
        "---",
        "\n",
        "\r\n",
        "name: ",
        "description: ",
        "a: ",
        "&a ",
        "*a ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "- ",
        "? ",
        "| ",
        "> ",
        "\n  ",
        "'",
        "\"",
        "\\",
        "#",
        "!!str ",
        "%YAML 1.2\n",
        "\t",
        "\u{1b}[0m",
        "\u{1b}]0;",
        "\u{7}",
        "\u{202e}",
        "\u{e0041}",
        "\u{feff}",
        "é",
        "</skill_content>",
        "$0",
        "$ARGUMENTS",
        "$ARGUMENTS[1]",
        "\\$1",
        "${CLAUDE_SKILL_DIR}",
        "${CLAUDE_SESSION_ID}",
        "when_to_use: ",
        "arguments: ",
        "argument-hint: ",
        "disable-model-invocation: ",
        "$a",
        "</skill_file>",
        "text",
        "1.5",
        "<",
        "awk '",
    ]);
    let pieces = prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat().into_bytes());
    let framed = (pieces, any::<bool>()).prop_map(|(pieces, framed)| {
        let start: &[u8] = if framed { b"---\nname: x\ndescription: d\n" } else { b"" };
        [start, &pieces].concat()
    });
    prop_oneof![4 => framed, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in skill_md(), words in "[ -~é\n]{0,40}") {
        if let Ok(read) = front_matter::parse(&bytes) {
            prop_assert!(!read.description.is_empty() && !read.description.contains(char::is_control));
        }
        let folders = Folders::default().with("x", bytes);
        let catalogue = crate::catalogue::read(&folders);
        prop_assert_eq!(catalogue.skills.len() + catalogue.skipped.len(), 1);
        prop_assert!(definitions(&folders)[0].description.len() < MAX_BYTES);
        for skill in &catalogue.skills {
            serde_json::from_str::<serde_json::Value>(&skill.front_matter).expect("JSON");
            let _ = crate::inspect::inspect(&folders, skill.source.id, "a b");
            if !skill.fields.for_models {
                continue;
            }
            let text = invoked(&folders, &skill.name, &words);
            prop_assert_eq!(text.matches("</skill_content").count(), 1);
            prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }
        let _ = searched(&folders, &words);
    }

    #[test]
    fn cleaning_twice_is_cleaning_once(text in "[a-z\u{1b}\\[\\];0m\u{7}\u{9b}\u{9d}\u{9c}\u{202e}\n\t é]{0,60}") {
        let once = hygiene::line(&text).text;
        prop_assert_eq!(&hygiene::line(&once).text, &once);
        let once = hygiene::text(&text).text;
        prop_assert_eq!(&hygiene::text(&once).text, &once);
    }

    #[test]
    fn a_body_without_dollars_is_never_changed(body in "[^$]{0,200}") {
        let filled = arguments::fill(&body, &arguments::Given::default(), usize::MAX);
        prop_assert_eq!(filled.map(|filled| filled.text), Ok(body));
    }

    #[test]
    fn words_quoted_for_a_shell_come_back(words in prop::collection::vec("[a-z \"\\\\$é]{0,8}", 0..8)) {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        prop_assert_eq!(arguments::words(&quoted.join(" ")), words);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_set_of_skills_fits_the_description(
        skills in prop::collection::vec(("[a-zé -]{1,130}", "[a-zé漢 :]{1,300}"), 0..90)
    ) {
        let folders = skills.iter().fold(Folders::default(), |folders, (name, description)| {
            let json = serde_json::json!({"name": name, "description": description});
            folders.with(name, format!("---\n{json}\n---\n"))
        });
        let tools = definitions(&folders);
        prop_assert!(tools[0].description.len() < MAX_BYTES);
        prop_assert_eq!(&tools[0].description, &definitions(&folders)[0].description);
        let catalogue = crate::catalogue::read(&folders);
        if tools.len() == 1 {
            for skill in &catalogue.skills {
                let listed = format!("\n- {}: ", skill.name);
                prop_assert!(tools[0].description.contains(&listed));
            }
        }
    }
}
