//! Compares two versions of a skill for the user who decides about the new one.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use scorpiox_terminal::{columns, one_line, size, wrapped};

use crate::skills::files::SkillFiles;

/// Maximum number of displayed lines of a file.
const MAX_LINES: usize = 60;
/// Maximum number of line pairs to compare. Longer files are shown as completely different.
const MAX_PAIRS: usize = 4_000_000;
/// Maximum width of a file's name, in columns.
const MAX_NAME: usize = 60;

/// Describes the differences: `+` for new files, `-` for removed ones, and `~` for changed ones, with the
/// changed lines of texts.
pub fn difference(old: &SkillFiles, new: &SkillFiles) -> String {
    let mut text = String::new();
    let names: BTreeSet<&str> = old.names().chain(new.names()).map(|(name, _)| name).collect();
    for name in names {
        let shown = one_line(name, MAX_NAME);
        match (old.get(name), new.get(name)) {
            (Some(before), Some(after)) if before == after => {}
            (Some(before), Some(after)) => {
                let _ = writeln!(text, "  ~ {shown}");
                if let (Ok(before), Ok(after)) = (str::from_utf8(before), str::from_utf8(after)) {
                    changed(&mut text, before, after);
                }
            }
            (Some(_), None) => _ = writeln!(text, "  - {shown}"),
            (None, after) => {
                let bytes = after.map_or(0, <[u8]>::len);
                let _ = writeln!(text, "  + {shown}, {}", size(bytes as u64));
            }
        }
    }
    text
}

fn changed(out: &mut String, before: &str, after: &str) {
    let lines = changed_lines(before, after);
    for (sign, line) in lines.iter().take(MAX_LINES) {
        for piece in wrapped(line, columns() - 8) {
            let _ = writeln!(out, "      {sign} {}", one_line(&piece, columns() - 8));
        }
        if line.is_empty() {
            let _ = writeln!(out, "      {sign}");
        }
    }
    if lines.len() > MAX_LINES {
        let _ = writeln!(out, "      and {} more lines", lines.len() - MAX_LINES);
    }
}

/// Returns the removed and the added lines in order, by a longest common subsequence.
fn changed_lines<'a>(before: &'a str, after: &'a str) -> Vec<(char, &'a str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let is_same = |(one, other): &(&&str, &&str)| one == other;
    let begin = old.iter().zip(&new).take_while(is_same).count();
    let end = old[begin..].iter().rev().zip(new[begin..].iter().rev()).take_while(is_same).count();
    let (old, new) = (&old[begin..old.len() - end], &new[begin..new.len() - end]);
    let mut lines = Vec::new();
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        lines.extend(old.iter().map(|line| ('-', *line)));
        lines.extend(new.iter().map(|line| ('+', *line)));
        return lines;
    }
    let lengths = common_lengths(old, new);
    let (mut from, mut to) = (0, 0);
    loop {
        match (old.get(from), new.get(to)) {
            (Some(one), Some(other)) if one == other => (from, to) = (from + 1, to + 1),
            (Some(one), other) if other.is_none() || lengths[from + 1][to] >= lengths[from][to + 1] => {
                lines.push(('-', *one));
                from += 1;
            }
            (_, Some(other)) => {
                lines.push(('+', *other));
                to += 1;
            }
            (_, None) => return lines,
        }
    }
}

/// Returns the length of the longest common subsequence of each pair of tails.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<Vec<u32>> {
    let mut lengths = vec![vec![0; new.len() + 1]; old.len() + 1];
    for from in (0..old.len()).rev() {
        for to in (0..new.len()).rev() {
            lengths[from][to] = if old[from] == new[to] {
                lengths[from + 1][to + 1] + 1
            } else {
                lengths[from + 1][to].max(lengths[from][to + 1])
            };
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_stand_in_their_order() {
        assert!(changed_lines("a\nb\n", "a\nb\n").is_empty());
        assert_eq!(changed_lines("a\nb\nc\n", "a\nx\nc\n"), [('-', "b"), ('+', "x")]);
        assert_eq!(changed_lines("", "a\n"), [('+', "a")]);
        assert_eq!(changed_lines("a\nb\n", ""), [('-', "a"), ('-', "b")]);
        let both = changed_lines("1\n2\n3\n4\n", "0\n2\n4\n5\n");
        assert_eq!(both, [('-', "1"), ('+', "0"), ('-', "3"), ('+', "5")]);
        let many = |c: &str| format!("{c}\n").repeat(3000);
        assert_eq!(changed_lines(&many("a"), &many("b")).len(), 6000);
    }

    #[test]
    fn files_are_named_with_what_became_of_them() {
        let home = tempfile::tempdir().expect("a folder");
        let version = |name: &str, files: &[(&str, &str)]| {
            let folder = home.path().join(name);
            std::fs::create_dir(&folder).expect("a folder");
            for (name, text) in files {
                std::fs::write(folder.join(name), text).expect("writes");
            }
            SkillFiles::read(&folder).expect("reads").0
        };
        let old = version("old", &[("SKILL.md", "one\ntwo\n"), ("gone.md", "x"), ("same.md", "x")]);
        let new = version("new", &[("SKILL.md", "one\n\u{1b}three\n"), ("new.md", "xy"), ("same.md", "x")]);
        let text = difference(&old, &new);
        let expected = "  ~ SKILL.md\n      - two\n      + \\u{1b}three\n  - gone.md\n  + new.md, 2 bytes\n";
        assert_eq!(text, expected);
        assert_eq!(difference(&new, &new), "");
    }
}
