//! Detects pages that are only a shell for scripts.

use dom_query::{Document as Dom, NodeRef};

/// Maximum number of text characters of a page that may be a shell.
const LITTLE_TEXT: usize = 400;
/// Number of characters below which a page with scripts is a shell, independent of its framework.
const HARDLY_ANY: usize = 40;

/// Selectors for scripts that are preloaded.
const LOADED: &str = "link[rel=modulepreload], link[rel=preload][as=script]";
/// Selectors for the root elements of frameworks.
const ROOTS: &str = "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #react-root, #q-app, #application, \
    #main-app, #app-root, #root-app, #docsify, #swagger-ui, #redoc, app-root, [ng-app], [data-reactroot], \
    [data-server-rendered], [data-ember-action], [ng-version], [data-v-app], rapi-doc, redoc, elements-api";

/// Returns `true` if the page has text. The text of `noscript` counts if it is part of the page.
pub(super) fn has_text(dom: &Dom, is_for_no_scripts: bool) -> bool {
    visible_chars(dom, is_for_no_scripts, 1) > 0
        || dom.select("body img[src], body math, body svg text").exists()
}

pub(super) fn is_shell(dom: &Dom, is_for_no_scripts: bool) -> bool {
    let scripts = dom.select("script").nodes().iter().any(runs);
    if !scripts && !dom.select(LOADED).exists() {
        return false;
    }
    let chars = visible_chars(dom, is_for_no_scripts, LITTLE_TEXT + 1);
    let has_little = chars <= LITTLE_TEXT;
    chars < HARDLY_ANY || has_little && (dom.select(ROOTS).exists() || asks_for_scripts(dom))
}

fn runs(script: &NodeRef<'_>) -> bool {
    let kind = script.attr_or("type", "").to_ascii_lowercase();
    kind.is_empty() || kind.contains("javascript") || kind == "module"
}

/// Returns `true` for `<noscript>You need to enable JavaScript to run this app.</noscript>` and similar
/// texts.
fn asks_for_scripts(dom: &Dom) -> bool {
    dom.select("noscript").nodes().iter().any(|noscript| {
        let text = noscript.text().to_ascii_lowercase();
        text.contains("javascript") || text.contains("java script")
    })
}

/// Counts visible characters without whitespace, up to `enough`.
fn visible_chars(dom: &Dom, is_for_no_scripts: bool, enough: usize) -> usize {
    let Some(body) = dom.body() else { return 0 };
    let mut count = 0;
    for text in body.descendants_it().filter(NodeRef::is_text) {
        let is_unseen = |node: &NodeRef<'_>| {
            ["script", "style", "template", "title"].iter().any(|name| node.has_name(name))
                || !is_for_no_scripts && node.has_name("noscript")
        };
        if text.ancestors_it(None).any(|node| is_unseen(&node)) {
            continue;
        }
        count += text.text().chars().filter(|c| !c.is_whitespace()).count();
        if count >= enough {
            break;
        }
    }
    count
}
