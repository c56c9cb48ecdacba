//! Hosts with the same pages.

use super::Care;

/// Sites whose mobile host has an infix: `en.m.wikipedia.org`.
const WIKIS: [&str; 11] = [
    "wikipedia.org",
    "wiktionary.org",
    "wikibooks.org",
    "wikinews.org",
    "wikiquote.org",
    "wikisource.org",
    "wikiversity.org",
    "wikivoyage.org",
    "wikimedia.org",
    "wikidata.org",
    "mediawiki.org",
];
/// Site whose former designs are on separate hosts.
const REDDIT: &str = "reddit.com";
const LOOKS: [&str; 5] = ["old", "new", "np", "sh", "m"];
/// Prefixes of mobile and AMP hosts on most sites.
const VARIANTS: [&str; 3] = ["m.", "mobile.", "amp."];

/// Returns the host in lower case and in its DNS form, without `www.`.
pub(super) fn identity(host: &str, care: Care) -> String {
    let host = host.trim_end_matches('.');
    let host = host.strip_prefix("www.").filter(|rest| is_name(rest)).unwrap_or(host);
    if let Some(prefix) = host.strip_suffix(REDDIT).and_then(|rest| rest.strip_suffix('.'))
        && LOOKS.contains(&prefix)
    {
        return REDDIT.to_owned();
    }
    if let Some(site) = WIKIS.iter().find(|site| host.ends_with(*site)) {
        let prefix = host.strip_suffix(*site).unwrap_or_default();
        if let Some(before) = prefix.strip_suffix("m.").filter(|rest| rest.is_empty() || rest.ends_with('.'))
        {
            return format!("{before}{site}");
        }
    }
    if care == Care::Certain {
        return host.to_owned();
    }
    let without = VARIANTS.iter().find_map(|variant| host.strip_prefix(variant));
    without.filter(|rest| is_name(rest)).unwrap_or(host).to_owned()
}

/// Returns `true` if the rest can be a site. `m.me` and `www.com` would not be sites without their first
/// label.
fn is_name(rest: &str) -> bool {
    rest.contains('.') && !rest.starts_with('.')
}
