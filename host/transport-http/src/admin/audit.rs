//! Audit page of the server, with filters. It reads the newest lines, and leads to older ones.

use std::io;
use std::path::Path;

use crate::pages::Asked;
use askama::Template;
use scorpiox_audit::read::Line;
use scorpiox_audit::{BackReader, Filter, Glob, Position, Record, time};
use scorpiox_metering::records::audit_folder;
use scorpiox_text::line::escaped;

use crate::admin::{Admin, Frame};

/// Maximum number of lines shown, newest first.
const MOST: usize = 200;
/// Maximum number of bytes read for a page, plus a block: a fraction of a second.
const MAX_READ_BYTES: u64 = 16 << 20;
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
    /// Number of lines read.
    read: usize,
    damaged: usize,
    /// Query for the lines before those; `None` at the beginning of the audit.
    older: Option<String>,
    /// Query for the newest lines, unless these are the newest.
    newest: Option<String>,
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
    /// Position before which lines are read; empty for the newest.
    before: String,
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
                "before" => wanted.before = value.into_owned(),
                _ => {}
            }
        }
        let folder = audit_folder(&admin.own_home);
        let failed = |error| format!("{} cannot be read: {error}", folder.display());
        let (read, mistake) = match (wanted.filter(), wanted.reader(&folder).map_err(failed)?) {
            (Ok(filter), Some(reader)) => (Read::of(reader, &filter, &wanted).map_err(failed)?, None),
            (Ok(_), None) => {
                (Read::default(), Some("These lines were removed; start from the newest.".to_owned()))
            }
            (Err(why), _) => (Read::default(), Some(why)),
        };
        let newest = (!wanted.before.is_empty()).then(|| wanted.query(None));
        let older = read.older.map(|older| wanted.query(Some(older)));
        let Read { fitting, lines: read, damaged, .. } = read;
        let rows = fitting.into_iter().map(Row::of).collect();
        Ok(Self { frame: Frame::new("Audit", asked), wanted, mistake, rows, read, damaged, older, newest })
    }
}

/// Lines that were read for a page.
#[derive(Default)]
struct Read {
    /// Lines to show, newest first.
    fitting: Vec<Record>,
    /// Number of lines, with those that do not fit.
    lines: usize,
    damaged: usize,
    /// Position before the lines; `None` at the beginning of the audit.
    older: Option<Position>,
}

impl Read {
    fn of(mut reader: BackReader, filter: &Filter, wanted: &Wanted) -> io::Result<Self> {
        let mut read = Self::default();
        while read.fitting.len() < MOST && reader.bytes() < MAX_READ_BYTES {
            let Some(line) = reader.next()? else { break };
            read.lines += 1;
            match line {
                Line::Damaged => read.damaged += 1,
                Line::Whole(record, _) if filter.wants(&record) && wanted.is_of(&record) => {
                    read.fitting.push(record);
                }
                Line::Whole(..) => {}
            }
        }
        read.older = reader.position();
        Ok(read)
    }
}

impl Wanted {
    /// Returns a reader for the lines before the position; `None` if they were removed.
    fn reader(&self, folder: &Path) -> io::Result<Option<BackReader>> {
        match (self.before.is_empty(), self.before.parse()) {
            (true, _) => BackReader::new(folder).map(Some),
            (false, Ok(position)) => BackReader::before(folder, position),
            (false, Err(_)) => Ok(None),
        }
    }

    /// Returns the query for the same filters at another position.
    fn query(&self, before: Option<Position>) -> String {
        let on = |is_on: bool| if is_on { "on" } else { "" }.to_owned();
        let values = [
            ("tool", self.tool.clone()),
            ("principal", self.principal.clone()),
            ("issuer", self.issuer.clone()),
            ("since", self.since.clone()),
            ("failed", on(self.failed)),
            ("denied", on(self.denied)),
            ("before", before.map_or_else(String::new, |before| before.to_string())),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(values.iter().filter(|(_, value)| !value.is_empty()));
        query.finish()
    }

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
