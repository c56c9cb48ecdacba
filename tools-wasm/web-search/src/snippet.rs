//! Titles and snippets: removes additions by engines, and compares texts.

/// Separators between a title and its site's name.
const SEPARATORS: [&str; 7] = [" - ", " | ", " – ", " — ", " · ", " :: ", " » "];
/// Minimum length of a text that is checked for duplication, in characters.
const MIN_DOUBLED: usize = 20;
/// Minimum number of words in a title that identifies a page.
const MIN_TITLE_WORDS: usize = 3;
/// Minimum number of words in a meaningful snippet.
const MIN_TEXT_WORDS: usize = 6;

/// Cleans a one-line title. A duplicate site name is removed.
pub(crate) fn title(line: &str) -> String {
    let line = dots(line);
    let line = once(&line).unwrap_or(line);
    for separator in SEPARATORS {
        let parts: Vec<&str> = line.split(separator).collect();
        if parts.len() < 2 {
            continue;
        }
        let mut kept: Vec<&str> = Vec::new();
        for part in parts {
            if kept.last().is_none_or(|last| last.trim().to_lowercase() != part.trim().to_lowercase()) {
                kept.push(part);
            }
        }
        return kept.join(separator);
    }
    line
}

/// Cleans a one-line snippet: removes its title or URL at the beginning, and duplicate sentences.
pub(crate) fn text(line: &str, title: &str) -> String {
    let line = dots(line);
    let line = line.trim_start_matches(['…', ' ', '·', '|', '›']).trim_start();
    let line = without_place(line);
    let line = without_title(line, title);
    let (date, rest) = dated(line);
    let rest = rest.trim_start_matches(['…', ' ']);
    // Some engines prepend the date to a text that begins with it.
    let rest = date.map_or(rest, |date| {
        let again = rest.strip_prefix(date).map(|again| again.trim_start_matches(SIGNS));
        again.filter(|again| !again.is_empty()).unwrap_or(rest)
    });
    let rest = once(rest).unwrap_or_else(|| rest.to_owned());
    match date {
        Some(date) if rest.is_empty() => date.to_owned(),
        Some(date) => format!("{date} · {rest}"),
        None => rest,
    }
}

/// Characters between a date and a text.
const SIGNS: [char; 9] = ['-', '–', '—', '·', '.', '…', ':', '|', ' '];

/// Replaces `...`, `. . .` and runs of them by a single ellipsis. Spaces around it stay.
fn dots(line: &str) -> String {
    let mut line = line.replace("...", "…");
    for (given, wanted) in [("….", "…"), ("……", "…"), ("… …", "…")] {
        while line.contains(given) {
            line = line.replace(given, wanted);
        }
    }
    line.trim_end_matches(" |").trim().to_owned()
}

/// Returns half of a text that consists of two equal halves.
fn once(line: &str) -> Option<String> {
    let count = line.chars().count();
    if count < MIN_DOUBLED {
        return None;
    }
    // There may be a space between the halves.
    let half = line.char_indices().nth(count / 2).map(|(at, _)| at)?;
    let (first, second) = line.split_at(half);
    let second = second.strip_prefix(' ').unwrap_or(second);
    let first = first.strip_suffix(' ').unwrap_or(first);
    (first == second && words(first).len() >= MIN_TITLE_WORDS).then(|| first.to_owned())
}

/// Removes a breadcrumb such as `https://example.com › docs › page` from the beginning.
fn without_place(line: &str) -> &str {
    let is_address = line.starts_with("http://") || line.starts_with("https://") || line.starts_with("www.");
    let has_parts = line.split(' ').nth(1) == Some("›");
    if !is_address || !has_parts {
        return line;
    }
    let mut rest = line;
    let mut is_first = true;
    while let Some((part, after)) = rest.split_once(' ') {
        if !is_first && part != "›" && !rest_is_path(line, rest) {
            break;
        }
        is_first = false;
        rest = after;
    }
    rest
}

/// Returns `true` if `rest`, a suffix of `line`, directly follows `› `.
fn rest_is_path(line: &str, rest: &str) -> bool {
    line[..line.len() - rest.len()].ends_with("› ")
}

