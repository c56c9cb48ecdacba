//! Spelling suggestions.

/// Maximum length in bytes of a compared word, because the comparison takes quadratic time.
const MAX_COMPARED_BYTES: usize = 128;

/// Returns the known word that is nearest to `written`, if it is near enough.
///
/// It permits one wrong, missing, extra or swapped letter for every three letters. Case is ignored.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let written = written.to_lowercase();
    let distance = |name: &str| strsim::osa_distance(&written, &name.to_lowercase());
    let near = known.into_iter().map(|name| (distance(name), name)).min_by_key(|(distance, _)| *distance);
    let letters = |text: &str| text.chars().count();
    // A single letter is equally far from any other.
    let is_near =
        |distance: usize, name: &str| distance <= (letters(name) / 3).max(1) && distance < letters(&written);
    near.filter(|(distance, name)| is_near(*distance, name)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        for (written, meant) in
            [("raed", "read"), ("comand", "command"), ("Command", "command"), ("timeot", "timeout")]
        {
            assert_eq!(nearest(written, ["read", "command", "timeout"]), Some(meant), "{written}");
        }
        for written in ["zzz", "", "c", "colour", &"x".repeat(200)] {
            assert_eq!(nearest(written, ["read", "command", "timeout"]), None, "{written}");
        }
    }
}
