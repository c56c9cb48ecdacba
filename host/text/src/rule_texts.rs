//! Text of policy rules. Audit lines cite it with the line number, because the number alone is meaningless
//! once the file has changed.

use crate::line::clean;

/// Maximum length of a rule's text in bytes.
const MAX_BYTES: usize = 200;
/// Separator between file and line number in the name of a rule.
const LINE: &str = " line ";
/// Keys with secret values: keys of search engines, environment variables, and hashes of tokens.
const SECRET_KEYS: [&str; 3] = ["key", "set", "sha256"];
/// Substrings of keys with secret values.
const SECRET_WORDS: [&str; 3] = ["password", "secret", "token"];
/// Substrings of table headings whose values are all secret.
const SECRET_TABLES: [&str; 4] = [".set]", "secrets", "tokens", "engine"];

/// Texts of the policy files, by the file names that rules use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleTexts(Vec<(String, String)>);

impl RuleTexts {
    /// Creates the collection from pairs of a file name, as used by rules, and the file's text.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(files.into_iter().collect())
    }

    /// Returns the text of a rule named `FILE line NUMBER`, as a single bounded line without secrets.
    pub fn of(&self, rule: &str) -> Option<String> {
        let (file, number) = rule.rsplit_once(LINE)?;
        let number: usize = number.parse().ok()?;
        let (_, text) = self.0.iter().find(|(name, _)| name == file)?;
        let line = text.lines().nth(number.checked_sub(1)?)?;
        let before = || text.lines().take(number - 1).collect::<Vec<_>>();
        let shown = without_secrets(line.trim(), || heading(&before()).unwrap_or_default().to_owned());
        Some(clean(&shown, MAX_BYTES)).filter(|text| !text.is_empty())
    }

    /// Returns the distinct rules that a text names, each with its own text.
    pub fn cited(&self, text: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for (file, _) in &self.0 {
            let named = format!("{file}{LINE}");
            for (at, _) in text.match_indices(&named) {
                // The name of one file may be the end of another file's path.
                let is_path = text[..at].ends_with(['/', '\\']);
                let digits = &text[at + named.len()..];
                let digits = &digits[..digits.bytes().take_while(u8::is_ascii_digit).count()];
                let rule = format!("{named}{digits}");
                let is_known = found.iter().any(|(known, _)| *known == rule);
                if let Some(words) = self.of(&rule).filter(|_| !is_path && !is_known) {
                    found.push((rule, words));
                }
            }
        }
        found
    }
}

/// Returns the heading of the table that contains the line after `before`.
fn heading<'a>(before: &[&'a str]) -> Option<&'a str> {
    before.iter().rev().map(|line| line.trim()).find(|line| line.starts_with('['))
}

/// Truncates a line after the first key with a secret value.
fn without_secrets(line: &str, heading: impl Fn() -> String) -> String {
    let cut = line.match_indices('=').find(|(at, _)| {
        let key = line[..*at].trim_end();
        let mut words = key.rsplit(|c: char| !c.is_alphanumeric() && !"_-\"'".contains(c));
        let key = words.next().unwrap_or_default().trim_matches(['"', '\'']).to_ascii_lowercase();
        SECRET_KEYS.contains(&&*key) || SECRET_WORDS.iter().any(|word| key.contains(word))
    });
    let cut = cut.or_else(|| {
        let heading = heading().to_ascii_lowercase();
        let is_secret = SECRET_TABLES.iter().any(|table| heading.contains(table));
        line.match_indices('=').next().filter(|_| is_secret)
    });
    cut.map_or_else(|| line.to_owned(), |(at, _)| format!("{} …", &line[..=at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> RuleTexts {
        let own = "version = 1\n[tools]\n  deny = [\"WebSearch\"] # why\n\n[search.engine.brave-api]\n\
                   key = \"s3cret\"\nenabled = true\n[shell.profile.workspace]\n\
                   env = { pass = [\"LANG\"], set = { API = \"s3cret\" } }\n[shell.profile.build.env.set]\nAPI = \"s3cret\"\n";
        let managed = "[web]\ndeny = [\n  \"*.internal\u{202e}\",\n]\n";
        let files = [("policy.toml", own), ("/etc/scorpiox/policy.toml", managed)];
        RuleTexts::new(files.map(|(name, text)| (name.to_owned(), text.to_owned())))
    }

    #[test]
    fn a_rule_has_the_words_of_its_line() {
        let texts = texts();
        for (rule, words) in [
            ("policy.toml line 3", Some("deny = [\"WebSearch\"] # why")),
            ("/etc/scorpiox/policy.toml line 3", Some("\"*.internal\",")),
            ("policy.toml line 4", None),
            ("policy.toml line 0", None),
            ("policy.toml line 99", None),
            ("other.toml line 3", None),
            ("built-in", None),
        ] {
            assert_eq!(texts.of(rule).as_deref(), words, "{rule}");
        }
    }

    #[test]
    fn no_secret_of_a_policy_is_cited() {
        for line in 1..12 {
            let words = texts().of(&format!("policy.toml line {line}")).unwrap_or_default();
            assert!(!words.contains("s3cret"), "{line}: {words}");
        }
        assert_eq!(texts().of("policy.toml line 6").as_deref(), Some("key = …"));
        // A key is found after any other character.
        let odd = RuleTexts::new([("p".to_owned(), "# “key = s3cret” → é=1".to_owned())]);
        assert_eq!(odd.of("p line 1").as_deref(), Some("# “key = …"));
    }

    #[test]
    fn the_rules_that_a_sentence_names_are_found_once_and_of_the_right_file() {
        let said =
            "denied by x (policy.toml line 3), and (/etc/scorpiox/policy.toml line 1); policy.toml line 3";
        let rules: Vec<_> = texts().cited(said).into_iter().map(|(rule, _)| rule).collect();
        assert_eq!(rules, ["policy.toml line 3", "/etc/scorpiox/policy.toml line 1"]);
    }
}