/// Removes the title from the beginning, unless it is the complete text or the beginning of a sentence.
fn without_title<'a>(line: &'a str, title: &str) -> &'a str {
    let title = title.trim_end_matches('…').trim();
    if title.chars().count() < MIN_DOUBLED / 2 {
        return line;
    }
    let Some(rest) = line.strip_prefix(title) else { return line };
    let after = rest.trim_start_matches(SIGNS);
    let is_apart = rest.starts_with([' ', '.', ':', '|', '·', '-', '–', '—', '…']);
    let begins = after.starts_with(|c: char| c.is_uppercase() || c.is_numeric() || !c.is_ascii());
    if is_apart && begins && words(after).len() >= MIN_TITLE_WORDS { after } else { line }
}

/// Splits a date from the beginning of a text: `May 6, 2024 — …`, `2 days ago · …`, `2024-05-06: …`.
fn dated(line: &str) -> (Option<&str>, &str) {
    const MOST_WORDS: usize = 3;
    let ends: Vec<usize> = line.match_indices(' ').map(|(at, _)| at).take(MOST_WORDS + 1).collect();
    for end in ends.iter().rev() {
        let (front, rest) = line.split_at(*end);
        let bare = front.trim_end_matches(SIGNS);
        let sign = rest.trim_start();
        let is_parted = bare.len() < front.len() || sign.starts_with(['-', '–', '—', '·', '…', '|']);
        if is_parted && is_date(bare) {
            return (Some(bare), rest.trim_start_matches(SIGNS));
        }
    }
    (None, line)
}

fn is_date(text: &str) -> bool {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    const UNITS: [&str; 7] = ["second", "minute", "hour", "day", "week", "month", "year"];
    let lower = text.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split([' ', ',']).filter(|part| !part.is_empty()).collect();
    let is_number =
        |part: &str| !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_month = |part: &str| {
        part.len() <= 9
            && part.is_char_boundary(3)
            && part.get(..3).is_some_and(|start| MONTHS.contains(&start))
    };
    let is_unit = |part: &str| UNITS.contains(&part.trim_end_matches('s'));
    match parts.as_slice() {
        [number, unit, "ago"] => is_number(number) && is_unit(unit),
        [month, day, year] if is_month(month) => is_number(day) && is_number(year) && year.len() == 4,
        [day, month, year] if is_month(month) => is_number(day) && is_number(year) && year.len() == 4,
        [date] => {
            let parts: Vec<&str> = date.split(['-', '/', '.']).collect();
            parts.len() == 3
                && parts.iter().all(|part| is_number(part))
                && parts.iter().any(|part| part.len() == 4)
        }
        _ => false,
    }
}

/// Returns `true` if two titles match: they have the same words, or the longer one continues a cut title or
/// adds a site name.
pub(crate) fn same_title(one: &str, other: &str) -> bool {
    let (short, long) = if words(one).len() <= words(other).len() { (one, other) } else { (other, one) };
    let (few, many) = (words(short), words(long));
    if few.is_empty() {
        return false;
    }
    if few == many {
        return true;
    }
    let is_cut = short.trim_end().ends_with('…');
    let few = if is_cut { few.get(..few.len().saturating_sub(1)).unwrap_or_default() } else { &few[..] };
    if few.len() < MIN_TITLE_WORDS || !many.starts_with(few) {
        return false;
    }
    is_cut
        || SEPARATORS
            .iter()
            .any(|separator| long.rsplit_once(separator).is_some_and(|(front, _)| words(front) == few))
}

/// Returns `true` if two snippets match: they have the same words, or one begins with the other.
pub(crate) fn same_text(one: &str, other: &str) -> bool {
    let bare = |text: &str| words(dated(text).1);
    let (one, other) = (bare(one), bare(other));
    let (few, many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    // The last word may be cut.
    let whole = few.get(..few.len().saturating_sub(1)).unwrap_or_default();
    few.len() >= MIN_TEXT_WORDS && many.starts_with(whole)
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}
