//! Selects the content of a page, and collects its metadata.
//!
//! `scorpiox_content` judges the content block by block. The requested part is always kept and comes first.

use dom_query::Document as Dom;
use scorpiox_content::LeftOut;
use url::Url;

use super::known::About;
use super::links::Links;
use super::tree::{self, Element};
use super::{clean, mark, section};
use crate::ask::Part;

/// Content of a page.
pub(super) struct Content {
    pub(super) about: About,
    pub(super) root: Element,
    pub(super) left_out: LeftOut,
    /// `Some(true)` if the requested part was found and comes first; `None` if no part was requested.
    pub(super) has_part: Option<bool>,
}

pub(super) fn choose(dom: Dom, url: &Url, part: &Part) -> Content {
    let base = dom.base_uri().map(|base| base.to_string());
    let links = Links::of_page(url, base.as_deref());
    mark::prepare(&dom);
    let (dom, mut about) = About::of(dom, url);
    let named = about.named(&dom);
    let section = part.fragment.as_deref().map(|name| section::find(&dom, name));
    let left_out = if part.is_whole {
        LeftOut::default()
    } else {
        scorpiox_content::keep_content(&dom, url, section.as_deref().unwrap_or_default())
    };
    mark::mark(&dom);
    clean::clean(&dom);
    scorpiox_content::images::drop_repeated(&dom);
    about.take_heading(&dom, named);
    let body = dom.body().unwrap_or_else(|| dom.root());
    let mut root = tree::of(&body, &links);
    about.drop_repeated(&mut root);
    let has_part = section.map(|_| section::bring_forward(&mut root));
    Content { about, root, left_out, has_part }
}
