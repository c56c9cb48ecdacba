//! An ordinary WASI program as a tool: arguments and standard input in, text out.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use wasmtime::component::Val;

use super::printed::shown;
use crate::bindings::any_tool::exports::scorpiox::tool::tool::{ToolError, ToolResult};
use crate::bindings::any_tool::scorpiox::tool::types::Content;
use scorpiox_wasi::{Exit, Program, WasiState};

/// Returns `true` if an export is the entry point of a program.
pub fn is_program(export: &str) -> bool {
    export.starts_with("wasi:cli/run@")
}

/// Returns the JSON Schema of the arguments.
pub(super) fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "args": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Its arguments, without its name",
            },
            "stdin": { "type": "string", "description": "Its standard input" },
        },
        "additionalProperties": false,
    })
}

/// Decodes the arguments of a call.
pub(super) fn read(arguments: Map<String, Value>) -> Result<Program, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, default)]
    #[derive(Default)]
    struct Arguments {
        args: Vec<String>,
        stdin: String,
    }
    for (name, value) in &arguments {
        let is_text = |value: &Value| value.is_string();
        let fits = match name.as_str() {
            "args" => value.as_array().is_some_and(|args| args.iter().all(is_text)),
            "stdin" => value.is_string(),
            _ => return Err(format!("{name} is not known; expected args, stdin")),
        };
        if !fits {
            return Err(format!(
                "{name}: expected {}, found {value}",
                if name == "args" { "a list of texts" } else { "a text" }
            ));
        }
    }
    let Arguments { args, stdin } =
        serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())?;
    if args.iter().any(|arg| arg.contains('\0')) {
        return Err("args has a NUL character, which no argument can have".to_owned());
    }
    Ok(Program { args, stdin: stdin.into_bytes(), output_bytes: None })
}

/// Converts the end of a run to a result.
pub(super) fn outcome(
    called: wasmtime::Result<()>,
    results: &[Val],
    wasi: &WasiState,
    most: usize,
) -> wasmtime::Result<Result<ToolResult, ToolError>> {
    let exit = match called {
        Ok(()) if matches!(results.first(), Some(Val::Result(Err(_)))) => Exit::Failed,
        Ok(()) => Exit::Code(0),
        Err(error) => match error.downcast_ref::<Exit>() {
            Some(exit) => *exit,
            None => return Err(error),
        },
    };
    if exit == Exit::Code(0) {
        wasi.stdout.mark_shown();
        let mut text = shown(&wasi.stdout.printed(), most);
        if text.is_empty() {
            text.push_str("Done.");
        }
        return Ok(Ok(ToolResult { content: vec![Content::Text(text)], structured: None }));
    }
    wasi.mark_shown();
    let said = wasi.said();
    Ok(Err(ToolError::Failed(format!("The program ended with {exit}.\n{said}"))))
}

/// Description of the input and output of a program, for tools whose type does not describe them.
pub const TAKES: &str = "takes args (a list of strings) and stdin (a string), and gives what it prints";
