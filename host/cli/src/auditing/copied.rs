//! Report of `scorpiox-code audit verify --file`: the state of each chain in a copy.

use std::collections::BTreeMap;

use scorpiox_audit::{Begins, Break, Breaks, Chain, Copied};
use scorpiox_text::line::escaped;

use super::sentences::{count, push};

/// Maximum number of reported chains. If there are more, broken chains come first.
const MAX_CHAINS: usize = 50;

pub(super) fn told(found: &Copied, name: &str) -> String {
    let mut text = String::new();
    push(&mut text, "", &state(found, name));
    let mut chains: Vec<&Chain> = found.chains.iter().collect();
    if chains.len() > MAX_CHAINS {
        chains.sort_by_key(|chain| chain.is_whole());
    }
    for chain in chains.iter().take(MAX_CHAINS) {
        tell(&mut text, chain);
    }
    if let Some(rest) = chains.get(MAX_CHAINS..).filter(|rest| !rest.is_empty()) {
        let broken = rest.iter().filter(|chain| !chain.is_whole()).count() as u64;
        let rest = count(rest.len() as u64, "more chain");
        push(&mut text, "", &format!("{rest}, {broken} of them not whole."));
    }
    several(&mut text, &found.chains);
    breaks(&mut text, &found.added);
    for hash in &found.not_found {
        push(&mut text, "", &format!("No chain begins behind the line of --from {hash}."));
    }
    if found.again > 0 {
        push(&mut text, "", &format!("Left out: {} that came again.", count(found.again, "line")));
    }
    if found.apart > 0 {
        let lines = count(found.apart, "line");
        push(
            &mut text,
            "",
            &format!(
                "Not checked: {lines} of calls that were refused because the audit took no line; they are of no chain."
            ),
        );
    }
    if found.other > 0 {
        let lines = count(found.other, "line");
        push(&mut text, "", &format!("Left out: {lines} that are not whole lines of an audit."));
    }
    if !found.chains.is_empty() {
        push(&mut text, "", "Whether newer lines are missing at the end, only the audit itself can say.");
    }
    text
}

fn state(found: &Copied, name: &str) -> String {
    if found.chains.is_empty() {
        return format!("{} holds NO chain of an audit, so that nothing could be verified.", escaped(name));
    }
    let lines = count(found.chains.iter().map(|chain| chain.lines).sum(), "line");
    let chains = count(found.chains.len() as u64, "chain");
    let is_broken = !found.added.told.is_empty() || found.chains.iter().any(|c| !c.breaks.told.is_empty());
    let state = match (found.is_whole(), is_broken) {
        (true, _) => "is whole",
        (false, true) => "is BROKEN",
        (false, false) => "is NOT WHOLE",
    };
    format!("The copy {state}: {lines} in {chains}.")
}

fn tell(text: &mut String, chain: &Chain) {
    let Chain { owner, lines, numbers: (first, last), times: (from, to), begins, .. } = chain;
    let state = match (chain.is_whole(), chain.breaks.told.is_empty()) {
        (true, _) => "whole",
        (false, true) => "NOT WHOLE",
        (false, false) => "BROKEN",
    };
    let lines = count(*lines, "line");
    push(
        text,
        "",
        &format!(
            "{}: {state}: {lines}, numbers {first} to {last}, from {} to {}",
            escaped(owner),
            escaped(from),
            escaped(to)
        ),
    );
    match begins {
        Begins::First => {}
        Begins::AsSaid(_) => push(text, "  ", "begins behind the line that --from names"),
        Begins::Later(before, place) => {
            push(
                text,
                "  ",
                &format!(
                    "{}: begins with number {first}, and not with the first line of a chain. Where what is before \
                     it is in an older copy, or was rotated away, say that it may begin here:",
                    escaped(&place.to_string())
                ),
            );
            push(text, "    ", &format!("--from {before}"));
        }
    }
    breaks(text, &chain.breaks);
    push(text, "  ", &format!("last line: {}", chain.last));
}

fn breaks(text: &mut String, breaks: &Breaks) {
    for Break { place, what } in &breaks.told {
        let place =
            place.as_ref().map_or(String::new(), |place| format!("{}: ", escaped(&place.to_string())));
        push(text, "  ", &format!("{place}{what}"));
    }
    if breaks.more > 0 {
        push(text, "  ", &format!("and {} more", count(breaks.more, "place")));
    }
}

/// Mentions several chains of a user on a machine, since there should be a known reason for them.
fn several(text: &mut String, chains: &[Chain]) {
    let mut owners: BTreeMap<&str, u64> = BTreeMap::new();
    for chain in chains {
        *owners.entry(&chain.owner).or_default() += 1;
    }
    for (owner, chains) in owners.into_iter().filter(|(_, chains)| *chains > 1).take(MAX_CHAINS) {
        push(
            text,
            "",
            &format!(
                "{} has {chains} chains: there is more than one SCORPIOX_HOME, or the audit's folder was removed.",
                escaped(owner)
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use scorpiox_audit::{Broken, Place};

    use super::*;

    fn chain(owner: &str, begins: Begins, breaks: Breaks) -> Chain {
        Chain {
            owner: owner.to_owned(),
            lines: 9,
            numbers: (5, 13),
            times: ("2026-11-22T02:08:36.123Z".to_owned(), "2026-11-29T02:08:36.123Z".to_owned()),
            begins,
            last: "a".repeat(64).parse().expect("a hash"),
            breaks,
        }
    }

    #[test]
    fn each_chain_is_told_of_within_the_columns() {
        let place = || Place { file: "copy.jsonl".to_owned(), row: 3 };
        let later = Begins::Later("b".repeat(64).parse().expect("a hash"), place());
        let broken =
            Breaks { told: vec![Break { place: Some(place()), what: Broken::Missing(7, 8) }], more: 2 };
        let mut found = Copied {
            chains: vec![
                chain("ana (1000) on m1", Begins::First, Breaks::default()),
                chain("bob (1001) on m\u{1b}[2J", later, Breaks::default()),
            ],
            again: 1,
            ..Copied::default()
        };
        let text = told(&found, "copy.jsonl");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        for piece in [
            "The copy is NOT WHOLE: 18 lines in 2 chains.\n",
            "ana (1000) on m1: whole: 9 lines, numbers 5 to 13",
            "m\\u{1b}[2J: NOT WHOLE",
            "copy.jsonl line 3: begins with number 5, and not with",
            &format!("\n    --from {}\n", "b".repeat(64)),
            &format!("\n  last line: {}\n", "a".repeat(64)),
            "Left out: 1 line that came again.\n",
        ] {
            assert!(text.contains(piece), "{piece}: {text}");
        }
        found.chains[1] = chain("ana (1000) on m1", Begins::First, broken);
        let text = told(&found, "copy.jsonl");
        for piece in
            ["The copy is BROKEN: ", "numbers 7 to 8 are missing", "and 2 places more", "has 2 chains"]
        {
            assert!(text.contains(piece), "{piece}: {text}");
        }
        let none = told(&Copied::default(), "copy.jsonl");
        assert!(none.starts_with("copy.jsonl holds NO chain of an audit"), "{none}");
    }
}
