//! Names of components.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Prefix of the component of a plugin.
const PREFIX: &str = "plugin/";

/// Name under which the policy grants capabilities to a component, and the store keeps its data: that of a built-in
/// component (`plan-mode`), or of a plugin's (`plugin/weather`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentName(Arc<str>);

impl ComponentName {
    /// Returns the name of a plugin's component.
    pub fn of_plugin(plugin: impl fmt::Display) -> Self {
        Self(format!("{PREFIX}{plugin}").into())
    }

    /// Returns the plugin that a name belongs to, or `None` for a built-in component.
    pub fn plugin_in(name: &str) -> Option<&str> {
        name.strip_prefix(PREFIX)
    }

    /// Returns the name that people know: that of the plugin, or of the built-in component.
    pub fn shown(&self) -> &str {
        Self::plugin_in(&self.0).unwrap_or(&self.0)
    }
}

impl From<&ComponentName> for Arc<str> {
    fn from(name: &ComponentName) -> Self {
        Self::clone(&name.0)
    }
}

impl From<&str> for ComponentName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl Deref for ComponentName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ComponentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_know_a_plugin_by_its_own_name() {
        let weather = ComponentName::of_plugin("weather");
        assert_eq!((&*weather, weather.shown()), ("plugin/weather", "weather"));
        assert_eq!(ComponentName::plugin_in(&weather), Some("weather"));
        let plan = ComponentName::from("plan-mode");
        assert_eq!((plan.shown(), ComponentName::plugin_in(&plan)), ("plan-mode", None));
    }
}
