//! Validation of the query.

use scorpiox_tool_kit::{Args, Failure};

/// Maximum length of a query, in characters. Engines cut or refuse longer ones.
const MAX_CHARS: usize = 400;

/// Reads the query from the arguments, and trims it.
pub(crate) fn read(args: &Args<'_>) -> Result<String, Failure> {
    let query = args.trimmed("query")?.ok_or_else(|| {
        Failure::InvalidInput("query is missing; give the words to search the web for.".to_owned())
    })?;
    let length = query.chars().count();
    if length > MAX_CHARS {
        return Err(Failure::InvalidInput(format!(
            "query has {length} characters; the limit is {MAX_CHARS}. Search for fewer words."
        )));
    }
    if let Some(control) = query.chars().find(|c| c.is_control()) {
        return Err(Failure::InvalidInput(format!(
            "query contains the control character U+{:04X}; write it on one line, with spaces between words.",
            u32::from(control)
        )));
    }
    Ok(query)
}
