//! Styles.

use ratatui::style::{Color, Modifier, Style};

/// Colors, or only weight and brightness. The text alone carries all essential information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Terminal colors that are readable on black and on white.
    Colour,
    /// No colors, as <https://no-color.org> defines it.
    Plain,
}

/// Role of a piece of text.
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

    /// Returns the role of an item's marks and numbers, which mostly look like the item.
    pub(super) fn of_prefix(self) -> Self {
        match self {
            Self::Warning => Self::Plain,
            other => other,
        }
    }
}

impl Theme {
    /// Chooses the theme from the value of `NO_COLOR`.
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
