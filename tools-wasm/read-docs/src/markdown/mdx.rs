//! MDX: Markdown with components.
//!
//! Component imports and exports of values are removed. A tag that is alone on its line is removed too. If it
//! names its content, the name stays as a bold line. Everything else is text.

use super::Fence;

/// Maximum number of lines of a tag.
const MAX_TAG_LINES: usize = 12;
/// Attributes that name a component's content, in order of preference.
const NAMES: [&str; 9] = ["title", "label", "header", "heading", "summary", "name", "path", "query", "value"];
/// Presentational attributes.
const LOOKS: [&str; 12] = [
    "icon",
    "color",
    "class",
    "classname",
    "id",
    "cols",
    "defaultopen",
    "style",
    "key",
    "img",
    "default",
    "width",
];

/// Returns the text without code for programs.
pub(super) fn plain(text: &str, path: &str) -> String {
    if !path.to_ascii_lowercase().ends_with(".mdx") && !has_components(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut fence = Fence::default();
    let mut before_is_blank = true;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if fence.holds(line) {
            out.push_str(line);
            before_is_blank = false;
            continue;
        }
        if before_is_blank && is_module(line) {
            // A module statement ends at an empty line.
            while lines.get(at).is_some_and(|line| !line.trim().is_empty()) {
                at += 1;
            }
            continue;
        }
        let trimmed = line.trim();
        before_is_blank = trimmed.is_empty();
        if trimmed.starts_with("{/*") && trimmed.ends_with("*/}") {
            continue;
        }
        match tag(&lines, at - 1) {
            Some((name, taken)) => {
                at = at - 1 + taken;
                if let Some(name) = name {
                    end_paragraph(&mut out);
                    out.push_str("**");
                    out.push_str(&name);
                    out.push_str("**\n\n");
                    while lines.get(at).is_some_and(|line| line.trim().is_empty()) {
                        at += 1;
                    }
                }
                before_is_blank = true;
            }
            None => out.push_str(line),
        }
    }
    out
}

fn end_paragraph(out: &mut String) {
    let end = out.trim_end_matches(['\n', ' ']).len();
    out.truncate(end);
    if !out.is_empty() {
        out.push_str("\n\n");
    }
}

/// Returns `true` if components begin and end on their own lines.
fn has_components(text: &str) -> bool {
    let mut fence = Fence::default();
    let (mut begins, mut ends) = (false, false);
    for line in text.lines().filter(|line| !fence.holds(line)) {
        let line = line.trim();
        let named = |rest: &str| rest.starts_with(|c: char| c.is_ascii_uppercase());
        begins |= line.strip_prefix('<').is_some_and(named);
        ends |= line.ends_with('>') && line.strip_prefix("</").is_some_and(named);
        if begins && ends {
            return true;
        }
    }
    false
}

/// Returns `true` for `import x from 'y'` and `export const x = …`. No sentence begins like these.
fn is_module(line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("import ") {
        return rest.starts_with(['{', '*', '"', '\''])
            || rest.contains(" from '")
            || rest.contains(" from \"");
    }
    let Some(rest) = line.strip_prefix("export ") else { return false };
    let is_value = |word: &str| rest.strip_prefix(word).is_some_and(|rest| rest.contains(['=', '(', '{']));
    rest.starts_with('{')
        || ["const ", "let ", "var ", "function ", "default ", "async "].into_iter().any(is_value)
}

/// Parses a component's tag that is alone on its lines, and returns its name and its number of lines. A
/// self-closing tag stays, because it may contain the only text.
fn tag(lines: &[&str], at: usize) -> Option<(Option<String>, usize)> {
    let first = lines.get(at)?.trim();
    let is_component = |rest: &str| rest.starts_with(|c: char| c.is_ascii_uppercase());
    if let Some(rest) = first.strip_prefix("</") {
        return (is_component(rest) && rest.find('>') == Some(rest.len() - 1)).then_some((None, 1));
    }
    if !first.strip_prefix('<').is_some_and(is_component) {
        return None;
    }
    let mut whole = String::new();
    for (count, line) in lines.iter().skip(at).take(MAX_TAG_LINES).enumerate() {
        whole.push_str(line.trim());
        if whole.ends_with('>') {
            let inner = whole.strip_prefix('<')?.strip_suffix('>')?;
            let is_tag = !inner.ends_with('/') && !outside_quotes(inner).contains(['<', '>']);
            return is_tag.then(|| (named(inner), count + 1));
        }
        whole.push(' ');
    }
    None
}

