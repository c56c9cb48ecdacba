//! Checks names of environment variables.

use crate::rule::{Invalid, shorten};

/// Returns why a variable may not be passed or set. Its value would decide which code runs, in every program
/// and before the program's own checks.
fn forbidden(name: &str) -> Option<&'static str> {
    const LOADER: &str = "the dynamic loader or the C library loads code by it";
    const BASH: &str = "bash runs code by it";
    const READING: &str = "bash reads commands otherwise by it";
    match name {
        "GCONV_PATH" | "LOCPATH" | "NLSPATH" | "GLIBC_TUNABLES" | "GETCONF_DIR" => Some(LOADER),
        "BASH_ENV" | "ENV" | "PROMPT_COMMAND" | "PS4" => Some(BASH),
        "SHELLOPTS" | "BASHOPTS" | "IFS" => Some(READING),
        _ if name.starts_with("LD_") || name.starts_with("DYLD_") => Some(LOADER),
        _ if name.starts_with("BASH_FUNC_") => Some(BASH),
        _ => None,
    }
}

/// Checks the name of an environment variable.
pub(super) fn check(name: &str) -> Result<(), Invalid> {
    let shown = shorten(name);
    if let Some(why) = forbidden(name) {
        let what = format!("variable \"{shown}\" cannot be passed or set: {why}");
        return Err(Invalid::new(what, "remove it"));
    }
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Ok(());
    }
    let fix = "write letters, digits and _, with no digit first";
    Err(Invalid::new(format!("\"{shown}\" is not the name of a variable"), fix))
}
