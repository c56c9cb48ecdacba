//! URL parameters that do not affect the content.

use super::{Care, normalised};

/// Tracking parameters, each documented by its inventor.
const TRACKING: [&str; 62] = [
    // Advertising: Google, Meta, Microsoft, Yandex, X, TikTok, Reddit, Pinterest, Snapchat, LinkedIn.
    "gclid",
    "gclsrc",
    "gbraid",
    "wbraid",
    "dclid",
    "gad_source",
    "gad_campaignid",
    "srsltid",
    "fbclid",
    "fb_action_ids",
    "fb_action_types",
    "fb_source",
    "msclkid",
    "yclid",
    "ysclid",
    "twclid",
    "ttclid",
    "rdt_cid",
    "epik",
    "sccid",
    "li_fat_id",
    "igshid",
    "igsh",
    // Email: Mailchimp, Marketo, HubSpot, Klaviyo, Vero, Omeda, Drip, Iterable.
    "mc_cid",
    "mc_eid",
    "mc_tc",
    "mkt_tok",
    "_hsenc",
    "_hsmi",
    "__hssc",
    "__hstc",
    "__hsfp",
    "hsctatracking",
    "_kx",
    "vero_id",
    "vero_conv",
    "oly_anon_id",
    "oly_enc_id",
    "__s",
    // Analytics: Google, Matomo, Adobe, Yahoo, Openstat, Webtrekk, Wikimedia.
    "_ga",
    "_gl",
    "pk_campaign",
    "pk_kwd",
    "pk_source",
    "pk_medium",
    "pk_content",
    "piwik_campaign",
    "piwik_kwd",
    "mtm_campaign",
    "mtm_keyword",
    "mtm_source",
    "mtm_medium",
    "mtm_content",
    "s_kwcid",
    "ef_id",
    "guccounter",
    "guce_referrer",
    "guce_referrer_sig",
    "_openstat",
    "wt_mc",
    "wprov",
    "ref_src",
];
/// Session ID parameters that servers themselves add to URLs.
const SESSIONS: [&str; 6] = ["phpsessid", "jsessionid", "cfid", "cftoken", "oscsid", "zenid"];
/// Session ID parameters whose names may have other meanings. Only long values count as session IDs.
const LIKELY_SESSIONS: [&str; 6] = ["sid", "s", "session", "sessionid", "session_id", "sess"];
/// Minimum length of such a value; a shorter one is the ID of something else.
const MIN_SESSION: usize = 24;
/// Parameters that select the AMP variant.
const VARIANTS: [(&str, &[&str]); 3] =
    [("amp", &["", "1", "true"]), ("outputtype", &["amp"]), ("output", &["amp"])];
/// Top-level domains of hosts with which blogs identify themselves in links.
const HOSTS: [&str; 14] =
    ["com", "org", "net", "io", "dev", "co", "news", "blog", "xyz", "app", "ai", "me", "tech", "uk"];

/// Returns the relevant parameters in sorted order. The values of each name keep their order.
pub(super) fn identity(query: &str, care: Care) -> String {
    let mut kept: Vec<(String, String)> = query
        .split('&')
        .filter(|part| !part.is_empty() && !is_tracking(part) && !is_left_out(part, care))
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (spaced(name), spaced(value))
        })
        .collect();
    kept.sort_by(|one, other| one.0.cmp(&other.0));
    let written = kept
        .iter()
        .map(|(name, value)| if value.is_empty() { name.clone() } else { format!("{name}={value}") });
    written.collect::<Vec<_>>().join("&")
}

/// Returns a URL without a fragment for display, without tracking parameters.
pub(super) fn shown(address: &str) -> String {
    let Some((place, query)) = address.split_once('?') else { return address.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|part| !is_tracking(part)).collect();
    if kept.iter().all(|part| part.is_empty()) {
        place.to_owned()
    } else {
        format!("{place}?{}", kept.join("&"))
    }
}

/// Returns `true` if a fragment consists only of tracking parameters.
pub(super) fn is_all_tracking(fragment: &str) -> bool {
    fragment.contains('=') && fragment.trim_start_matches('?').split('&').all(is_tracking)
}

fn is_tracking(part: &str) -> bool {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    let name = name.to_ascii_lowercase();
    name.starts_with("utm_")
        || TRACKING.contains(&name.as_str())
        || SESSIONS.contains(&name.as_str())
        || name.starts_with("aspsessionid")
        || name == "ref" && is_host(value)
}

/// Returns `true` for a host: `ref=blog.example.com` is the origin of a link, but `ref=main` and `ref=v1.2`
/// are versions.
fn is_host(value: &str) -> bool {
    let Some((name, ending)) = value.rsplit_once('.') else { return false };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    HOSTS.contains(&ending) && name.chars().all(fits) && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_left_out(part: &str, care: Care) -> bool {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    let name = name.to_ascii_lowercase();
    let is_variant = || {
        VARIANTS
            .iter()
            .any(|(known, values)| *known == name && values.contains(&value.to_ascii_lowercase().as_str()))
    };
    care > Care::Certain && is_variant()
        || care == Care::WithoutSession && LIKELY_SESSIONS.contains(&name.as_str()) && is_random(value)
}

fn is_random(value: &str) -> bool {
    let is_long = value.len() >= MIN_SESSION && value.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_long
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn spaced(part: &str) -> String {
    normalised(&part.replace('+', "%20"))
}
