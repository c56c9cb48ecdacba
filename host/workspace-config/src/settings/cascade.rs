//! Stores the values and decides which tier may change them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::settings::Entry;
use crate::settings::key::{Key, Keys, tool_key};
use crate::settings::parse::shorten;
use crate::settings::problem::{Origin, ProblemKind};
use crate::settings::value;

/// Trust in the author of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The user, or whoever installed the binary.
    User,
    /// The project, whose files are untrusted: they may narrow but not widen.
    Workspace,
}

/// A value with its origin.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

impl<T> Slot<T> {
    fn new(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }
}

/// Switch for one tool, or for all tools.
///
/// Never on while the user's own value is off, regardless of the workspace.
#[derive(Debug)]
pub(crate) struct Switch {
    users: Slot<bool>,
    current: Slot<bool>,
}

impl Switch {
    fn on() -> Self {
        Self { users: Slot::new(true), current: Slot::new(true) }
    }

    pub(crate) fn enabled(&self) -> bool {
        self.current.value
    }

    /// Sets the value. Fails with the origin of the user's value if the workspace tries to enable what the
    /// user disabled.
    fn set(&mut self, value: bool, origin: &Origin, trust: Trust) -> Result<(), Origin> {
        match trust {
            Trust::User => self.users = Slot { value, origin: origin.clone() },
            Trust::Workspace if value && !self.users.value => return Err(self.users.origin.clone()),
            Trust::Workspace if value == self.current.value => return Ok(()),
            Trust::Workspace => {}
        }
        self.current = Slot { value, origin: origin.clone() };
        Ok(())
    }
}

/// Name of a profile, or `None` for no profile.
pub(crate) type Choice = Slot<Option<String>>;

/// Default answer time, below the one-minute timeout of clients.
const ANSWER_WITHIN: Duration = Duration::from_secs(50);

/// All values. Each value except the profiles is final once the last tier has set it.
#[derive(Debug)]
pub(crate) struct Values {
    pub(crate) tools: Switch,
    pub(crate) streaming: Slot<bool>,
    pub(crate) model: Slot<String>,
    /// Profile selected by the user; a workspace cannot replace it.
    pub(crate) users_profile: Choice,
    /// Profile selected by the workspace, unless the environment overrides it.
    pub(crate) workspace_profile: Option<Choice>,
    pub(crate) skills: Slot<Vec<PathBuf>>,
    pub(crate) structured: Slot<bool>,
    pub(crate) tool_prefix: Slot<Option<String>>,
    pub(crate) answer_within: Slot<Option<Duration>>,
    each_tool: Vec<(String, Switch)>,
}

/// Context for interpreting an assignment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) keys: Keys<'a>,
    pub(crate) home: Option<&'a Path>,
}