fn outside_quotes(text: &str) -> String {
    text.split(['"', '\'']).step_by(2).collect::<String>().replace("=>", "")
}

/// Returns the name in a tag, with its other attributes.
fn named(tag: &str) -> Option<String> {
    let attributes = attributes(tag);
    let by_name = NAMES
        .iter()
        .find_map(|name| attributes.iter().position(|(known, _)| known.eq_ignore_ascii_case(name)));
    let component = tag.split_whitespace().next().unwrap_or_default();
    let Some(by_name) = by_name else {
        // `<Warning>` names itself.
        const KINDS: [&str; 8] =
            ["Note", "Warning", "Tip", "Info", "Caution", "Danger", "Check", "Important"];
        return KINDS.contains(&component).then(|| component.to_owned());
    };
    let name = attributes.get(by_name).map(|(_, value)| value.clone())?;
    let is_other = |(at, (known, _)): &(usize, &(String, String))| {
        *at != by_name
            && !LOOKS.contains(&known.to_ascii_lowercase().as_str())
            && !NAMES.contains(&known.as_str())
    };
    let others = attributes.iter().enumerate().filter(is_other);
    let others: Vec<String> = others
        .map(|(_, (known, value))| if value.is_empty() { known.clone() } else { format!("{known}: {value}") })
        .collect();
    Some(if others.is_empty() { name } else { format!("{name} ({})", others.join(", ")) })
        .filter(|name| !name.is_empty())
}

/// Parses attributes such as `a="b" c='d' e={f} g`.
fn attributes(tag: &str) -> Vec<(String, String)> {
    const MOST: usize = 20;
    let mut found = Vec::new();
    let mut rest = tag.split_once(char::is_whitespace).map_or("", |(_, rest)| rest).trim_start();
    while !rest.is_empty() && found.len() < MOST {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let (value, after) = match after.strip_prefix('=') {
            Some(after) => value(after),
            None => ("", after),
        };
        if !name.is_empty() {
            found.push((name.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
        rest = after.trim_start();
    }
    found
}

fn value(text: &str) -> (&str, &str) {
    let closing = match text.chars().next() {
        Some('{') => '}',
        Some(quote @ ('"' | '\'')) => quote,
        _ => return text.split_once(char::is_whitespace).unwrap_or((text, "")),
    };
    let inner = text.get(1..).unwrap_or_default();
    inner.split_once(closing).unwrap_or((inner, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_leave_their_names() {
        let file = "import Tabs from '@theme/Tabs';\nimport {\n  a,\n} from \"x\";\n\nexport const meta = {\n  a: 1,\n};\n\n# Start\n\n\
            Import ports from 'files' first.\n\n<Tabs>\n<Tab title=\"npm\" icon=\"box\">\n\n```sh\nimport x from 'y'\n<Tab>\n```\n\n</Tab>\n</Tabs>\n\n\
            {/* hidden */}\n<Warning>\n  Take care.\n</Warning>\n\n<Image src=\"a.png\" />\n\n\
            <ParamField\n  path=\"port\"\n  type=\"string\"\n  required\n>\n  The port.\n</ParamField>\n";
        let wanted = "# Start\n\nImport ports from 'files' first.\n\n**npm**\n\n```sh\nimport x from 'y'\n<Tab>\n```\n\n\
            **Warning**\n\n  Take care.\n\n<Image src=\"a.png\" />\n\n**port (type: string, required)**\n\n  The port.\n";
        assert_eq!(plain(file, "/x.mdx").trim_start(), wanted);
    }

    #[test]
    fn markdown_without_components_stays_as_it_is() {
        let file =
            "import the data from 'a'\n\n<div>\n\nVec<T>\n\n</div>\n\n<T>\n\nexport default settings\n";
        assert_eq!(plain(file, "/x.md"), file);
        assert_eq!(
            plain("export the table (of ports).\n\nexport defaults\n", "/x.mdx"),
            "export the table (of ports).\n\nexport defaults\n"
        );
    }

    #[test]
    fn odd_tags_are_text() {
        for line in ["<A", "<A>b</A>", "<A b={c => d} />", "</>", "</A", "<A><B>", "< A>", "<A>>", "</A>>"] {
            assert_eq!(plain(line, "/x.mdx"), line, "{line}");
        }
    }
}
