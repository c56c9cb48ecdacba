//! Pages for the operator of a server: what runs, what was called and denied, what plugins wait for, the policy, and who uses
//! how much. `scorpiox-http` says who may read them, and sends them.
//!
//! Reading order: [`Admin`] finds the page of a path; each module has what one page shows, and its template lies in
//! `templates/`; `chart` draws.
//!
//! Invariants: a page only shows, and nothing can be changed or approved by any request; whatever others chose is escaped by the
//! template; no page needs a script, and none has one; what is shown is bounded.

mod audit;
mod chart;
mod overview;
mod plugins;
mod policy;
mod usage;

use std::path::PathBuf;
use std::sync::Arc;

use askama::Template;
use scorpiox_http::pages::{Asked, Page, Pages};
use scorpiox_server::Workspace;
use scorpiox_store::Store;

/// All pages.
pub struct Admin {
    /// The workspaces that are served, by their names.
    pub workspaces: Vec<(String, Arc<Workspace>)>,
    /// The program's own folder.
    pub own_home: PathBuf,
    /// What principals used, where that is kept.
    pub ledger: Option<Arc<dyn Store>>,
}

const STYLE: &str = include_str!("../templates/style.css");

/// What stands around each page.
struct Frame<'a> {
    title: &'a str,
    /// Who reads it.
    reader: &'a str,
    version: &'static str,
}

impl<'a> Frame<'a> {
    fn new(title: &'a str, asked: &'a Asked<'_>) -> Self {
        Self { title, reader: asked.reader, version: env!("CARGO_PKG_VERSION") }
    }
}

#[derive(Template)]
#[template(path = "login.html")]
struct Login<'a> {
    why: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "failed.html")]
struct Failed<'a> {
    frame: Frame<'a>,
    why: String,
}

impl Pages for Admin {
    fn login(&self, why: Option<&str>) -> String {
        rendered(200, &Login { why }).html
    }

    fn style(&self) -> &'static str {
        STYLE
    }

    fn page(&self, asked: &Asked<'_>) -> Option<Page> {
        let made = match asked.path {
            "" => Ok(rendered(200, &overview::Overview::of(self, asked))),
            "/audit" => audit::Lines::of(self, asked).map(|page| rendered(200, &page)),
            "/plugins" => plugins::AllPlugins::of(self, asked).map(|page| rendered(200, &page)),
            "/policy" => policy::Policies::of(self, asked).map(|page| rendered(200, &page)),
            "/usage" => usage::Usage::of(self, asked).map(|page| rendered(200, &page)),
            _ => return None,
        };
        Some(made.unwrap_or_else(|why| {
            rendered(500, &Failed { frame: Frame::new("It cannot be shown", asked), why })
        }))
    }
}

fn rendered(status: u16, template: &impl Template) -> Page {
    match template.render() {
        Ok(html) => Page { status, html },
        Err(error) => {
            tracing::error!("a page cannot be written: {error}");
            Page { status: 500, html: String::new() }
        }
    }
}
