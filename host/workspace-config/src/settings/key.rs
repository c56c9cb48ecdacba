//! Known keys.

/// Prefix of the key for a single tool's switch.
pub(crate) const TOOL_PREFIX: &str = "TOOL_";

/// A key; a tool is represented by its index in the list of known tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Tools,
    Streaming,
    Model,
    ActiveProfile,
    AdditionalSkills,
    Structured,
    ToolPrefix,
    AnswerWithin,
    Tool(usize),
}

impl Key {
    /// Returns `true` if only the user may set the key. Such keys decide what the client and its model see,
    /// or which files are read. Commands can write the workspace's files, so these may not set them.
    pub(crate) fn is_users_alone(self) -> bool {
        matches!(self, Self::AdditionalSkills | Self::Structured | Self::ToolPrefix | Self::AnswerWithin)
    }
}

const PLAIN: [(&str, Key); 8] = [
    ("TOOLS", Key::Tools),
    ("STREAMING", Key::Streaming),
    ("MODEL", Key::Model),
    ("ACTIVE_PROFILE", Key::ActiveProfile),
    ("ADDITIONAL_SKILLS", Key::AdditionalSkills),
    ("STRUCTURED", Key::Structured),
    ("TOOL_PREFIX", Key::ToolPrefix),
    ("ANSWER_WITHIN", Key::AnswerWithin),
];

/// All keys, derived from the names of the tools.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys<'a> {
    pub(crate) tools: &'a [&'a str],
}

impl Keys<'_> {
    pub(crate) fn find(self, name: &str) -> Option<Key> {
        if let Some((_, key)) = PLAIN.iter().find(|(plain, _)| *plain == name) {
            return Some(*key);
        }
        let tool = name.strip_prefix(TOOL_PREFIX)?;
        self.tools.iter().position(|known| known.eq_ignore_ascii_case(tool)).map(Key::Tool)
    }

    /// Returns the known key that is most similar to `name`.
    pub(crate) fn nearest(self, name: &str) -> Option<String> {
        let plain = PLAIN.iter().map(|(plain, _)| (*plain).to_owned());
        let known: Vec<_> = plain.chain(self.tools.iter().map(|tool| tool_key(tool))).collect();
        scorpiox_text::nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
    }

    pub(crate) fn name(self, key: Key) -> String {
        match key {
            Key::Tool(index) => tool_key(self.tools[index]),
            plain => PLAIN.iter().find(|(_, key)| *key == plain).map_or("", |(name, _)| name).to_owned(),
        }
    }
}

/// Returns the key of the switch for `tool`.
pub(crate) fn tool_key(tool: &str) -> String {
    format!("{TOOL_PREFIX}{}", tool.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: Keys<'_> = Keys { tools: &["Bash", "WebSearch"] };

    #[test]
    fn every_key_is_found_under_its_own_name() {
        for key in PLAIN.iter().map(|(_, key)| *key).chain([Key::Tool(0), Key::Tool(1)]) {
            assert_eq!(KEYS.find(&KEYS.name(key)), Some(key));
        }
    }

    #[test]
    fn a_tool_is_found_whatever_its_case() {
        assert_eq!(KEYS.find("TOOL_WEBSEARCH"), Some(Key::Tool(1)));
        assert_eq!(KEYS.find("TOOL_WebSearch"), Some(Key::Tool(1)));
        assert_eq!(KEYS.find("TOOL_"), None);
        assert_eq!(KEYS.find("WEBSEARCH"), None);
    }

    #[test]
    fn a_typing_mistake_gets_the_nearest_key_and_nonsense_gets_none() {
        assert_eq!(KEYS.nearest("TOOL_WEBSERCH").as_deref(), Some("TOOL_WEBSEARCH"));
        assert_eq!(KEYS.nearest("TOOL_WEB_SEARCH").as_deref(), Some("TOOL_WEBSEARCH"));
        assert_eq!(KEYS.nearest("STREAM").as_deref(), Some("STREAMING"));
        assert_eq!(KEYS.nearest("TOOL").as_deref(), Some("TOOLS"));
        assert_eq!(KEYS.nearest("ANTHROPIC_API_KEY"), None);
    }
}
