//! Parses `[limits.NAME]`.

use crate::document::{Entry, Problem, Section, list, number, size};
use crate::rule::{NamePattern, Source, Sourced};

use super::words;
use crate::access::limits::LimitRule;

/// Maximum value of limits on concurrent calls and calls in a minute.
const MOST: u32 = 1_000_000;
/// Maximum value of limits in a day.
const MOST_A_DAY: u64 = 1_000_000_000;
const BOUNDS: [&str; 5] =
    ["in_flight", "calls_per_minute", "calls_per_day", "processor_seconds_per_day", "stored_per_day"];

/// Parses the table of a rule.
pub fn read_limits(name: &str, entry: &Entry<'_>) -> Result<LimitRule, Problem> {
    words::name(entry, name, "a rule")?;
    let section = entry.section(&format!("[limits.{name}]"))?;
    let mut keys = vec!["principals", "groups", "scopes", "tools"];
    keys.extend(BOUNDS);
    section.only(&keys)?;
    if BOUNDS.iter().all(|key| section.get(key).is_none()) {
        let what = format!("{} bounds nothing", section.name());
        return Err(entry.problem(what, format!("write one of {}", BOUNDS.join(", "))));
    }
    let fix = "write a list of tools, such as [\"Bash\", \"weather.*\"]";
    let tool =
        |item: &Entry<'_>, text: &str| Ok(Sourced::new(NamePattern::parse(text, "tool")?, item.source()));
    let (tools, tools_origin) = match section.get("tools") {
        Some(entry) => (Some(list(&entry, fix, tool)?), entry.source()),
        None => (None, Source::Builtin),
    };
    let stored = section.get("stored_per_day");
    Ok(LimitRule {
        who: words::who(&section)?,
        tools,
        tools_origin,
        in_flight: counted(&section, "in_flight", MOST)?,
        calls_per_minute: counted(&section, "calls_per_minute", MOST)?,
        calls_per_day: counted(&section, "calls_per_day", MOST_A_DAY)?,
        processor_seconds_per_day: counted(&section, "processor_seconds_per_day", MOST_A_DAY)?,
        stored_per_day: stored.map(|entry| Ok(Sourced::new(size(&entry, 1)?, entry.source()))).transpose()?,
        source: entry.key_source(),
    })
}

fn counted<T>(section: &Section<'_>, key: &str, most: T) -> Result<Option<Sourced<T>>, Problem>
where
    T: TryFrom<i64> + std::fmt::Display + PartialOrd + From<u8>,
{
    let read = |entry: Entry<'_>| Ok(Sourced::new(number(&entry, &(T::from(1)..=most))?, entry.source()));
    section.get(key).map(read).transpose()
}
