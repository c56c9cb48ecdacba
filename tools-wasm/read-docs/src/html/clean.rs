//! Removes what is not content: navigation, what is hidden, controls, and the permanent links
//! beside headings. For pages whose content is taken whole; extraction has rules of its own.

use dom_query::{Document as Dom, NodeRef};

/// Never content.
const NOISE: &str = "script, style, noscript, template, nav, aside, footer, dialog, button, select, textarea, \
    input, svg, canvas, object, embed, iframe:not([src]), link, meta, \
    [role=navigation], [role=search], [role=banner], [role=contentinfo], [role=complementary], \
    [role=menu], [role=menubar], [role=toolbar], [role=dialog], [role=tablist], [hidden], [aria-hidden=true], \
    a.headerlink, a.header-anchor, a.hash-link, a.doc-anchor, a.anchorjs-link, a.heading-link, \
    .sphinxsidebar, .breadcrumbs, .breadcrumb, .skip-link, .skiplink, .skip-to-content, .sr-only, \
    .mw-editsection, .mw-jump-link, .navbox, .catlinks, .printfooter, .theme-doc-toc-mobile, .pagination-nav, \
    summary.hideme, .rustdoc-breadcrumbs, .cookie-banner, #cookie-banner, .rustdoc-toolbar, #copy-path, rustdoc-toolbar, rustdoc-topbar, \
    .sidebar-toc, .table-of-contents, .edit-this-page, .prev-next-area, .rst-footer-buttons, .mobile-nav-chapters, \
    .nav-chapters, .nav-wrapper";

/// Removes it below a node, which stays itself.
pub(super) fn clean(dom: &Dom, root: &NodeRef<'_>) {
    for node in dom.select(NOISE).nodes() {
        if !holds_content(node, root) {
            node.remove_from_parent();
        }
    }
    for node in dom.select("[style]").nodes() {
        let style = node.attr_or("style", "").to_ascii_lowercase().replace(' ', "");
        if style.contains("display:none") || style.contains("visibility:hidden") {
            node.remove_from_parent();
        }
    }
}

/// The banner of a site, when the whole body is taken.
pub(super) fn drop_banner(dom: &Dom) {
    for header in dom.select("body header").nodes() {
        let within = header.ancestors_it(None).any(|a| a.has_name("article") || a.has_name("main"));
        let has_title = header.descendants_it().any(|node| node.has_name("h1"));
        if !within && !has_title {
            header.remove_from_parent();
        }
    }
}

/// The root itself and what is around it; marks of formulas and tasks.
fn holds_content(node: &NodeRef<'_>, root: &NodeRef<'_>) -> bool {
    node.id == root.id
        || node.has_attr("data-x-tex")
        || root.ancestors_it(None).any(|around| around.id == node.id)
        // Some put a note of the text in an aside, and some footnotes in a footer.
        || node.descendants_it().any(|below| below.has_attr("data-x-note"))
        || node.has_name("aside") && is_admonition(node)
}

fn is_admonition(node: &NodeRef<'_>) -> bool {
    let class = node.class().unwrap_or_default().to_ascii_lowercase();
    let parts = ["note", "tip", "warning", "caution", "danger", "important", "admonition", "callout", "info"];
    parts.iter().any(|part| class.contains(part))
}
