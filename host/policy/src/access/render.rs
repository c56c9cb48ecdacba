//! Renders the tables as valid TOML, each line with its source.

use std::collections::BTreeMap;

use crate::document::{Page, quote, show_size};
use crate::rule::{NamePattern, Source, Sourced};

use crate::access::auth::{Auth, Jwt, KeysFrom, Token};
use crate::access::http::{HttpPolicy, ObservePolicy};
use crate::access::limits::LimitsPolicy;
use crate::access::rules::AccessPolicy;
use crate::access::served::ServedWorkspace;
use crate::access::who::Who;

/// Renders `[http]`, unless it has only defaults.
pub fn render_http(page: &mut Page, http: &HttpPolicy) {
    if !http.is_set() {
        return;
    }
    page.header("http", http.source);
    if let Some(url) = &http.url {
        page.line(&format!("url = {}", quote(&url.value)), url.source);
    }
    for (key, listed, origin) in
        [("hosts", &http.hosts, http.hosts_origin), ("origins", &http.origins, http.origins_origin)]
    {
        if origin != Source::Builtin {
            page.list(key, &texts(listed), origin);
        }
    }
    if http.proxies_origin != Source::Builtin {
        let proxies: Vec<_> = http.proxies.iter().map(|rule| (rule.to_string(), rule.source)).collect();
        page.list("proxies", &proxies, http.proxies_origin);
    }
    if let Some(tls) = &http.tls {
        page.header("http.tls", tls.source);
        page.line(&format!("certificate = {}", quote(&tls.value.certificate)), tls.source);
        page.line(&format!("key = {}", quote(&tls.value.key)), tls.source);
    }
    page.header("http.auth", http.auth.source);
    auth(page, &http.auth);
    observe(page, &http.observe);
    if let Some(admin) = &http.admin {
        page.header("http.admin", admin.source);
        who(page, &admin.value, admin.source);
    }
}

fn observe(page: &mut Page, observe: &ObservePolicy) {
    let Some(source) = observe.source else { return };
    page.header("http.observe", source);
    if let Some(listen) = &observe.listen {
        let quoted: Vec<_> = listen.value.iter().map(|address| format!("\"{address}\"")).collect();
        let text = match &quoted[..] {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        page.line(&format!("listen = {text}"), listen.source);
    }
    for (key, text) in [("traces", &observe.traces), ("ca", &observe.ca)] {
        if let Some(text) = text {
            page.line(&format!("{key} = {}", quote(&text.value)), text.source);
        }
    }
}

fn texts(listed: &[Sourced<String>]) -> Vec<(String, Source)> {
    listed.iter().map(|text| (text.value.clone(), text.source)).collect()
}

fn auth(page: &mut Page, auth: &Sourced<Auth>) {
    let source = auth.source;
    match &auth.value {
        Auth::OwnToken => page.line("kind = \"token\"", source),
        Auth::Nothing => page.line("kind = \"none\"", source),
        Auth::Jwt(issuers) => {
            page.line("kind = \"jwt\"", source);
            for issuer in &issuers.all {
                if let Some(name) = &issuer.value.name {
                    page.header(&format!("http.auth.issuers.{}", quote(name)), issuer.source);
                }
                jwt(page, &issuer.value, issuer.source);
            }
            tokens(page, &issuers.tokens);
        }
        Auth::Tokens(named) => {
            page.line("kind = \"token\"", source);
            if named.is_empty() {
                page.header("http.auth.tokens", source);
            }
            tokens(page, named);
        }
    }
}

fn tokens(page: &mut Page, tokens: &BTreeMap<String, Sourced<Token>>) {
    for (name, token) in tokens {
        page.header(&format!("http.auth.tokens.{}", quote(name)), token.source);
        let hash = token.value.sha256.iter().map(|byte| format!("{byte:02x}"));
        page.line(&format!("sha256 = \"{}\"", hash.collect::<String>()), token.source);
        words(page, "scopes", &token.value.scopes, token.source);
        words(page, "groups", &token.value.groups, token.source);
    }
}

fn jwt(page: &mut Page, jwt: &Jwt, source: Source) {
    page.line(&format!("issuer = {}", quote(&jwt.issuer)), source);
    words(page, "audiences", &jwt.audiences, source);
    match &jwt.keys {
        KeysFrom::File(path) => page.line(&format!("jwks_file = {}", quote(path)), source),
        KeysFrom::Url(url) => page.line(&format!("jwks_url = {}", quote(url)), source),
    }
    if let Some(ca) = &jwt.ca {
        page.line(&format!("ca = {}", quote(ca)), source);
    }
    let algorithms: Vec<_> = jwt.algorithms.iter().map(|algorithm| algorithm.name().to_owned()).collect();
    words(page, "algorithms", &algorithms, source);
    page.line(&format!("clock_skew = {}", jwt.clock_skew), source);
    words(page, "scopes", &jwt.scopes, source);
    for (key, claim) in [("groups_claim", &jwt.groups_claim), ("name_claim", &jwt.name_claim)] {
        if let Some(claim) = claim {
            page.line(&format!("{key} = {}", quote(claim)), source);
        }
    }
}

/// Renders a list of strings, unless it is empty.
fn words<'a>(page: &mut Page, key: &str, listed: impl IntoIterator<Item = &'a String>, source: Source) {
    let listed: Vec<_> = listed.into_iter().map(|word| (word.clone(), source)).collect();
    if !listed.is_empty() {
        page.list(key, &listed, source);
    }
}

