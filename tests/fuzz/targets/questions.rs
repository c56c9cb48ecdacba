//! Fuzzes questions of a model and answers of a client.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_questions::{FormKind, Questions, form};

fuzz_target!(|input: (&str, &str)| {
    let (questions, answer) = input;
    let Ok(questions) = Questions::parse(questions) else { return };
    // The displayed text must not control a terminal.
    assert!(!questions.to_text().chars().any(|c| c.is_control() && c != '\n'));
    for kind in [FormKind::Legacy2025_06, FormKind::Modern] {
        assert!(form::schema(&questions, kind)["properties"].is_object());
        if let Ok(value) = serde_json::from_str(answer)
            && let Ok(answers) = form::read(&questions, kind, &value)
        {
            assert!(answers.to_json(&questions)["answers"].is_array());
        }
    }
});
