//! `[tools]`: tools that may be called.

use crate::rule::{NamePattern, Sourced, shorten};

use crate::rules::{Closed, Refusal, Rules};

/// Rules for tools by name, no matter who provides the tool.
pub type ToolsPolicy = Rules<NamePattern>;

impl ToolsPolicy {
    pub(crate) fn builtin() -> Self {
        Self::all(NamePattern::any())
    }

    /// Returns the rule that allows a tool, or a refusal that names the deciding rule.
    pub fn check_tool(&self, name: &str) -> Result<&Sourced<NamePattern>, Refusal> {
        let closed = |closed: Closed<'_, _>| closed.refusal(&format!("tool {}", shorten(name)), "tools");
        self.check(|pattern| pattern.covers(name)).map_err(closed)
    }

    /// Checks a tool under its local name and under `original`, the name that its author gave it. Renaming a
    /// tool neither escapes a deny rule nor matches an allow rule that does not cover the original name.
    pub fn check_tool_as(
        &self,
        name: &str,
        original: Option<&str>,
    ) -> Result<&Sourced<NamePattern>, Refusal> {
        let rule = self.check_tool(name)?;
        if let Some(original) = original {
            self.check_tool(original).map_err(|refusal| Refusal {
                why: format!("{}; it is {} here", refusal.why, shorten(name)),
                ..refusal
            })?;
        }
        Ok(rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Source;

    #[test]
    fn a_tool_that_no_rule_opens_is_closed() {
        let mut policy = ToolsPolicy::builtin();
        assert!(policy.check_tool("Bash").is_ok());
        policy.deny = vec![Sourced::new(NamePattern::parse("B*", "tool").unwrap(), Source::Line(2))];
        assert_eq!(
            policy.check_tool("Bash").unwrap_err().why,
            "tool Bash is denied by \"B*\" in `deny` of [tools] (policy.toml line 2)"
        );
        assert_eq!(
            policy.check_tool_as("sky.map", Some("B.map")).unwrap_err().why,
            "tool B.map is denied by \"B*\" in `deny` of [tools] (policy.toml line 2); it is sky.map here"
        );
        assert!(policy.check_tool_as("B.map", Some("sky.map")).is_err());
        assert!(policy.check_tool_as("sky.map", Some("weather.map")).is_ok());
        policy.allow = vec![Sourced::builtin(NamePattern::parse("sky.*", "tool").unwrap())];
        assert!(policy.check_tool_as("sky.map", None).is_ok());
        assert!(policy.check_tool_as("sky.map", Some("weather.map")).is_err());
        policy.allow.clear();
        assert_eq!(
            policy.check_tool("Read").unwrap_err().why,
            "tool Read is not in `allow` of [tools] (built-in)"
        );
    }
}
