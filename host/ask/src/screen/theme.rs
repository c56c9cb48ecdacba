//! How things look.

use ratatui::style::{Color, Modifier, Style};

/// With colours, or with weight and brightness alone. What matters is also in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Those of the terminal's own colours that can be read on black and on white.
    Colour,
    /// No colours, as <https://no-color.org> asks for.
    Plain,
}

/// What a piece of text stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    Asker,
    Question,
    Detail,
    Focused,
    Chosen,
    Warning,
    Tab,
    OpenTab,
}

impl Role {
    pub(super) fn item(has_focus: bool, is_chosen: bool) -> Self {
        match (has_focus, is_chosen) {
            (true, _) => Self::Focused,
            (false, true) => Self::Chosen,
            (false, false) => Self::Plain,
        }
    }

    /// Marks and numbers look like their item.
    pub(super) fn of_prefix(self) -> Self {
        match self {
            Self::Warning => Self::Plain,
            other => other,
        }
    }
}

impl Theme {
    /// From the value of `NO_COLOR`.
    pub fn from_no_color(value: Option<&std::ffi::OsStr>) -> Self {
        if value.is_some_and(|value| !value.is_empty()) { Self::Plain } else { Self::Colour }
    }

    pub(super) fn style(self, role: Role) -> Style {
        let style = Style::new();
        match role {
            Role::Plain | Role::Tab => style,
            Role::Asker => self.coloured(style, Color::Cyan),
            Role::Question => style.add_modifier(Modifier::BOLD),
            Role::Detail => style.add_modifier(Modifier::DIM),
            Role::Focused => self.coloured(style, Color::Magenta).add_modifier(Modifier::BOLD),
            Role::Chosen => self.coloured(style, Color::Green),
            Role::Warning => self.coloured(style, Color::Red),
            Role::OpenTab => style.add_modifier(Modifier::REVERSED),
        }
    }

    fn coloured(self, style: Style, colour: Color) -> Style {
        match self {
            Self::Colour => style.fg(colour),
            Self::Plain => style,
        }
    }
}
