//! Usage page: workspaces, and the usage of principals.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::pages::Asked;
use askama::Template;
use scorpiox_audit::principals::{self, Names};
use scorpiox_command_output::human_bytes;
use scorpiox_metering::usage::{Day, Used, since};
use scorpiox_server::Workspace;

use crate::admin::chart::{self, Bar, HEIGHT, WIDTH};
use crate::admin::{Admin, Frame};

/// Default and maximum number of days shown.
const DAYS: u64 = 7;
const MOST_DAYS: u64 = 31;
/// Maximum number of principals shown, those with the most calls.
const MOST: usize = 200;

#[derive(Template)]
#[template(path = "usage.html")]
pub(crate) struct Usage<'a> {
    frame: Frame<'a>,
    days: u64,
    since: String,
    /// `None` if usage is not recorded.
    principals: Option<Vec<Row>>,
    workspaces: Vec<(String, String, String)>,
    width: u32,
    height: u32,
}

struct Row {
    principal: String,
    /// Query string that finds the principal on the audit page.
    link: String,
    calls: u64,
    refused: u64,
    processor: String,
    stored: String,
    received: String,
    sent: String,
    bars: Vec<Bar>,
}

impl<'a> Usage<'a> {
    pub(crate) fn of(admin: &Admin, asked: &'a Asked<'_>) -> Result<Self, String> {
        let mut query = url::form_urlencoded::parse(asked.query.as_bytes());
        let days = query.find(|(name, _)| name == "days").and_then(|(_, days)| days.parse().ok());
        let days = days.unwrap_or(DAYS).clamp(1, MOST_DAYS);
        let first = Day::today().before(days - 1);
        let principals = admin.ledger.as_ref().map(|ledger| {
            let rows = since(&**ledger, first).map_err(|error| error.to_string())?;
            let mut sums: BTreeMap<String, Used> = BTreeMap::new();
            for row in rows {
                *sums.entry(row.principal).or_default() += row.used;
            }
            Ok::<_, String>(shown(sums))
        });
        let workspace = |(name, workspace): &(String, Arc<Workspace>)| {
            let folder = workspace.operator().site().workspace.display().to_string();
            (name.clone(), folder, workspace.store().location())
        };
        let workspaces = admin.workspaces.iter().map(workspace);
        Ok(Self {
            frame: Frame::new("Use", asked),
            days,
            since: first.to_string(),
            principals: principals.transpose()?,
            workspaces: workspaces.collect(),
            width: WIDTH,
            height: HEIGHT,
        })
    }
}

/// Returns the query for the audit lines of a principal, by name and issuer.
fn link(principal: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("principal", &principals::name(principal));
    if let Some(issuer) = principals::issuer(principal) {
        query.append_pair("issuer", &issuer);
    }
    query.finish()
}

fn shown(sums: BTreeMap<String, Used>) -> Vec<Row> {
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, used)| std::cmp::Reverse(used.calls + used.refused));
    sums.truncate(MOST);
    let largest = sums.first().map_or(0, |(_, used)| used.calls + used.refused);
    let names = Names::of(sums.iter().map(|(principal, _)| principal.as_str()));
    let row = |(principal, used): &(String, Used)| Row {
        principal: names.shown(principal),
        link: link(principal),
        calls: used.calls,
        refused: used.refused,
        processor: format!("{:.1} s", used.processor().as_secs_f64()),
        stored: human_bytes(used.stored),
        received: human_bytes(used.received),
        sent: human_bytes(used.sent),
        bars: chart::stacked(&[("ok", "calls", used.calls), ("refused", "refused", used.refused)], largest),
    };
    sums.iter().map(row).collect()
}
