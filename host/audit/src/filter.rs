//! Filters for displaying audit lines.

use crate::uses::BUILT_IN;
use crate::{Record, Use};

/// Case-insensitive pattern in which `*` matches any text and `?` any single character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(Vec<char>);

impl Glob {
    /// Creates a pattern. Every text is valid.
    pub fn new(text: &str) -> Self {
        Self(text.to_lowercase().chars().collect())
    }

    /// Returns `true` if the text matches, or contains a pattern that has no `*` and no `?`.
    pub fn is_in(&self, text: &str) -> bool {
        if self.0.iter().any(|c| matches!(c, '*' | '?')) {
            return self.fits(text);
        }
        text.to_lowercase().contains(&self.0.iter().collect::<String>())
    }

    /// Returns `true` if the name matches.
    pub fn fits(&self, name: &str) -> bool {
        let name: Vec<char> = name.to_lowercase().chars().collect();
        let (mut at, mut reached) = (0, 0);
        // Last star, and the position in the name up to which it has matched.
        let mut star = None;
        while reached < name.len() {
            match self.0.get(at) {
                Some('*') => {
                    star = Some((at, reached));
                    at += 1;
                }
                Some(c) if *c == '?' || *c == name[reached] => {
                    at += 1;
                    reached += 1;
                }
                _ => {
                    let Some((stars, stood)) = star else { return false };
                    star = Some((stars, stood + 1));
                    (at, reached) = (stars + 1, stood + 1);
                }
            }
        }
        self.0[at..].iter().all(|c| *c == '*')
    }
}

/// Component to search for: the hash of the component, the hash of its plugin (as printed by `plugin hash`),
/// a prefix of either, or the ID of a built-in component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentId(String);

/// Minimum number of hash digits.
const LEAST_DIGITS: usize = 8;
/// Prefix of hashes in policies, and of plugin hashes in lines about decisions.
const SHA256: &str = "sha256:";

impl ComponentId {
    /// Returns `true` if the line contains the hash of the component or of its plugin.
    fn is_of(&self, record: &Record) -> bool {
        let is_it = |text: &str| text.starts_with(&self.0);
        let named = |used: &Use| used.what.rsplit_once(SHA256).is_some_and(|(_, hash)| is_it(hash));
        record.component.as_deref().is_some_and(is_it)
            || record.plugin.as_ref().is_some_and(|plugin| is_it(&plugin.hash))
            || record.uses.iter().any(named)
    }
}

impl std::str::FromStr for ComponentId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(SHA256).unwrap_or(text).to_ascii_lowercase();
        let is_hash =
            (LEAST_DIGITS..=64).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if is_hash || text.starts_with(BUILT_IN) {
            return Ok(Self(if is_hash { digits } else { text.to_owned() }));
        }
        Err("write the hash that `plugin hash` prints, or its first 8 digits, or built-in:DIGITS".to_owned())
    }
}

/// Conditions for a line to be shown. The default matches all lines.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Name of the tool.
    pub tool: Option<Glob>,
    /// Name of the client.
    pub client: Option<Glob>,
    /// Principal that called over HTTP.
    pub principal: Option<Glob>,
    /// User name or UID.
    pub user: Option<Glob>,
    /// Rule that decided about a use.
    pub rule: Option<String>,
    /// Text of that rule.
    pub rule_text: Option<Glob>,
    /// Component or plugin.
    pub component: Option<ComponentId>,
    /// Earliest start time, in milliseconds since the Unix epoch.
    pub since: Option<u64>,
    /// `true` to show only calls that failed.
    pub failed: bool,
    /// `true` to show only calls in which a use was denied.
    pub denied: bool,
    /// `true` to show only calls in which the name of a file was refused.
    pub hidden: bool,
    /// Workspace directory of the server.
    pub workspace: Option<String>,
}

