//! Finds similar names for suggestions.

/// Maximum number of characters of a name that are compared.
const COMPARED: usize = 64;
/// Maximum edit distance between a name and a misspelled name.
const SLIPS: usize = 2;

/// Returns up to `most` of `names`, the most similar to `wanted` first: names that contain it or are
/// contained in it, then by edit distance. Ties keep their order.
pub(crate) fn nearest<'a>(wanted: &str, names: &[&'a str], most: usize) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut ranked: Vec<_> = names.iter().map(|name| (distance_rank(&wanted, name), *name)).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().take(most).map(|(_, name)| name).collect()
}

/// Returns the name that differs from `wanted` by at most `SLIPS` edits.
pub(crate) fn meant<'a>(wanted: &str, names: &[&'a str]) -> Option<&'a str> {
    let near = names.iter().map(|name| (edit_distance(wanted, &name.to_lowercase()), *name));
    near.filter(|(distance, _)| (1..=SLIPS).contains(distance)).min().map(|(_, name)| name)
}

fn distance_rank(wanted: &str, name: &str) -> (bool, usize) {
    let name = name.to_lowercase();
    let related = !wanted.is_empty() && (name.contains(wanted) || wanted.contains(&name));
    (!related, edit_distance(wanted, &name))
}

/// Returns the Levenshtein distance of the first `COMPARED` characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(COMPARED).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(COMPARED).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn related_names_come_before_similar_ones() {
        let names = ["brainstorming", "writing-plans", "writing-skills", "executing-plans"];
        assert_eq!(nearest("plans", &names, 2), ["writing-plans", "executing-plans"]);
        assert_eq!(nearest("brainstormign", &names, 1), ["brainstorming"]);
        assert_eq!(nearest("Writing-Skill", &names, 1), ["writing-skills"]);
        assert_eq!(nearest("", &names, 9).len(), 4);
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("abc", "abc"), 0);
    }
}
