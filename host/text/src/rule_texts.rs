//! Text of policy rules. Audit lines cite it with the line number, because the number alone is meaningless
//! once the file has changed.

use crate::line::clean;

/// Maximum length of a rule's text in bytes.
const MAX_BYTES: usize = 200;
/// Separator between file and line number in the name of a rule.
const LINE: &str = " line ";
/// Keys with values that may be cited. All others may be secrets: keys of search engines, environment variables, names
/// that the user chose.
const CITED_KEYS: [&str; 72] = [
    "access",
    "after",
    "algorithms",
    "allow",
    "allow_private",
    "allow_unsandboxed",
    "approve",
    "arguments",
    "audit",
    "browser",
    "calls_per_day",
    "calls_per_minute",
    "channel",
    "clients",
    "command",
    "default_timeout_ms",
    "deny",
    "enabled",
    "env",
    "file_path",
    "file_size",
    "files",
    "grant",
    "groups",
    "hosts",
    "in_flight",
    "kind",
    "limits",
    "local",
    "max_background_tasks",
    "max_timeout_ms",
    "memory",
    "min_tier",
    "min_version",
    "mode",
    "name",
    "names",
    "network",
    "open_files",
    "pass",
    "path",
    "plugins",
    "principals",
    "processes",
    "processor_seconds_per_day",
    "profile",
    "programs",
    "publish",
    "read",
    "reason",
    "redirects",
    "remember",
    "remotes",
    "require_signature",
    "required",
    "scopes",
    "self",
    "shell",
    "stored_per_day",
    "then",
    "tmp",
    "tools",
    "unix_groups",
    "unix_users",
    "unknown",
    "unknown_hosts",
    "version",
    "web",
    "who",
    "within",
    "workspaces",
    "write",
];
/// Parts of a dotted key below which all values are secret.
const SECRET_KEYS: [&str; 3] = ["key", "set", "sha256"];
/// Substrings of such parts.
const SECRET_WORDS: [&str; 3] = ["password", "secret", "token"];
/// Substrings of table headings whose values are all secret.
const SECRET_TABLES: [&str; 6] = [".set]", ".set.", "\\", "secrets", "tokens", "engine"];

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
        if line.trim_start().starts_with("[[") {
            return Some(clean(&table(line, text.lines().skip(number)), MAX_BYTES));
        }
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

/// Returns the header of a table that is an entry of a list, with its keys on the same line. Omits those with a value
/// that is secret or has several lines.
fn table<'a>(header: &str, below: impl Iterator<Item = &'a str>) -> String {
    let mut shown = header.trim().to_owned();
    for line in below.map(str::trim).take_while(|line| !line.starts_with('[')) {
        let is_whole = line.split_once('=').is_some_and(|(key, value)| {
            !key.contains(['#', '"', '['])
                && !value.trim().is_empty()
                && !value.trim_end().ends_with(['[', '{', ','])
        });
        if is_whole && without_secrets(line, String::new) == line {
            shown.push_str(if shown.ends_with("]]") { " " } else { "; " });
            shown.push_str(line);
        }
    }
    shown
}

/// Returns the heading of the table that contains the line after `before`.
fn heading<'a>(before: &[&'a str]) -> Option<&'a str> {
    before.iter().rev().map(|line| line.trim()).find(|line| line.starts_with('['))
}

/// Returns `true` if the value of a dotted key may be cited.
fn is_cited(key: &str) -> bool {
    let parts = key.split('.').map(|part| part.trim().trim_matches(['"', '\'']).to_ascii_lowercase());
    let parts: Vec<_> = parts.collect();
    let is_secret =
        |part: &String| SECRET_KEYS.contains(&&**part) || SECRET_WORDS.iter().any(|word| part.contains(word));
    !parts.iter().any(is_secret) && parts.last().is_some_and(|last| CITED_KEYS.contains(&&**last))
}

/// Truncates a line after the first key with a value that may be secret.
fn without_secrets(line: &str, heading: impl Fn() -> String) -> String {
    let mut begin = 0;
    let cut = line.match_indices('=').find(|(at, _)| {
        // A key ends the value before it, in an inline table.
        let before = &line[begin..*at];
        let key = before.rsplit(['{', ',']).next().unwrap_or_default();
        begin = at + 1;
        !is_cited(key)
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
    fn a_rule_with_a_table_of_its_own_has_the_words_of_its_keys() {
        let text = "[[rules]]\nname = \"push\"\nprograms = [\n  \"git push *\",\n]\n# key = 1\nthen = \"ask\"\n\
                    token = \"s3cret\"\nread = { key = \"s3cret\" }\n[[rules]]\nname = \"other\"\n";
        let texts = RuleTexts::new([("p".to_owned(), text.to_owned())]);
        assert_eq!(texts.of("p line 1").as_deref(), Some("[[rules]] name = \"push\"; then = \"ask\""));
        assert_eq!(texts.of("p line 10").as_deref(), Some("[[rules]] name = \"other\""));
    }

    #[test]
    fn no_secret_of_a_policy_is_cited() {
        for line in 1..12 {
            let words = texts().of(&format!("policy.toml line {line}")).unwrap_or_default();
            assert!(!words.contains("s3cret"), "{line}: {words}");
        }
        assert_eq!(texts().of("policy.toml line 6").as_deref(), Some("key = …"));
        for line in [
            "# “key = s3cret” → é=1",
            "shell.profile.workspace.env.set.TOK = \"s3cret\"",
            "shell.profile.workspace.env.set.deny = \"s3cret\"",
            "workspace = { deny = [\".env*\"], env.set.TOK = \"s3cret\", network = { mode = \"open\" } }",
            "profile = { workspace.env.\"set\".deny = \"s3cret\" }",
            "\"s\\u0065t\" = { deny = \"s3cret\" }",
            "env = { set = { deny = \"s3cret\" } }",
            "url = \"postgresql://app:s3cret@db\"",
        ] {
            let texts = RuleTexts::new([("p".to_owned(), line.to_owned())]);
            let words = texts.of("p line 1").unwrap_or_default();
            assert!(!words.contains("s3cret") && words.ends_with("= …"), "{line}: {words}");
        }
        let escaped =
            RuleTexts::new([("p".to_owned(), "[a.env.\"s\\u0065t\"]\ndeny = \"s3cret\"".to_owned())]);
        assert_eq!(escaped.of("p line 2").as_deref(), Some("deny = …"));
        let rule = "arguments = { command = [\"git push --force=*\"] }";
        let cited = RuleTexts::new([("p".to_owned(), rule.to_owned())]);
        assert_eq!(cited.of("p line 1").as_deref(), Some("arguments = { command = [\"git push --force= …"));
    }

    #[test]
    fn the_rules_that_a_sentence_names_are_found_once_and_of_the_right_file() {
        let said =
            "denied by x (policy.toml line 3), and (/etc/scorpiox/policy.toml line 1); policy.toml line 3";
        let rules: Vec<_> = texts().cited(said).into_iter().map(|(rule, _)| rule).collect();
        assert_eq!(rules, ["policy.toml line 3", "/etc/scorpiox/policy.toml line 1"]);
    }
}
