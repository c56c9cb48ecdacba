//! Report of `scorpiox-code audit report --plugins`: plugins of all users in the given files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Result;
use scorpiox_terminal::{Shown, Table};
use scorpiox_text::line::escaped;

use super::installed::{InstalledRow, Standing};

/// Number of digits of a hash in the table. `--json` prints all.
const DIGITS: usize = 12;
/// Number of digits of the hash that tells several audits of a user on a machine apart.
const AUDIT_DIGITS: usize = 8;

/// Formats each row as a line of JSON.
pub(super) fn json(rows: &[InstalledRow]) -> Result<Shown> {
    let mut shown = Shown::text("");
    for row in rows {
        shown = shown.and(&Shown::json(&serde_json::to_string(row)?));
    }
    Ok(shown)
}

/// Formats the rows as a table.
pub(super) fn told(rows: &[InstalledRow], most: usize, more: u64) -> String {
    if rows.is_empty() {
        return "no recorded call or decision is about a plugin\n".to_owned();
    }
    let shown = |text: &str| escaped(text).into_owned();
    let day = |time: &str| shown(time.get(..10).unwrap_or(time));
    let mut audits: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for InstalledRow { user, machine, audit, .. } in rows {
        audits.entry((user, machine)).or_default().insert(audit);
    }
    let row = |row: &InstalledRow| {
        let InstalledRow { plugin, version, hash, user, machine, audit, calls, .. } = row;
        let hash = hash.get(..DIGITS).unwrap_or(hash);
        let mut who = if machine.is_empty() { user.clone() } else { format!("{user} on {machine}") };
        if audits.get(&(user, machine)).is_some_and(|audits| audits.len() > 1) {
            // Writing to a string cannot fail.
            let _ = write!(who, ", audit {}", audit.get(..AUDIT_DIGITS).unwrap_or("without a chain"));
        }
        let used = if row.first_use.is_empty() {
            "never".to_owned()
        } else {
            format!("{} to {}", day(&row.first_use), day(&row.last_use))
        };
        let plugin = format!("{plugin} {version}");
        [
            shown(plugin.trim()),
            shown(hash),
            shown(&who),
            standing(row.standing).to_owned(),
            calls.to_string(),
            used,
        ]
    };
    let table: Vec<_> = rows.iter().take(most).map(row).collect();
    let headings = ["plugin", "hash", "user", "standing", "calls", "used"];
    let mut text = Table::new(headings, &[2]).render(&table);
    let left_out = rows.len().saturating_sub(most) as u64 + more;
    if left_out > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "and {left_out} more; --rows 0 shows all");
    }
    text
}

const fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Used => "used",
        Standing::Installed => "installed",
        Standing::Waiting => "waiting",
        Standing::Replaced => "replaced",
        Standing::Denied => "denied",
        Standing::Removed => "removed",
    }
}
