//! Parses `[audit]`.

use crate::document::{Entry, Problem, Section, list, number, size};
use crate::rule::{Export, Sourced, shorten};

use crate::audit::AuditPolicy;

/// Minimum size of a log file. Smaller files would be rotated more often than written to.
const LEAST_SIZE: u64 = 64 << 10;
/// Minimum number of log files: the current one and a full one.
const LEAST_FILES: usize = 2;
const MOST_FILES: usize = 1000;
/// Maximum number of export destinations. Each has its own thread.
const MOST_EXPORTS: usize = 8;

/// Applies the table to the defaults.
pub(super) fn read(section: &Section<'_>, audit: &mut AuditPolicy) -> Result<(), Problem> {
    section.only(&[
        "enabled",
        "arguments",
        "required",
        "max_file_size",
        "max_files",
        "export",
        "export_ca",
    ])?;
    let switches = [
        ("enabled", &mut audit.enabled),
        ("arguments", &mut audit.arguments),
        ("required", &mut audit.required),
    ];
    for (key, switch) in switches {
        if let Some(entry) = section.get(key) {
            *switch = Sourced::new(entry.boolean("write true or false")?, entry.source());
        }
    }
    if let Some(entry) = section.get("required")
        && audit.required.value
        && !audit.enabled.value
    {
        let by = audit.enabled.source.beside(entry.source());
        let what = format!("`required` in [audit] is true, but `enabled` is false{by}");
        return Err(entry.problem(what, "write `enabled = true`, or remove `required`"));
    }
    if let Some(entry) = section.get("max_file_size") {
        audit.max_file_size = Sourced::new(size(&entry, LEAST_SIZE)?, entry.source());
    }
    if let Some(entry) = section.get("max_files") {
        audit.max_files = Sourced::new(number(&entry, &(LEAST_FILES..=MOST_FILES))?, entry.source());
    }
    exports(section, audit)
}

fn exports(section: &Section<'_>, audit: &mut AuditPolicy) -> Result<(), Problem> {
    if let Some(entry) = section.get("export") {
        let fix = "write a list, such as [\"/var/log/scorpiox/{user}.jsonl\", \"journald\"]";
        let place = |item: &Entry<'_>, text: &str| Ok(Sourced::new(Export::parse(text)?, item.source()));
        (audit.export, audit.export_origin) = (list(&entry, fix, place)?, entry.source());
        if audit.export.len() > MOST_EXPORTS {
            let what = format!("{} has {} places", entry.label(), audit.export.len());
            return Err(entry.problem(what, format!("write at most {MOST_EXPORTS}")));
        }
        if !audit.export.is_empty() && !audit.enabled.value {
            let by = audit.enabled.source.beside(entry.source());
            let what = format!("{} has places, but `enabled` is false{by}", entry.label());
            return Err(entry.problem(what, "write `enabled = true`, or remove `export`"));
        }
    }
    if let Some(entry) = section.get("export_ca") {
        let fix = "write the absolute path of a file of certificates, such as \"/etc/scorpiox/ca.pem\"";
        let path = entry.text(fix)?;
        if !path.starts_with('/') || path.contains(char::is_control) {
            return Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(path)), fix));
        }
        let is_tls = |export: &Sourced<Export>| match &export.value {
            Export::Syslog(to) => to.is_tls,
            Export::Collector(url) => url.starts_with("https:"),
            Export::File(_) | Export::Journald => false,
        };
        if !audit.export.iter().any(is_tls) {
            let what = format!("{} is for no place of `export`", entry.label());
            return Err(entry.problem(what, "write a place that begins with tls://, or remove it"));
        }
        audit.export_ca = Some(Sourced::new(path.to_owned(), entry.source()));
    }
    Ok(())
}