impl Filter {
    /// Returns `true` if the line is shown.
    pub fn wants(&self, record: &Record) -> bool {
        let client = record.client.as_ref().map_or("", |client| &client.name);
        self.tool.as_ref().is_none_or(|tool| tool.fits(&record.tool))
            && self.client.as_ref().is_none_or(|wanted| wanted.fits(client))
            && self.principal.as_ref().is_none_or(|wanted| wanted.fits(&record.principal))
            && self.user.as_ref().is_none_or(|user| {
                user.fits(&record.user) || record.uid.is_some_and(|uid| user.fits(&uid.to_string()))
            })
            && self.rule.as_ref().is_none_or(|rule| record.uses.iter().any(|used| used.rule == *rule))
            && self
                .rule_text
                .as_ref()
                .is_none_or(|words| record.uses.iter().any(|used| words.is_in(&used.rule_text)))
            && self.component.as_ref().is_none_or(|component| component.is_of(record))
            && self.since.is_none_or(|since| crate::time::parse(&record.time).is_some_and(|at| at >= since))
            && self.workspace.as_ref().is_none_or(|workspace| *workspace == record.workspace)
            && (!self.failed || matches!(record.outcome.as_str(), "error" | "refused" | "fault"))
            && (!self.denied || record.denied().next().is_some() || record.more_denied > 0)
            && (!self.hidden || record.hidden().next().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_fit_whole_names() {
        for (glob, name, fits) in [
            ("Bash", "bash", true),
            ("Bash", "BackgroundBash", false),
            ("*bash", "BackgroundBash", true),
            ("kinds.*", "kinds.echo.text", true),
            ("kinds.*", "kinds", false),
            ("*.e*t", "kinds.echo.text", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
            ("?", "é", true),
            ("?", "", false),
            ("**", "", true),
            ("", "", true),
        ] {
            assert_eq!(Glob::new(glob).fits(name), fits, "{glob} {name}");
        }
    }

    #[test]
    fn a_plain_text_is_found_within_a_rule() {
        for (words, is_in) in [
            ("WebSearch", true),
            ("websearch", true),
            ("deny = [\"WebSearch\"]", true),
            ("*WebSearch*", true),
            ("deny*", true),
            ("WebSearch*", false),
            ("Web?earch", false),
            ("ReadDocs", false),
        ] {
            assert_eq!(Glob::new(words).is_in("deny = [\"WebSearch\"]"), is_in, "{words}");
        }
    }

    #[test]
    fn a_component_is_known_by_its_hash_also_in_lines_of_decisions() {
        let hash = "ab".repeat(32);
        let uses = format!(r#"[{{"capability":"plugins","what":"weather@sha256:{hash}","allowed":true}}]"#);
        let text = format!(r#"{{"tool":"plugin add","component":"cdcdcdcd","uses":{uses}}}"#);
        let record = Record::parse(&text).unwrap();
        for (asked, fits) in
            [(&*hash, true), ("sha256:ABABABAB", true), ("cdcdcdcd", true), ("efefefef", false)]
        {
            let filter = Filter { component: Some(asked.parse().unwrap()), ..Filter::default() };
            assert_eq!(filter.wants(&record), fits, "{asked}");
        }
        for bad in ["abab", "weather", &"a".repeat(65), "sha256:"] {
            assert!(bad.parse::<ComponentId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_line_has_to_have_everything() {
        let record = Record::parse(
            r#"{"time":"2026-11-22T02:00:00.000Z","workspace":"/w","tool":"ReadDocs","client":{"name":"claude"},"outcome":"error",
                "principal":"bob","user":"ana","uid":1000,"uses":[{"capability":"web","allowed":false,"rule":"policy.toml line 12","rule_text":"deny = [\"WebSearch\"]"}],
                "component":"abcdef0123456789"}"#,
        )
        .unwrap();
        let all = Filter {
            tool: Some(Glob::new("read*")),
            client: Some(Glob::new("claude")),
            principal: Some(Glob::new("b*")),
            user: Some(Glob::new("Ana")),
            rule: Some("policy.toml line 12".to_owned()),
            rule_text: Some(Glob::new("*WebSearch*")),
            component: Some("sha256:ABCDEF0123".parse().unwrap()),
            since: crate::time::parse("2026-11-22T02:00"),
            failed: true,
            denied: true,
            hidden: false,
            workspace: Some("/w".to_owned()),
        };
        assert!(all.wants(&record) && Filter::default().wants(&record));
        assert!(!all.wants(&Record { workspace: "/w/x".to_owned(), ..record.clone() }));
        assert!(!all.wants(&Record { principal: String::new(), ..record.clone() }));
        assert!(!all.wants(&Record { user: "anabel".to_owned(), ..record.clone() }));
        let by_number = Filter { user: Some(Glob::new("1000")), ..Filter::default() };
        assert!(by_number.wants(&record) && !by_number.wants(&Record { uid: Some(1), ..record.clone() }));
        let other_line = Filter { rule: Some("policy.toml line 1".to_owned()), ..Filter::default() };
        assert!(!other_line.wants(&record));
        assert!(!all.wants(&Record { outcome: "ok".to_owned(), ..record.clone() }));
        assert!(!all.wants(&Record { uses: Vec::new(), ..record.clone() }));
        assert!(!all.wants(&Record { component: Some("bbcdef0123456789".to_owned()), ..record.clone() }));
        let refused_names = Filter { hidden: true, ..Filter::default() };
        let refused = r#"{"tool":"Bash","outcome":"ok","uses":[{"capability":"files","hidden":true}]}"#;
        assert!(!refused_names.wants(&record) && refused_names.wants(&Record::parse(refused).unwrap()));
        let any_rule = Filter { rule: None, rule_text: None, ..all.clone() };
        assert!(any_rule.wants(&Record { uses: Vec::new(), more_denied: 1, ..record.clone() }));
        assert!(!all.wants(&Record { time: "2026-11-22T01:59:59.999Z".to_owned(), ..record.clone() }));
        assert!(!all.wants(&Record { time: String::new(), ..record }));
    }
}
