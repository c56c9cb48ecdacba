//! An ordinary program, built for WASI, as a tool: words in, text out.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use wasmtime::component::Val;
use wasmtime_wasi::I32Exit;

use crate::bindings::any_tool::exports::scorpiox::tool::tool::{ToolError, ToolResult};
use crate::bindings::any_tool::scorpiox::tool::types::Content;
use scorpiox_wasi::{Program, WasiState};

/// Whether an export is what a program starts with.
pub fn is_program(export: &str) -> bool {
    export.starts_with("wasi:cli/run@")
}

/// JSON Schema of the arguments.
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

/// The arguments of a call.
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

/// What a run came to.
pub(super) fn outcome(
    called: wasmtime::Result<()>,
    results: &[Val],
    wasi: &WasiState,
) -> wasmtime::Result<Result<ToolResult, ToolError>> {
    let code = match called {
        Ok(()) if matches!(results.first(), Some(Val::Result(Err(_)))) => 1,
        Ok(()) => 0,
        Err(error) => match error.downcast_ref::<I32Exit>() {
            Some(exit) => exit.0,
            None => return Err(error),
        },
    };
    let (mut printed, lost) = wasi.stdout.text();
    if lost > 0 {
        let all = printed.len() + lost;
        return Ok(Err(ToolError::Failed(format!(
            "The program printed {all} bytes; at most {} are a result.",
            printed.len()
        ))));
    }
    if code == 0 {
        if printed.is_empty() {
            printed.push_str("Done.");
        }
        return Ok(Ok(ToolResult { content: vec![Content::Text(printed)], structured: None }));
    }
    let said = wasi.said();
    Ok(Err(ToolError::Failed(format!("The program ended with exit code {code}.\n{said}"))))
}
