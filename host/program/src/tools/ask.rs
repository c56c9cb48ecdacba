//! `AskUserQuestion`: a question to the person, in the best way that is there.

use std::time::Duration;

use scorpiox_ask::{Answers, FormKind, Questions, form};
use scorpiox_tool_kit::Args;

use scorpiox_audit::BUILT_IN;
use scorpiox_executor::Reason;

use crate::capabilities::ask::Asked;
use crate::server::{Shown, Unanswered};
use crate::tools::{Call, Definition, Failure, Hints, NativeTool, Output, OutputContent, schema};

/// Who declines within this time has not read the questions: clients without a person do it for them.
const READING_TIME: Duration = Duration::from_secs(1);

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

    fn call(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let args = Args::parse(call.arguments)?;
        let json = args.string("questions_json")?.ok_or_else(|| {
            Failure("questions_json is missing: a JSON text such as {\"questions\":[{\"text\":\"Which?\",\"options\":[\"A\",\"B\"]}]}.".to_owned())
        })?;
        let questions = Questions::parse(&json).map_err(|error| Failure(format!("{error}.")))?;
        let mut failed = Vec::new();
        let forms = call.client.forms();
        if forms.is_some() {
            call.uses.allowed("ask", "the client's form", BUILT_IN);
        }
        match through_client(forms, |message, schema| call.client.show(message, schema), &questions) {
            Ok(Some(answers)) => return Ok(output(&answers, &questions)),
            Ok(None) => {}
            Err(Unanswered::Later | Unanswered::Cancelled) => return Err(stopped(call, &questions)),
            Err(error @ Unanswered::Failed(_)) => failed.push(format!("the client: {error}")),
            // A terminal or dialog would be opened before nobody, and waited for.
            Err(error @ Unanswered::NoPerson(_)) => {
                return Err(not_asked(&format!("the client: {error}"), &questions));
            }
        }
        match call.host.desk().ask(&questions, call.cancel, call.uses) {
            Asked::Answered(answers) => Ok(output(&answers, &questions)),
            Asked::Cancelled | Asked::Later => Err(stopped(call, &questions)),
            Asked::NoWay(why) => {
                failed.push(why);
                Err(not_asked(&failed.join("; "), &questions))
            }
        }
    }
}

fn not_asked(why: &str, questions: &Questions) -> Failure {
    let text = questions.to_text();
    Failure(format!("The person could not be asked ({why}). Ask in the chat instead:\n\n{text}"))
}

fn stopped(call: &Call<'_>, questions: &Questions) -> Failure {
    match call.cancel.reason() {
        Some(Reason::Overdue) => {
            let within = call.host.answer_within().unwrap_or_default().as_secs();
            let why = format!(
                "there was no answer within {within} s, which is as long as a client waits that is not told \
                 of progress: setting ANSWER_WITHIN"
            );
            not_asked(&why, questions)
        }
        _ => Failure("The call was cancelled.".to_owned()),
    }
}

/// Asks by the client's own form, which `show` does; nothing, where it shows none.
pub(crate) fn through_client(
    forms: Option<&'static str>,
    show: impl FnOnce(String, serde_json::Value) -> Result<Shown, Unanswered>,
    questions: &Questions,
) -> Result<Option<Answers>, Unanswered> {
    let Some(revision) = forms else { return Ok(None) };
    let kind = FormKind::of_revision(revision);
    let Shown { answer, after } = show(form::message(questions), form::schema(questions, kind))?;
    let answers = form::read(questions, kind, &answer);
    match answers.map_err(|error| Unanswered::Failed(error.to_string()))? {
        Answers::Declined if after < READING_TIME => Err(Unanswered::NoPerson(after)),
        answers => Ok(Some(answers)),
    }
}

fn output(answers: &Answers, questions: &Questions) -> Output {
    Output {
        content: vec![OutputContent::Text(answers.to_text(questions))],
        structured: Some(answers.to_json(questions).to_string()),
        is_error: false,
    }
}
