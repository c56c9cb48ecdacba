//! Groups the results of all engines by page.

use std::collections::BTreeMap;

use super::{certain, likely, without_session};
use crate::engine::Hit;
use crate::snippet;

/// Maximum number of URL variants whose titles and snippets are compared with each other.
const MAX_ALIKE: usize = 16;

/// Maps each certain identity to the identity that represents the page.
pub(crate) type Groups = BTreeMap<String, String>;

/// Groups results by page. The groups do not depend on the order of the results.
pub(crate) fn of<'a>(hits: impl Iterator<Item = &'a Hit>) -> Groups {
    let mut spellings: BTreeMap<String, Vec<&Hit>> = BTreeMap::new();
    for hit in hits {
        spellings.entry(certain(&hit.url)).or_default().push(hit);
    }
    for hits in spellings.values_mut() {
        hits.sort_by(|one, other| {
            (&one.url, &one.title, &one.snippet).cmp(&(&other.url, &other.title, &other.snippet))
        });
    }
    let mut groups: Groups = spellings.keys().map(|own| (own.clone(), own.clone())).collect();
    join(&mut groups, &spellings, likely, |one, other| snippet::same_title(&one.title, &other.title));
    join(&mut groups, &spellings, without_session, |one, other| {
        snippet::same_title(&one.title, &other.title) && snippet::same_text(&one.snippet, &other.snippet)
    });
    groups
}

/// Joins results that share a wider identity and have the same content.
fn join(
    groups: &mut Groups,
    spellings: &BTreeMap<String, Vec<&Hit>>,
    wider: fn(&str) -> String,
    shows_same: impl Fn(&Hit, &Hit) -> bool,
) {
    let mut alike: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for (own, hits) in spellings {
        if let Some(hit) = hits.first() {
            alike.entry(wider(&hit.url)).or_default().push(own);
        }
    }
    for names in alike.values().filter(|names| names.len() > 1) {
        let names: Vec<&String> = names.iter().copied().take(MAX_ALIKE).collect();
        for (at, name) in names.iter().enumerate() {
            let hits = |name: &str| spellings.get(name).into_iter().flatten().take(MAX_ALIKE);
            let earlier = names.iter().take(at);
            let same = earlier
                .copied()
                .find(|earlier| hits(earlier).any(|one| hits(name).any(|other| shows_same(one, other))));
            if let Some(stands) = same.and_then(|same| groups.get(same)).cloned() {
                let former = groups.get(*name).cloned();
                for group in groups.values_mut().filter(|group| Some(&**group) == former.as_ref()) {
                    group.clone_from(&stands);
                }
            }
        }
    }
}
