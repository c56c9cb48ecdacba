//! Parses `[http.observe]`.

use std::net::SocketAddr;

use crate::document::{Entry, Problem};
use crate::rule::{Sourced, collector, shorten, shorten_address};

use super::words;
use crate::access::http::ObservePolicy;

/// Parses the table.
pub(super) fn read(entry: &Entry<'_>) -> Result<ObservePolicy, Problem> {
    let section = entry.section("[http.observe]")?;
    section.only(&["listen", "traces", "ca"])?;
    let listen = section.get("listen").map(|entry| Ok(Sourced::new(addresses(&entry)?, entry.source())));
    let traces = section.get("traces").map(|entry| Ok(Sourced::new(taker(&entry)?, entry.source())));
    let ca = section.get("ca").map(|entry| {
        let path = words::path(&entry, "/etc/scorpiox/ca.pem")?;
        Ok((Sourced::new(path, entry.source()), entry))
    });
    let (listen, traces, ca) = (listen.transpose()?, traces.transpose()?, ca.transpose()?);
    if let Some((_, entry)) = &ca
        && !traces.as_ref().is_some_and(|traces| traces.value.starts_with("https:"))
    {
        let what =
            format!("{} is for a collector that shows a certificate, and there is none", entry.label());
        return Err(entry.problem(what, "write `traces` with an address that begins with https://"));
    }
    Ok(ObservePolicy { source: Some(entry.key_source()), listen, traces, ca: ca.map(|(ca, _)| ca) })
}

/// Parses the address of a trace collector.
fn taker(entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = "write where it takes traces, such as \"https://collector.example.com:4318/v1/traces\"";
    let text = entry.text(fix)?;
    collector(text).ok_or_else(|| {
        let what =
            format!("{} is \"{}\", which is no address of a collector", entry.label(), shorten_address(text));
        entry.problem(what, fix)
    })
}

/// Parses one address, or several. A server listens on the first one that is free.
fn addresses(entry: &Entry<'_>) -> Result<Vec<SocketAddr>, Problem> {
    if entry.as_text().is_some() {
        return Ok(vec![address(entry)?]);
    }
    let listed = entry.list("write addresses, such as [\"127.0.0.1:9464\", \"127.0.0.1:9465\"]")?;
    if listed.is_empty() || listed.len() > MAX_ADDRESSES {
        let what = format!("{} has {} addresses", entry.label(), listed.len());
        return Err(entry.problem(what, "write one for each server of this machine, at most 64"));
    }
    listed.iter().map(address).collect()
}

/// Maximum number of addresses; one machine does not need more servers.
const MAX_ADDRESSES: usize = 64;

fn address(entry: &Entry<'_>) -> Result<SocketAddr, Problem> {
    let fix = "write an IP address and a port, such as \"127.0.0.1:9464\"";
    let text = entry.text(fix)?;
    text.parse().map_err(|_| entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix))
}
