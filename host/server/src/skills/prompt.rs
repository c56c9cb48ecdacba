//! A skill as a prompt: its named arguments, and the single text that they become.

use std::collections::BTreeMap;

use scorpiox_runtime::bindings::skill_reader::exports::scorpiox::tool::skill_catalogue::Skill;
use serde::Serialize;

/// Name of the argument that carries all arguments.
pub const ARGUMENT: &str = "arguments";

/// Maximum length of an unknown name in an error, in characters.
const MAX_SHOWN: usize = 64;

/// An argument in the format of `prompts/list`.
#[derive(Debug, Serialize)]
pub struct PromptArgument {
    name: String,
    description: String,
    required: bool,
}

/// Reason why arguments do not fit a skill.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ArgumentError {
    /// The skill has no such argument.
    #[error("there is no argument {name:?}; the prompt takes {known}")]
    Unknown {
        /// Name of the unknown argument.
        name: String,
        /// Names of the known arguments.
        known: String,
    },
    /// Both one text with all arguments and separate ones.
    #[error("give either \"arguments\" or single arguments, not both")]
    Both,
}

/// Returns the arguments of a skill's prompt: those that its front matter names, or one for all.
pub fn arguments(skill: &Skill) -> Vec<PromptArgument> {
    let argument = |name: &str, description: String| PromptArgument {
        name: name.to_owned(),
        description,
        required: false,
    };
    let hint = skill.argument_hint.as_deref();
    if skill.arguments.is_empty() {
        return vec![argument(ARGUMENT, hint.unwrap_or("Arguments to pass to the skill").to_owned())];
    }
    let count = skill.arguments.len();
    let described = |at: usize| match hint {
        Some(hint) => format!("Argument {at} of {count}: {hint}"),
        None => format!("Argument {at} of {count}"),
    };
    (1..).zip(&skill.arguments).map(|(at, name)| argument(name, described(at))).collect()
}

/// Arguments of a prompt, by name.
pub struct Given(BTreeMap<String, String>);

impl Given {
    /// Creates the arguments from those that a client sent. A null value counts as missing.
    pub fn new(sent: BTreeMap<String, Option<String>>) -> Self {
        Self(sent.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }

    /// Returns `true` if the names in the skill's front matter are needed.
    pub fn has_names(&self) -> bool {
        self.0.keys().any(|name| name != ARGUMENT)
    }

    /// Returns the arguments as one text, which a skill splits like a shell. `names` are the names in its
    /// front matter.
    pub fn text(mut self, names: &[String]) -> Result<String, ArgumentError> {
        if let Some(all) = self.0.remove(ARGUMENT) {
            return if self.0.is_empty() { Ok(all) } else { Err(ArgumentError::Both) };
        }
        if let Some(name) = self.0.keys().find(|name| !names.contains(name)) {
            let known = if names.is_empty() { ARGUMENT.to_owned() } else { names.join(", ") };
            return Err(ArgumentError::Unknown { name: name.chars().take(MAX_SHOWN).collect(), known });
        }
        let last = names.iter().rposition(|name| self.0.contains_key(name)).map_or(0, |at| at + 1);
        let words = names.iter().take(last).map(|name| quoted(self.0.get(name).map_or("", String::as_str)));
        Ok(words.collect::<Vec<_>>().join(" "))
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| !(c.is_whitespace() || matches!(c, '\'' | '"' | '\\'));
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[(&str, &str)], names: &[&str]) -> Result<String, ArgumentError> {
        let sent = given.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Given::new(sent.collect()).text(&names)
    }

    #[test]
    fn named_arguments_become_words_in_the_order_of_their_names() {
        let names = ["issue", "branch", "who"];
        assert_eq!(
            of(&[("branch", "main"), ("issue", "it's \"it\"")], &names).expect("fits"),
            "'it'\\''s \"it\"' main"
        );
        assert_eq!(of(&[("branch", "a b")], &names).expect("fits"), "'' 'a b'");
        assert_eq!(of(&[], &names).expect("fits"), "");
    }

    #[test]
    fn one_text_is_passed_on_as_it_is() {
        assert_eq!(of(&[(ARGUMENT, "a 'b c' $1")], &["issue"]).expect("fits"), "a 'b c' $1");
        assert_eq!(of(&[(ARGUMENT, "a"), ("issue", "b")], &["issue"]), Err(ArgumentError::Both));
        let unset = Given::new(BTreeMap::from([("issue".to_owned(), None)]));
        assert!(!unset.has_names());
        assert_eq!(unset.text(&[]).expect("fits"), "");
    }

    #[test]
    fn an_argument_that_the_skill_has_not_is_refused_with_those_it_has() {
        let why = |names: &[&str]| of(&[("colour", "red")], names).expect_err("refused").to_string();
        assert_eq!(why(&["a", "b"]), "there is no argument \"colour\"; the prompt takes a, b");
        assert_eq!(why(&[]), "there is no argument \"colour\"; the prompt takes arguments");
    }
}
