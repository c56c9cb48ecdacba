//! Pages for the operator of a server: running and past calls, plugins waiting for approval, the policy, and
//! usage by principal. `scorpiox-http` controls access and sends them.
//!
//! Reading order: [`Admin`] finds the page of a path. Each module has the content of one page, with its
//! template in `templates/`. `chart` draws.
//!
//! Invariants: an operator's pages are read-only. Only an approver answers, on the page of [`approvals`], and only with
//! the credential: [`approving`] signs each answer with it. The templates escape all
//! external text. No page contains or needs a script. The amount of content is bounded.

pub(crate) mod approvals;
pub mod approving;
mod audit;
mod chart;
mod overview;
mod plugins;
mod policy;
mod usage;
mod waiting;

use std::path::PathBuf;
use std::sync::Arc;

use crate::admin::approving::Approving;
use crate::pages::{Asked, Page, Pages};
use askama::Template;
use scorpiox_server::Workspace;
use scorpiox_store::Store;

/// All pages.
pub struct Admin {
    /// Served workspaces with their names.
    pub workspaces: Vec<(String, Arc<Workspace>)>,
    /// The program's own directory.
    pub own_home: PathBuf,
    /// Usage of principals, if it is recorded.
    pub ledger: Option<Arc<dyn Store>>,
}

/// A page.
#[derive(Clone, Copy)]
enum Kind {
    Overview,
    Audit,
    Plugins,
    Policy,
    Usage,
}

impl Kind {
    /// Returns the page at a path.
    fn at(path: &str) -> Option<Self> {
        Some(match path {
            "" => Self::Overview,
            "/audit" => Self::Audit,
            "/plugins" => Self::Plugins,
            "/policy" => Self::Policy,
            "/usage" => Self::Usage,
            _ => return None,
        })
    }
}

const STYLE: &str = include_str!("../../templates/style.css");

/// Frame around each page.
struct Frame<'a> {
    title: &'a str,
    /// Name of the reader.
    reader: &'a str,
    /// `true` if the reader is an approver, who has one page alone.
    is_approver: bool,
    version: &'static str,
}

impl<'a> Frame<'a> {
    fn new(title: &'a str, asked: &'a Asked<'_>) -> Self {
        Self::of_reader(title, asked.reader)
    }

    fn of_reader(title: &'a str, reader: &'a str) -> Self {
        Self { title, reader, is_approver: false, version: env!("CARGO_PKG_VERSION") }
    }

    fn of_approver(title: &'a str, reader: &'a str) -> Self {
        Self { is_approver: true, ..Self::of_reader(title, reader) }
    }
}

#[derive(Template)]
#[template(path = "login.html")]
struct Login<'a> {
    why: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "missing.html")]
struct Missing<'a> {
    frame: Frame<'a>,
}

#[derive(Template)]
#[template(path = "refused.html")]
struct Refused<'a> {
    why: &'a str,
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

    fn refused(&self, status: u16, why: &str) -> Page {
        rendered(status, &Refused { why })
    }

    fn missing(&self, reader: &str) -> Page {
        rendered(404, &Missing { frame: Frame::of_reader("No such page", reader) })
    }

    fn has(&self, path: &str) -> bool {
        Kind::at(path).is_some()
    }

    fn page(&self, asked: &Asked<'_>) -> Option<Page> {
        let made = match Kind::at(asked.path)? {
            Kind::Overview => Ok(rendered(200, &overview::Overview::of(self, asked))),
            Kind::Audit => audit::Lines::of(self, asked).map(|page| rendered(200, &page)),
            Kind::Plugins => plugins::AllPlugins::of(self, asked).map(|page| rendered(200, &page)),
            Kind::Policy => policy::Policies::of(self, asked).map(|page| rendered(200, &page)),
            Kind::Usage => usage::Usage::of(self, asked).map(|page| rendered(200, &page)),
        };
        Some(made.unwrap_or_else(|why| {
            rendered(500, &Failed { frame: Frame::new("It cannot be shown", asked), why })
        }))
    }

    fn approving(&self) -> Approving<'_> {
        Approving::of(&self.workspaces)
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