impl Values {
    pub(crate) fn defaults(tools: &[&str]) -> Self {
        Self {
            tools: Switch::on(),
            streaming: Slot::new(true),
            model: Slot::new("sonnet".to_owned()),
            users_profile: Slot::new(None),
            workspace_profile: None,
            skills: Slot::new(Vec::new()),
            structured: Slot::new(false),
            tool_prefix: Slot::new(None),
            answer_within: Slot::new(Some(ANSWER_WITHIN)),
            each_tool: tools.iter().map(|tool| ((*tool).to_owned(), Switch::on())).collect(),
        }
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Switch> {
        let mut switches = self.each_tool.iter();
        switches.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, switch)| switch)
    }

    /// Applies an assignment. On error, all values stay unchanged.
    pub(crate) fn set(
        &mut self,
        key: Key,
        text: &str,
        origin: &Origin,
        trust: Trust,
        context: Context<'_>,
    ) -> Result<(), ProblemKind> {
        let bad_value =
            |expected| ProblemKind::BadValue { key: context.keys.name(key), value: shorten(text), expected };
        if trust == Trust::Workspace && key.is_users_alone() {
            return Err(ProblemKind::UsersAlone { key: context.keys.name(key) });
        }
        let cannot_switch_on = |by| ProblemKind::CannotSwitchOn { key: context.keys.name(key), by };
        match key {
            Key::Tools => {
                let value = value::switch(text).map_err(bad_value)?;
                self.tools.set(value, origin, trust).map_err(cannot_switch_on)?;
            }
            Key::Tool(index) => {
                let value = value::switch(text).map_err(bad_value)?;
                self.each_tool[index].1.set(value, origin, trust).map_err(cannot_switch_on)?;
            }
            Key::Streaming => {
                let value = value::switch(text).map_err(bad_value)?;
                self.streaming = Slot { value, origin: origin.clone() };
            }
            Key::Model => {
                let value = value::model(text).map_err(bad_value)?;
                self.model = Slot { value, origin: origin.clone() };
            }
            Key::ActiveProfile => {
                let value = value::profile(text).map_err(bad_value)?;
                self.choose_profile(Slot { value, origin: origin.clone() }, trust);
            }
            Key::AdditionalSkills => {
                let value = value::folders(text, base(origin), context.home).map_err(bad_value)?;
                self.skills = Slot { value, origin: origin.clone() };
            }
            Key::Structured => {
                let value = value::switch(text).map_err(bad_value)?;
                self.structured = Slot { value, origin: origin.clone() };
            }
            Key::ToolPrefix => {
                let value = value::prefix(text).map_err(bad_value)?;
                self.tool_prefix = Slot { value, origin: origin.clone() };
            }
            Key::AnswerWithin => {
                let value = value::seconds(text).map_err(bad_value)?;
                self.answer_within = Slot { value, origin: origin.clone() };
            }
        }
        Ok(())
    }

    fn choose_profile(&mut self, choice: Choice, trust: Trust) {
        match trust {
            Trust::Workspace => self.workspace_profile = Some(choice),
            Trust::User => {
                self.users_profile = choice;
                self.workspace_profile = None;
            }
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let plain = [
            entry("TOOLS", self.tools.current.value.to_string(), &self.tools.current.origin),
            entry("STREAMING", self.streaming.value.to_string(), &self.streaming.origin),
            entry("MODEL", self.model.value.clone(), &self.model.origin),
            self.profile_entry(),
            entry("ADDITIONAL_SKILLS", self.skills_text(), &self.skills.origin),
            entry("STRUCTURED", self.structured.value.to_string(), &self.structured.origin),
            entry(
                "TOOL_PREFIX",
                self.tool_prefix.value.clone().unwrap_or_default(),
                &self.tool_prefix.origin,
            ),
            entry(
                "ANSWER_WITHIN",
                self.answer_within.value.map_or(0, |time| time.as_secs()).to_string(),
                &self.answer_within.origin,
            ),
        ];
        let each = self.each_tool.iter().map(|(tool, Switch { current, .. })| Entry {
            key: tool_key(tool),
            value: current.value.to_string(),
            origin: current.origin.clone(),
        });
        plain.into_iter().chain(each)
    }

    /// Returns the entry for both profiles in reading order, or for the only one.
    fn profile_entry(&self) -> Entry {
        let last = self.workspace_profile.as_ref().unwrap_or(&self.users_profile);
        let mut names: Vec<&str> = Vec::new();
        for name in [&self.users_profile.value, &last.value].into_iter().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        entry("ACTIVE_PROFILE", names.join(" + "), &last.origin)
    }

    fn skills_text(&self) -> String {
        let paths: Vec<_> = self.skills.value.iter().map(|path| path.display().to_string()).collect();
        paths.join(",")
    }
}

fn entry(key: &str, value: String, origin: &Origin) -> Entry {
    Entry { key: key.to_owned(), value, origin: origin.clone() }
}

/// Returns the folder that relative paths are resolved against.
fn base(origin: &Origin) -> Option<&Path> {
    match origin {
        Origin::File { path, .. } => path.parent(),
        Origin::Default | Origin::Environment => None,
    }
}
