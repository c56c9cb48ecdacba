//! Report of `scorpiox-code audit verify --against`: differences between an audit and its copies.

use scorpiox_text::line::escaped;

use super::against::{Against, Difference};
use super::sentences::{count, push};

pub(super) fn told(found: &Against) -> String {
    let mut text = String::new();
    let state = if found.is_whole() { "has all" } else { "has NOT all" };
    let same = count(found.same, "line");
    push(&mut text, "", &format!("The audit {state} that the copies have: {same} in both."));
    for difference in &found.differences {
        push(&mut text, "  ", &sentence(difference));
        if let Difference::OtherChain { last, .. } = difference {
            push(&mut text, "  ", &format!("--elsewhere {last}"));
        }
    }
    if found.more > 0 {
        push(&mut text, "  ", &format!("and {}", count(found.more, "more difference")));
    }
    for hash in &found.not_found {
        push(
            &mut text,
            "  ",
            &format!("no other chain in the copies ends with the line of --elsewhere {hash}"),
        );
    }
    if found.rotated > 0 {
        let lines = count(found.rotated, "line");
        push(&mut text, "", &format!("Not compared: {lines} older than the audit's first one."));
    }
    if found.unchained > 0 {
        let lines = count(found.unchained, "line");
        push(
            &mut text,
            "",
            &format!("Not compared: {lines} of copies without a link; audit verify --file looks at them."),
        );
    }
    if found.only_here > 0 {
        let lines = count(found.only_here, "line");
        push(&mut text, "", &format!("{lines} of the audit are in no copy, so that nothing confirms them."));
    }
    text
}

fn sentence(difference: &Difference) -> String {
    let range = |from: u64, to: u64| {
        if from == to {
            format!("number {from} of a copy is")
        } else {
            format!("numbers {from} to {to} of a copy are")
        }
    };
    match difference {
        Difference::Missing(from, to) => format!("{} not in the audit: removed", range(*from, *to)),
        Difference::Changed(from, to) => format!("{} another line in the audit: changed", range(*from, *to)),
        Difference::OtherChain { owner, numbers: (from, to), times: (first, last), .. } => format!(
            "a copy has a chain of {}, numbers {from} to {to}, from {} to {}, and the audit has nothing of it: the log \
             and its head were removed, or the copy has lost the lines behind number {to}. If it is of another \
             SCORPIOX_HOME, say so:",
            escaped(owner),
            escaped(first),
            escaped(last)
        ),
        Difference::NothingOfIt => {
            "the copies have no line of this audit: it was made anew, or they are copies of another one"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_within_the_columns() {
        let last: scorpiox_audit::LineHash = "a".repeat(64).parse().expect("a hash");
        let times = ("2026-11-22T02:08:36.123Z".to_owned(), "2026-11-29T02:08:36.123Z".to_owned());
        let other = Difference::OtherChain {
            owner: "ana (1000) on m\u{1b}[2J".to_owned(),
            numbers: (1, 9),
            times,
            last,
        };
        let differences =
            vec![Difference::Missing(7, 9), Difference::Changed(4, 4), other, Difference::NothingOfIt];
        let found = Against {
            same: 3,
            differences,
            rotated: 2,
            only_here: 1,
            not_found: vec![last],
            more: 1,
            unchained: 1,
        };
        let text = told(&found);
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        for piece in [
            "The audit has NOT all that the copies have: 3 lines in both.\n",
            "  numbers 7 to 9 of a copy are not in the audit: removed\n",
            "  number 4 of a copy is another line in the audit: changed\n",
            "m\\u{1b}[2J, numbers 1 to 9",
            &format!("--elsewhere {last}"),
            "Not compared: 2 lines older",
        ] {
            assert!(text.contains(piece), "{piece}:\n{text}");
        }
        assert!(told(&Against { same: 3, ..Against::default() }).starts_with("The audit has all that"));
    }
}
