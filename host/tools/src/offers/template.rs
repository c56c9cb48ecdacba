//! URI templates: level 1 of RFC 6570, and `{+name}`.
//!
//! `{name}` matches one or more characters up to the next `/`, `?` or `#`, and `{+name}` one or more
//! characters of any kind.

/// Maximum number of variables.
const MAX_VARIABLES: usize = 8;

/// A parsed template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable { name: String, takes_all: bool },
}

impl Template {
    /// Parses a template.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let (inside, after) = after.split_once('}').ok_or("a brace is not closed")?;
            let takes_all = inside.starts_with('+');
            let name = inside.trim_start_matches('+');
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Err(format!("{{{inside}}} is no variable; write {{name}} or {{+name}}"));
            }
            if literal.contains('}') {
                return Err("a brace is not opened".to_owned());
            }
            let after_variable = matches!(parts.last(), Some(Part::Variable { .. }));
            if after_variable && literal.is_empty() {
                return Err(format!("nothing is between {{{inside}}} and the variable before it"));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            parts.push(Part::Variable { name: name.to_owned(), takes_all });
            rest = after;
        }
        if rest.contains('}') {
            return Err("a brace is not opened".to_owned());
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        let template = Self(parts);
        match template.variables().count() {
            0 => Err("it has no variable, as in notes://{name}; list it as a resource".to_owned()),
            count if count > MAX_VARIABLES => {
                Err(format!("it has {count} variables; the limit is {MAX_VARIABLES}"))
            }
            _ => Ok(template),
        }
    }

    /// Returns the names of the variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Variable { name, .. } => Some(name.as_str()),
            Part::Literal(_) => None,
        })
    }

    /// Returns `true` if a URI matches the template.
    pub fn fits(&self, uri: &str) -> bool {
        // Possible start positions of the current part.
        let mut begins = vec![false; uri.len() + 1];
        begins[0] = true;
        for part in &self.0 {
            let mut next = vec![false; uri.len() + 1];
            match part {
                Part::Literal(literal) => {
                    for (at, _) in begins.iter().enumerate().filter(|(_, begins)| **begins) {
                        if uri.as_bytes()[at..].starts_with(literal.as_bytes()) {
                            next[at + literal.len()] = true;
                        }
                    }
                }
                Part::Variable { takes_all, .. } => {
                    let mut is_inside = false;
                    for (at, byte) in uri.bytes().enumerate() {
                        is_inside |= begins[at];
                        is_inside &= *takes_all || !matches!(byte, b'/' | b'?' | b'#');
                        next[at + 1] = is_inside;
                    }
                }
            }
            begins = next;
        }
        begins[uri.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(template: &str, uri: &str) -> bool {
        Template::parse(template).expect("a template").fits(uri)
    }

    #[test]
    fn variables_stand_for_parts_of_addresses() {
        assert!(fits("test://template/{id}/data", "test://template/123/data"));
        assert!(fits("notes://{folder}/{name}.md", "notes://a/b.c.md"));
        assert!(fits("notes://{+path}", "notes://a/b?c"));
        assert!(fits("a:{x}-{y}", "a:1-2-3"));
        for (template, uri) in [
            ("test://template/{id}/data", "test://template//data"),
            ("test://template/{id}/data", "test://template/1/2/data"),
            ("test://template/{id}/data", "test://template/1/data/"),
            ("test://template/{id}/data", "xtest://template/1/data"),
            ("a:{x}-{y}", "a:1"),
            ("a:{x}", "a:"),
            ("a:{x}", "a:1#2"),
        ] {
            assert!(!fits(template, uri), "{template} {uri}");
        }
    }

    #[test]
    fn broken_templates_are_refused() {
        for (template, why) in [
            ("a://b", "has no variable"),
            ("a://{", "not closed"),
            ("a://}", "not opened"),
            ("a://}{x}", "not opened"),
            ("a://{}", "is no variable"),
            ("a://{x*}", "is no variable"),
            ("a://{?x}", "is no variable"),
            ("a://{x}{y}", "nothing is between"),
            ("a:{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}", "the limit is 8"),
        ] {
            let error = Template::parse(template).expect_err("refused");
            assert!(error.contains(why), "{template}: {error}");
        }
        let template = Template::parse("a:{x}/{+y}").expect("a template");
        assert_eq!(template.variables().collect::<Vec<_>>(), ["x", "y"]);
    }
}
