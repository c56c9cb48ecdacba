//! Settings of rules that ask: channels of answers, and approvals that hold for longer than a call.

use std::fmt;
use std::time::Duration;

/// Time for an answer if the rule names none.
pub(crate) const DEFAULT_WITHIN: Duration = Duration::from_mins(10);
/// Limits of the time for an answer.
pub(crate) const WITHIN_SECONDS: std::ops::RangeInclusive<u64> = 10..=86_400;

/// Kind of channel that an answer comes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// The client's form, a terminal, a dialog or a command: programs of the user can answer there.
    Weak,
    /// A signature with the key of an approver.
    Strong,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Weak => "weak",
            Self::Strong => "strong",
        })
    }
}

/// Extent of an approval that holds for longer than a call. It always holds for the same call only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remember {
    /// Until the client's session ends.
    Session,
    /// In the workspace, until it is revoked.
    Workspace,
    /// In all workspaces, until it is revoked. Only the signature of an approver gives it.
    Always,
}

impl Remember {
    /// Returns the extent that a word in a file stands for.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "session" => Some(Self::Session),
            "workspace" => Some(Self::Workspace),
            "always" => Some(Self::Always),
            _ => None,
        }
    }
}

impl fmt::Display for Remember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Workspace => "workspace",
            Self::Always => "always",
        })
    }
}

/// Parses a time such as `"90s"`, `"10m"` or `"2h"`.
pub(crate) fn parse_within(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(factor)?;
    WITHIN_SECONDS.contains(&seconds).then(|| Duration::from_secs(seconds))
}

/// Returns a time as it is written in a file.
pub(crate) fn show_within(within: Duration) -> String {
    match within.as_secs() {
        seconds if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        seconds if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_bounds() {
        for (text, seconds) in [("10s", 10), ("90s", 90), ("10m", 600), ("24h", 86_400)] {
            let within = parse_within(text).expect(text);
            assert_eq!(within.as_secs(), seconds);
            assert_eq!(parse_within(&show_within(within)), Some(within));
        }
        for text in ["", "m", "9s", "25h", "10", "10 m", "+10m", "1.5m", "10d", "99999999999999999999s", "1é"]
        {
            assert_eq!(parse_within(text), None, "{text}");
        }
    }
}
