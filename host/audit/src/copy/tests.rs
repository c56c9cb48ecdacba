use super::*;
use crate::chain::Tip;

/// Returns `count` chained lines of this user.
fn chain_of(user: &str, count: usize) -> Vec<String> {
    let line = |number| {
        format!(
            "{{\"time\":\"2026-11-22T21:54:{number:02}.442Z\",\"pid\":1,\"user\":\"{user}\",\"uid\":7,\
             \"machine\":\"m1\",\"tool\":\"x\"}}\n"
        )
    };
    let lines: String = (0..count).map(line).collect();
    let (mut tip, mut out) = (Tip::START, Vec::new());
    tip.link(lines.as_bytes(), &mut out, usize::MAX);
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

fn chain(count: usize) -> Vec<String> {
    chain_of("ana", count)
}

fn verified_from(lines: &[String], from: &[LineHash]) -> Copied {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("copy.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    verify_copy(&path, from).unwrap()
}

fn verified(lines: &[String]) -> Copied {
    verified_from(lines, &[])
}

fn hash(line: &str) -> LineHash {
    LineHash(Hash::of(line.as_bytes()))
}

#[test]
fn a_copy_is_whole_in_any_order_with_words_before_its_lines_and_lines_that_came_again() {
    let lines = chain(9);
    let mut copy = lines.clone();
    copy.swap(3, 4);
    copy.extend_from_slice(&lines[2..6]);
    for line in &mut copy {
        line.insert_str(0, "Nov 22 21:54:00 m1 scorpiox-code[1]: ");
    }
    let found = verified(&copy);
    assert!(found.is_whole(), "{found:?}");
    let [chain] = found.chains.as_slice() else { panic!("{found:?}") };
    assert_eq!((chain.lines, found.again, chain.numbers), (9, 4, (1, 9)));
    assert_eq!((&chain.times.0[17..19], &chain.times.1[17..19]), ("00", "08"));
    assert_eq!((chain.owner.as_str(), chain.last), ("ana (7) on m1", hash(&lines[8])));
}

#[test]
fn a_copy_without_lines_is_not_whole() {
    let found = verified(&[]);
    assert!(found.chains.is_empty() && !found.is_whole());
    let found = verified(&["Nov 22 21:54:00 m1 something else".to_owned()]);
    assert!(found.other == 1 && !found.is_whole());
}

#[test]
fn a_copy_may_begin_later_only_where_somebody_says_so() {
    let lines = chain(9);
    let found = verified(&lines[4..]);
    assert!(!found.is_whole());
    let Begins::Later(before, place) = &found.chains[0].begins else { panic!("{found:?}") };
    assert_eq!((*before, place.row, found.chains[0].numbers.0), (hash(&lines[3]), 1, 5));
    let said: LineHash = before.to_string().to_uppercase().parse().unwrap();
    assert!(verified_from(&lines[4..], &[said]).is_whole());
    // More lines are missing than permitted.
    let found = verified_from(&lines[5..], &[said]);
    assert!(!found.is_whole() && found.not_found == [said], "{found:?}");
    // The first line of a chain follows no other line.
    assert!(!verified_from(&lines, &[said]).is_whole());
    assert!("0".repeat(64).parse::<LineHash>().is_err() && "12".parse::<LineHash>().is_err());
}

#[test]
fn each_chain_of_a_copy_is_verified_by_itself() {
    let (ana, bob) = (chain_of("ana", 9), chain_of("bob", 5));
    let mut copy: Vec<_> = ana.iter().zip(&bob).flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
    copy.extend_from_slice(&ana[5..]);
    let found = verified(&copy);
    assert!(found.is_whole() && found.chains.len() == 2, "{found:?}");
    copy.retain(|line| *line != bob[2]);
    let found = verified(&copy);
    let told: Vec<_> = found.chains.iter().map(|chain| (chain.is_whole(), chain.lines)).collect();
    assert_eq!(told, [(true, 9), (false, 4)]);
    assert_eq!(found.chains[1].breaks.told[0].what, Broken::Missing(3, 3));
}

#[test]
fn one_user_may_have_several_homes() {
    let (one, other) = (chain(9), chain(6));
    // Same user and machine, different beginning.
    let other: Vec<_> = {
        let text = other.join("\n").replace("\"pid\":1", "\"pid\":2");
        let (mut tip, mut out) = (Tip::START, Vec::new());
        let mut bare = String::new();
        for line in text.lines() {
            bare += &line[..line.find(",\"n\":").unwrap()];
            bare += "}\n";
        }
        tip.link(bare.as_bytes(), &mut out, usize::MAX);
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    };
    let mut copy = one.clone();
    copy.extend_from_slice(&other);
    let found = verified(&copy);
    assert!(found.is_whole() && found.chains.len() == 2, "{found:?}");
    // The remainder of the second chain is not joined to the first.
    let mut copy = one;
    copy.extend_from_slice(&other[3..]);
    let found = verified(&copy);
    assert!(found.chains[0].is_whole() && !found.chains[1].is_whole(), "{found:?}");
    assert_eq!(found.chains[1].numbers, (4, 6));
}

#[test]
fn what_was_done_to_a_copy_is_found() {
    let lines = chain(9);
    let broken = |change: &dyn Fn(&mut Vec<String>)| {
        let mut copy = lines.clone();
        change(&mut copy);
        let found = verified(&copy);
        assert!(!found.is_whole());
        let told = found.chains.iter().flat_map(|chain| &chain.breaks.told).chain(&found.added.told);
        told.map(|found| found.what.clone()).collect::<Vec<_>>()
    };
    assert_eq!(broken(&|copy| drop(copy.remove(4))), [Broken::Missing(5, 5)]);
    assert_eq!(broken(&|copy| copy[4] = copy[4].replace("\"x\"", "\"y\"")), [Broken::Changed(5)]);
    assert_eq!(broken(&|copy| copy[0] = copy[0].replace("\"x\"", "\"y\"")), [Broken::Changed(1)]);
    let other = |copy: &mut Vec<String>| copy.push(copy[4].replace("\"x\"", "\"y\""));
    assert_eq!(broken(&other), [Broken::Twice(5)]);
    // The same with the duplicate before the genuine line.
    let before = |copy: &mut Vec<String>| copy.insert(0, copy[4].replace("\"x\"", "\"y\""));
    assert_eq!(broken(&before), [Broken::Twice(5)]);
    let added = |copy: &mut Vec<String>| copy.push("{\"tool\":\"x\"}".to_owned());
    let apart = "{\"tool\":\"x\",\"outcome\":\"refused\",\"fault\":\"not-recorded\"}".to_owned();
    let found = verified(&[lines.clone(), vec![apart]].concat());
    assert!(found.is_whole() && found.apart == 1, "{found:?}");
    assert_eq!(broken(&added), [Broken::Added]);
    // A truncated line counts as missing.
    assert_eq!(broken(&|copy| copy[4].truncate(60)), [Broken::Missing(5, 5)]);
    let anew = |copy: &mut Vec<String>| {
        let begin = copy[4].len() - 66;
        copy[4].replace_range(begin.., &format!("{}\"}}", "0".repeat(64)));
    };
    assert_eq!(broken(&anew), [Broken::BegunAnew(5), Broken::Changed(5)]);
    // A missing first line is reported by `begins`, not as a break.
    assert_eq!(broken(&|copy| drop(copy.remove(0))), []);
}
