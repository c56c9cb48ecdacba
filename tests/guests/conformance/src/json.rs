//! As much of JSON as the suite's own texts need.

/// The text of a member of an object, if it is one.
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
