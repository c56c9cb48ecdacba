//! Conditions on arguments, judged for all rules together: the texts of an argument are made once for a call, and the
//! work for a call is bounded, because callers choose the arguments.

use std::collections::BTreeMap;

use serde_json::Value;

use super::spellings::Spellings;
use super::texts::{self, Unclear};
use super::{Argument, CallRule};
use crate::rule::Places;

/// Work for one call, in bytes of texts that are compared with a pattern: a fraction of a second.
const MAX_WORK: usize = 128 << 20;
/// Work to make the spellings of an argument, for each byte of them, and for the paths among them.
const WORK_PER_BYTE: usize = 4;
const WORK_OF_PATHS: usize = 1 << 18;

/// A rule whose conditions on arguments hold.
pub(super) struct Given<'r> {
    pub(super) rule: &'r CallRule,
    /// Reason why the conditions count as holding without a comparison, as a sentence without its end.
    pub(super) doubt: Option<String>,
}

impl<'r> Given<'r> {
    /// Returns a rule for arguments that are not read.
    pub(super) fn without_arguments(rule: &'r CallRule) -> Self {
        let doubt = "its arguments are not clear: they are no JSON, have two members of a name, a number that does not \
                     fit, or too many values";
        Self { rule, doubt: Some(doubt.to_owned()).filter(|_| !rule.covers_every_call()) }
    }
}

/// Returns the rules whose conditions on the arguments hold.
pub(super) fn given<'r>(
    rules: impl IntoIterator<Item = &'r CallRule>,
    arguments: &Value,
    places: &Places,
) -> impl Iterator<Item = Given<'r>> {
    let mut given: Vec<_> = rules.into_iter().map(|rule| Some(Given { rule, doubt: None })).collect();
    let mut left = Work(MAX_WORK);
    for (pointer, conditions) in by_pointer(&given) {
        // Dropped before the next argument, because they may be long.
        let mut texts = None;
        for (at, condition) in conditions {
            let Some(Given { doubt, .. }) = &mut given[at] else { continue };
            let texts = texts.get_or_insert_with(|| texts_at(pointer, arguments, places, &mut left));
            match holds(condition, texts, &mut left) {
                Ok(true) => {}
                Ok(false) => given[at] = None,
                Err(unclear) => _ = doubt.get_or_insert_with(|| format!("the argument {pointer} {unclear}")),
            }
        }
    }
    given.into_iter().flatten()
}

/// Returns the conditions of rules by their pointers, each with the position of its rule.
fn by_pointer<'r>(rules: &[Option<Given<'r>>]) -> BTreeMap<&'r str, Vec<(usize, &'r Argument)>> {
    let mut conditions: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (at, given) in rules.iter().enumerate() {
        for condition in given.iter().flat_map(|given| &given.rule.arguments) {
            conditions.entry(condition.pointer.as_str()).or_default().push((at, condition));
        }
    }
    conditions
}

/// Returns the texts of an argument; `None` without such an argument.
fn texts_at(
    pointer: &str,
    arguments: &Value,
    places: &Places,
    left: &mut Work,
) -> Result<Option<Spellings>, Unclear> {
    left.check()?;
    let Some(value) = texts::at(arguments, pointer)? else { return Ok(None) };
    left.take(WORK_OF_PATHS)?;
    let spellings = Spellings::of(&value, places)?;
    left.take(spellings.bytes() * WORK_PER_BYTE)?;
    Ok(Some(spellings))
}

fn holds(
    condition: &Argument,
    texts: &Result<Option<Spellings>, Unclear>,
    left: &mut Work,
) -> Result<bool, Unclear> {
    let Some(spellings) = texts.as_ref().map_err(|unclear| *unclear)? else { return Ok(false) };
    for pattern in &condition.patterns {
        left.take(spellings.bytes())?;
        if spellings.texts().iter().any(|text| pattern.matches(text)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Work that is left for a call.
struct Work(usize);

impl Work {
    fn take(&mut self, work: usize) -> Result<(), Unclear> {
        let left = self.0.checked_sub(work);
        self.0 = left.unwrap_or(0);
        left.map(|_| ()).ok_or(Unclear::TooMuch)
    }

    fn check(&self) -> Result<(), Unclear> {
        if self.0 == 0 { Err(Unclear::TooMuch) } else { Ok(()) }
    }
}
