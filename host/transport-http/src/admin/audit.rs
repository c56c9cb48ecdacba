//! Audit page of the server, with filters.

use std::collections::VecDeque;

use crate::pages::Asked;
use askama::Template;
use scorpiox_audit::read::{Line, Reader};
use scorpiox_audit::{Filter, Glob, Record, time};
use scorpiox_metering::records::audit_folder;
use scorpiox_text::line::escaped;

use crate::admin::{Admin, Frame};

/// Maximum number of lines shown, newest first.
const MOST: usize = 200;
/// Maximum number of denied uses shown in a line.
const MAX_DENIED: usize = 3;

#[derive(Template)]
#[template(path = "audit.html")]
pub(crate) struct Lines<'a> {
    frame: Frame<'a>,
    wanted: Wanted,
    /// Error in the filter.
    mistake: Option<String>,
    rows: Vec<Row>,
    /// Number of matching lines.
    found: usize,
    damaged: usize,
}

/// Values of the form.
#[derive(Default)]
struct Wanted {
    tool: String,
    principal: String,
    /// Issuer of the principal's token, matched exactly.
    issuer: String,
    since: String,
    failed: bool,
    denied: bool,
}

struct Row {
    /// Date part of the time. The line may break between date and time.
    day: String,
    clock: String,
    principal: String,
    client: String,
    tool: String,
    outcome: String,
    duration: String,
    denied: Vec<String>,
    trace: String,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(admin: &Admin, asked: &'a Asked<'_>) -> Result<Self, String> {
        let mut wanted = Wanted::default();
        for (name, value) in url::form_urlencoded::parse(asked.query.as_bytes()) {
            match name.as_ref() {
                "tool" => wanted.tool = value.into_owned(),
                "principal" => wanted.principal = value.into_owned(),
                "issuer" => wanted.issuer = value.into_owned(),
                "since" => wanted.since = value.into_owned(),
                "failed" => wanted.failed = value == "on",
                "denied" => wanted.denied = value == "on",
                _ => {}
            }
        }
        let (filter, mistake) = match wanted.filter() {
            Ok(filter) => (filter, None),
            Err(why) => (Filter::default(), Some(why)),
        };
        let folder = audit_folder(&admin.own_home);
        let mut reader = Reader::new(&folder);
        let (mut kept, mut found, mut damaged) = (VecDeque::new(), 0, 0);
        let failed = |error| format!("{} cannot be read: {error}", folder.display());
        while let Some(line) = reader.next().map_err(failed)? {
            match line {
                Line::Damaged => damaged += 1,
                Line::Whole(record, _)
                    if mistake.is_none() && filter.wants(&record) && wanted.is_of(&record) =>
                {
                    found += 1;
                    if kept.len() == MOST {
                        kept.pop_front();
                    }
                    kept.push_back(record);
                }
                Line::Whole(..) => {}
            }
        }
        let rows = kept.into_iter().rev().map(Row::of).collect();
        Ok(Self { frame: Frame::new("Audit", asked), wanted, mistake, rows, found, damaged })
    }
}

impl Wanted {
    fn is_of(&self, record: &Record) -> bool {
        self.issuer.is_empty() || record.issuer == self.issuer
    }

    fn filter(&self) -> Result<Filter, String> {
        let glob = |text: &str| (!text.is_empty()).then(|| Glob::new(text));
        let since = (!self.since.is_empty()).then(|| time::since(&self.since)).transpose()?;
        Ok(Filter {
            tool: glob(&self.tool),
            principal: glob(&self.principal),
            since,
            failed: self.failed,
            denied: self.denied,
            ..Filter::default()
        })
    }
}

impl Row {
    fn of(record: Record) -> Self {
        let denied = record.denied().chain(record.hidden()).take(MAX_DENIED);
        let denied =
            denied.map(|used| format!("{} {}: {} ({})", used.capability, used.what, used.why, used.cited()));
        let denied = denied.map(|denied| escaped(&denied).into_owned());
        let client = record.client.as_ref();
        let (day, clock) = record.time.split_at(record.time.find('T').map_or(0, |at| at + 1));
        let (day, clock) = (day.to_owned(), clock.to_owned());
        Self {
            denied: denied.collect(),
            client: client.map_or_else(String::new, |client| {
                escaped(&format!("{} {}", client.name, client.version)).into_owned()
            }),
            outcome: record.ended(),
            duration: format!("{:.1} ms", record.duration_ms),
            tool: match record.lost {
                0 => escaped(&record.tool).into_owned(),
                lost => format!("{lost} lines were lost"),
            },
            day,
            clock,
            principal: escaped(&record.principal).into_owned(),
            trace: record.trace_id,
        }
    }
}
