//! Minimal JSON parser, sufficient for the texts of the suite.

/// Returns the string value of an object's member, if it has one.
pub fn text(object: &str, name: &str) -> Option<String> {
    let (_, after) = object.split_once(&format!("\"{name}\""))?;
    let after = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let mut letters = after.chars();
    let mut text = String::new();
    loop {
        match letters.next()? {
            '"' => return Some(text),
            '\\' => match letters.next()? {
                'n' => text.push('\n'),
                other => text.push(other),
            },
            letter => text.push(letter),
        }
    }
}
