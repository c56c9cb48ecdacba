//! `AskUserQuestion`: asks the user through the best available channel.

use scorpiox_questions::{Answers, Questions};
use scorpiox_tool_kit::Args;

use scorpiox_audit::BUILT_IN;
use scorpiox_executor::Reason;
use serde_json::Value;

use crate::{Call, Definition, Failure, Hints, NativeTool, Output, OutputContent, schema};
use scorpiox_capabilities::ask::Asked;

pub(crate) struct AskUserQuestion;

impl NativeTool for AskUserQuestion {
    fn definition(&self) -> Definition {
        Definition {
            name: "AskUserQuestion".into(),
            title: "Ask the user".into(),
            description: "Ask interactive multiple-choice questions via TUI".to_owned(),
            input_schema: schema(
                r#"{"type":"object","properties":{"questions_json":{"type":"string","description":"JSON string with questions and options"}},"required":["questions_json"]}"#,
            ),
            output_schema: Some(schema(
                r#"{"type":"object","properties":{"answers":{"type":"array","items":{"type":"object","properties":{"question":{"type":"string"},"selected":{"type":["string","array","null"],"items":{"type":"string"}}},"required":["question","selected"]}},"declined":{"type":"boolean"}},"required":["answers"]}"#,
            )),
            hints: Hints { read_only: true, destructive: false, idempotent: false, open_world: false },
        }
    }

    fn may(&self) -> &'static str {
        "show a form in the client, or open a terminal or dialog of its own"
    }

    fn reads_files(&self) -> bool {
        false
    }

    fn call(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let args = Args::parse(call.arguments)?;
        let json = args.string("questions_json")?.ok_or_else(|| missing(call.arguments))?;
        let questions =
            Questions::parse(&json).map_err(|error| Failure::InvalidInput(format!("{error}.")))?;
        match call.host.ask(&questions, BUILT_IN) {
            Asked::Answered(answers) => Ok(output(&answers, &questions)),
            Asked::Cancelled | Asked::Later => Err(stopped(call, &questions)),
            Asked::NoWay(why) => Err(not_asked(&why, &questions)),
        }
    }
}

/// Returns the failure of a call without questions, which may have them as arguments of their own.
fn missing(arguments: &str) -> Failure {
    let given: serde_json::Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let instead =
        if given.contains_key("questions") { " the tool has no argument `questions`; give it" } else { "" };
    let shape = r#"{"questions":[{"question":"…","options":["A","B"]}]}"#;
    Failure::InvalidInput(format!("questions_json is missing:{instead} a JSON text such as {shape}."))
}

fn not_asked(why: &str, questions: &Questions) -> Failure {
    let text = questions.to_text();
    Failure::Failed(format!("The person could not be asked ({why}). Ask in the chat instead:\n\n{text}"))
}

fn stopped(call: &Call<'_>, questions: &Questions) -> Failure {
    match call.cancel.reason() {
        Some(Reason::Overdue) => {
            let within = call.answer_within.unwrap_or_default().as_secs();
            let why = format!(
                "there was no answer within {within} s, which is as long as a client waits that is not told \
                 of progress: setting ANSWER_WITHIN"
            );
            not_asked(&why, questions)
        }
        _ => Failure::Cancelled,
    }
}

fn output(answers: &Answers, questions: &Questions) -> Output {
    Output {
        content: vec![OutputContent::Text(answers.to_text(questions))],
        structured: Some(answers.to_json(questions).to_string()),
        is_error: false,
    }
}
