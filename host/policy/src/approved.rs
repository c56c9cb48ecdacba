//! `[approved.NUMBER]`: approvals of single calls that hold always.
//!
//! An entry approves nothing by itself. It has the signature of an approver over the call and over the text of the rules
//! that asked, which the server verifies for the call that is about to run.

use std::collections::BTreeMap;

use crate::document::{Entry, Page, Problem, Section, quote};
use crate::rule::{Sourced, shorten};

/// Maximum number of entries of a file.
const MAX_APPROVED: usize = 256;
/// Maximum length of a text, in bytes. Arguments that a person was shown are shorter.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// An approval that holds always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved {
    /// Name of the tool.
    pub tool: String,
    /// Arguments as JSON with sorted keys.
    pub arguments: String,
    /// Name of the approver, for people.
    pub by: String,
    /// Time of the answer, for people.
    pub at: String,
    /// Random identification of the approval.
    pub id: String,
    /// Time of the question, in milliseconds since 1970.
    pub asked: u64,
    /// Signature in minisign's format.
    pub signature: String,
}

/// All of them, by the number of the approval.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ApprovedCalls(BTreeMap<u64, Sourced<Approved>>);

impl ApprovedCalls {
    /// Returns all entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Sourced<Approved>)> {
        self.0.iter().map(|(number, approved)| (*number, approved))
    }

    /// Returns the entries that both policies have.
    pub(crate) fn meet(&self, other: &Self) -> Self {
        let is_in_both = |(number, approved): &(&u64, &Sourced<Approved>)| {
            other.0.get(*number).is_some_and(|known| known.value == approved.value)
        };
        let both = self.0.iter().filter(is_in_both);
        Self(both.map(|(number, approved)| (*number, approved.clone())).collect())
    }

    pub(crate) fn render(&self, page: &mut Page) {
        for (number, Sourced { value, source }) in &self.0 {
            page.header(&format!("approved.{number}"), *source);
            let Approved { tool, arguments, by, at, id, asked, signature } = value;
            for (key, text) in [("tool", tool), ("arguments", arguments), ("by", by), ("at", at), ("id", id)]
            {
                page.line(&format!("{key} = {}", quote(text)), *source);
            }
            page.line(&format!("asked = {asked}"), *source);
            page.line(&format!("signature = {}", quote(signature)), *source);
        }
    }
}

/// Parses `[approved]`.
pub(crate) fn read(section: &Section<'_>, approved: &mut ApprovedCalls) -> Result<(), Problem> {
    for (at, (name, entry)) in section.entries().enumerate() {
        if at == MAX_APPROVED {
            let what = format!("{} has more than {MAX_APPROVED} approvals", section.name());
            return Err(entry.problem(what, "remove some (`scorpiox-code approvals revoke NUMBER`)"));
        }
        let number = name.parse::<u64>().ok().filter(|number| number.to_string() == name);
        let Some(number) = number else {
            let what =
                format!("\"{}\" in {} is not the number of an approval", shorten(name), section.name());
            return Err(entry.problem(what, FIX));
        };
        let read = of(&entry.section(&section.child(name))?, &entry)?;
        match approved.0.get(&number) {
            Some(known) if known.value != read => {
                let what = format!("approval {number} is another one in {}", known.source);
                return Err(entry.problem(what, "remove yours"));
            }
            Some(_) => {}
            None => {
                approved.0.insert(number, Sourced::new(read, entry.key_source()));
            }
        }
    }
    Ok(())
}

/// Says where entries come from.
const FIX: &str =
    "`scorpiox-code approvals approve NUMBER --always` writes entries as a whole; remove this one";