/// Renders the selected principals. An empty list selects nobody.
fn who(page: &mut Page, who: &Who, source: Source) {
    if let Some(principals) = &who.principals {
        let listed: Vec<_> = principals.iter().map(|name| (name.to_string(), source)).collect();
        page.list("principals", &listed, source);
    }
    if let Some(groups) = &who.groups {
        let listed: Vec<_> = groups.iter().map(|group| (group.clone(), source)).collect();
        page.list("groups", &listed, source);
    }
    words(page, "scopes", &who.scopes, source);
}

/// Returns the table that admits the bearer of a token; the user adds it to the policy.
pub fn token_table(name: &str, sha256: &str, scopes: &[String], groups: &[String]) -> String {
    let mut table = format!("[http.auth.tokens.{}]\nsha256 = \"{sha256}\"\n", quote(name));
    for (member, words) in [("scopes", scopes), ("groups", groups)] {
        if !words.is_empty() {
            let words: Vec<_> = words.iter().map(|word| quote(word)).collect();
            table.extend([member, " = [", &words.join(", "), "]\n"]);
        }
    }
    table
}

/// Renders all `[access.NAME]` tables.
pub fn render_access(page: &mut Page, access: &AccessPolicy) {
    if let Some(outer) = &access.outer {
        render_access(page, outer);
    }
    for (name, rule) in &access.rules {
        page.header(&format!("access.{}", quote(name)), rule.source);
        who(page, &rule.who, rule.source);
        let tools = |listed: &[Sourced<NamePattern>]| -> Vec<_> {
            listed.iter().map(|tool| (tool.value.to_string(), tool.source)).collect()
        };
        if let Some(allow) = &rule.allow {
            page.list("allow", &tools(allow), rule.allow_origin);
        }
        if !rule.deny.is_empty() {
            page.list("deny", &tools(&rule.deny), rule.deny_origin);
        }
    }
}

/// Renders all `[limits.NAME]` tables.
pub fn render_limits(page: &mut Page, limits: &LimitsPolicy) {
    for (name, rule) in limits.all() {
        page.header(&format!("limits.{}", quote(name)), rule.source);
        who(page, &rule.who, rule.source);
        if let Some(tools) = &rule.tools {
            let tools: Vec<_> = tools.iter().map(|tool| (tool.value.to_string(), tool.source)).collect();
            page.list("tools", &tools, rule.tools_origin);
        }
        let mut line = |key: &str, bound: Option<(String, Source)>| {
            if let Some((value, source)) = bound {
                page.line(&format!("{key} = {value}"), source);
            }
        };
        let small =
            |bound: &Option<Sourced<u32>>| bound.as_ref().map(|said| (said.value.to_string(), said.source));
        let large =
            |bound: &Option<Sourced<u64>>| bound.as_ref().map(|said| (said.value.to_string(), said.source));
        line("in_flight", small(&rule.in_flight));
        line("calls_per_minute", small(&rule.calls_per_minute));
        line("calls_per_day", large(&rule.calls_per_day));
        line("processor_seconds_per_day", large(&rule.processor_seconds_per_day));
        let stored = rule.stored_per_day.as_ref();
        line("stored_per_day", stored.map(|said| (quote(&show_size(said.value)), said.source)));
    }
}

/// Renders a `[workspace.NAME]` table.
pub fn render_workspace(page: &mut Page, name: &str, workspace: &ServedWorkspace) {
    page.header(&format!("workspace.{}", quote(name)), workspace.source);
    if let Some(path) = &workspace.path {
        page.line(&format!("path = {}", quote(path)), workspace.source);
    }
    who(page, &workspace.who, workspace.source);
}
