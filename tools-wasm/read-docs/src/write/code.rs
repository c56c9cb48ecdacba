//! Writes code spans and code blocks.

/// Returns a code span, with as many backticks as its content requires.
pub(super) fn span(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    if text.is_empty() {
        return text;
    }
    let runs = runs_of_backticks(&text);
    let fence = "`".repeat((1..=runs.len() + 1).find(|length| !runs.contains(length)).unwrap_or(1));
    let is_padded = text.starts_with(' ') && text.ends_with(' ') && !text.trim().is_empty();
    let pad = if text.starts_with('`') || text.ends_with('`') || is_padded { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn runs_of_backticks(text: &str) -> Vec<usize> {
    let runs = text.split(|c| c != '`').map(str::len).filter(|length| *length > 0);
    let mut runs: Vec<usize> = runs.collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// Returns a code block, in a fence that its lines cannot close.
pub(super) fn block(text: &str, language: &str) -> String {
    let longest = text.lines().map(|line| {
        let line = line.trim_start();
        line.len() - line.trim_start_matches('`').len()
    });
    let fence = "`".repeat(longest.max().unwrap_or(0).max(2) + 1);
    let text = text.strip_suffix('\n').unwrap_or(text);
    format!("\n\n{fence}{language}\n{text}\n{fence}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_longer_than_what_is_in_them() {
        assert_eq!(span("a"), "`a`");
        assert_eq!(span("a`b``c"), "```a`b``c```");
        assert_eq!(span("`"), "`` ` ``");
        assert_eq!(block("x\n````\ny\n", "rust"), "\n\n`````rust\nx\n````\ny\n`````\n\n");
    }
}