fn of(section: &Section<'_>, entry: &Entry<'_>) -> Result<Approved, Problem> {
    section.only(&["tool", "arguments", "by", "at", "id", "asked", "signature"])?;
    let required = |key: &str| {
        section.get(key).ok_or_else(|| entry.problem(format!("{} has no `{key}`", section.name()), FIX))
    };
    let text = |key: &str| {
        let entry = required(key)?;
        let text = entry.text(FIX)?;
        if text.is_empty() || text.len() > MAX_TEXT_BYTES {
            let what = format!("{} has {} bytes", entry.label(), text.len());
            return Err(entry.problem(what, FIX));
        }
        Ok(text.to_owned())
    };
    let asked = required("asked")?;
    let time = asked.whole().and_then(|time| u64::try_from(time).ok());
    Ok(Approved {
        tool: text("tool")?,
        arguments: text("arguments")?,
        by: text("by")?,
        at: text("at")?,
        id: text("id")?,
        asked: time.ok_or_else(|| asked.wrong_type("write the time of the question in milliseconds"))?,
        signature: text("signature")?,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::rule::{Layer, Places};
    use crate::{Policy, differences, render};

    const ENTRY: &str = "[approved.17]\ntool = \"Bash\"\narguments = '{\"command\":\"make deploy\"}'\nby = \"ann\"\nat = \
                         \"2026-11-30T13:00:00Z\"\nid = \"7f\"\nasked = 1796045911000\nsignature = \"a\\nb\\nc\\nd\\n\"\n";

    fn parse(layer: Layer, text: &str, base: Policy) -> Result<Policy, String> {
        let text = format!("version = 1\n{text}");
        crate::parse::policy(&text, Path::new("policy.toml"), layer, base)
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn entries_are_shown_as_they_are_read_and_a_removed_one_takes_something_away() {
        let policy = parse(Layer::Own, ENTRY, Policy::builtin()).expect("it works");
        let (number, approved) = policy.approved.iter().next().expect("an entry");
        assert_eq!((number, &*approved.value.signature), (17, "a\nb\nc\nd\n"));
        let shown = render(&policy);
        assert!(shown.contains("[approved.17]") && shown.contains("# policy.toml line 2"), "{shown}");
        let again = crate::parse::policy(&shown, Path::new("p"), Layer::Any, Policy::builtin());
        let values = |policy: &Policy| -> Vec<_> {
            policy.approved.iter().map(|(number, entry)| (number, entry.value.clone())).collect()
        };
        assert_eq!(values(&again.expect("it works")), values(&policy));
        let none = Policy::builtin();
        assert!(differences(&none, &policy).starts_with("[approved.17]\n+ "));
        let places = Places::standard("/w".into(), None, Path::new("/own"));
        assert!(none.lost_sections(&policy, &places).is_empty());
        assert!(policy.lost_sections(&none, &places).contains("[approved.17]"));
    }

    #[test]
    fn entries_that_are_incomplete_or_changed_are_mistakes_with_their_line() {
        for (from, to, expected) in [
            ("approved.17", "approved.x", "line 2: \"x\" in [approved] is not the number of an approval"),
            ("approved.17", "approved.017", "is not the number of an approval"),
            ("id = \"7f\"\n", "", "line 2: [approved.17] has no `id`"),
            ("id = \"7f\"", "id = \"\"", "line 7: `id` in [approved.17] has 0 bytes"),
            ("asked = 1796045911000", "asked = -1", "milliseconds"),
            ("by = \"ann\"", "by = \"ann\"\nx = 1", "unknown key `x`"),
        ] {
            let text = ENTRY.replace(from, to);
            let problem = parse(Layer::Own, &text, Policy::builtin()).expect_err(to);
            assert!(problem.contains(expected), "{problem}");
        }
        let managed = parse(Layer::Managed, ENTRY, Policy::builtin()).expect("it works");
        assert!(parse(Layer::Own, ENTRY, managed.clone()).is_ok());
        let other = ENTRY.replace("make deploy", "rm -rf /");
        let problem = parse(Layer::Own, &other, managed.clone()).expect_err("it is another");
        assert!(problem.contains("approval 17 is another one in"), "{problem}");
        assert!(parse(Layer::Repository, ENTRY, managed).is_err(), "no repository approves");
    }
}
