//! Approvals that hold always, as entries of the user's policy.toml.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_approvals::{Extent, Request, Requests};
use scorpiox_audit::time;
use scorpiox_terminal::{self as terminal, Shown};
use scorpiox_workspace_config::Operator;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::cli::environment::Environment;
use crate::cli::policy::edit::{Change, EMPTY, conclude};

/// Key of the entries.
const APPROVED: &str = "approved";

/// Checks that an approval can hold always, before it is given.
pub(super) fn check(operator: &Operator, request: &Request) -> Result<()> {
    let number = request.number;
    let is_offered = request.wanted.remember.iter().any(|offered| *offered == Extent::Always.to_string());
    ensure!(is_offered, "the rules of approval {number} do not offer to remember it always");
    if request.wanted.principal.is_some() {
        return Ok(());
    }
    let text = operator.own_text()?.unwrap_or_else(|| EMPTY.to_owned());
    let document: DocumentMut = text.parse().context("policy.toml cannot be read")?;
    let is_there = document.get(APPROVED).and_then(Item::as_table_like);
    let is_there = is_there.is_some_and(|approved| approved.contains_key(&number.to_string()));
    ensure!(
        !is_there,
        "your policy.toml has [approved.{number}] already; `approvals revoke {number}` removes it"
    );
    Ok(())
}

/// Writes an approval that was given. For a caller over HTTP, it is remembered with the approvals.
pub(super) fn write(environment: &Environment, requests: &Requests, request: &Request) -> Result<ExitCode> {
    let number = request.number;
    if request.wanted.principal.is_some() {
        let revoke = format!("`scorpiox-code approvals revoke {number}` lets equal calls ask again.");
        terminal::print(&Shown::line(&revoke));
        return Ok(ExitCode::SUCCESS);
    }
    let written = requests
        .get(number)
        .context("approvals cannot be read")
        .and_then(|answered| add(environment, &answered.context("the approval is gone")?));
    written.with_context(|| format!("approval {number} was given for the calls that wait alone"))
}

fn add(environment: &Environment, request: &Request) -> Result<ExitCode> {
    let before = Operator::new(environment.site());
    let own = before.own_text()?;
    let text = own.clone().unwrap_or_else(|| EMPTY.to_owned());
    let mut document: DocumentMut = text.parse().context("policy.toml cannot be read")?;
    let Some((answer, signature)) =
        request.answer().and_then(|answer| Some((answer, answer.signature.as_ref()?)))
    else {
        bail!("the approval has no signature");
    };
    let mut table = Table::new();
    table.insert("tool", value(&request.wanted.tool));
    table.insert("arguments", value(&request.wanted.arguments));
    table.insert("by", value(&answer.by));
    table.insert("at", value(time::rfc3339(answer.at)));
    table.insert("id", value(&request.id));
    table.insert("asked", value(i64::try_from(request.asked).context("the time is too late")?));
    table.insert("signature", value(signature));
    let approved = document.entry(APPROVED).or_insert_with(|| {
        let mut tables = Table::new();
        tables.set_implicit(true);
        Item::Table(tables)
    });
    let approved = approved.as_table_like_mut().context("`approved` in policy.toml is no table")?;
    approved.insert(&request.number.to_string(), Item::Table(table));
    let text = document.to_string();
    conclude(environment, &before, Change { own, text, is_about_network: false, is_shown_only: false })
}

/// Removes an entry of the user's file. Returns `None` if it has none of that number.
pub(super) fn revoke(
    environment: &Environment,
    operator: &Operator,
    requests: &Requests,
    number: u64,
) -> Result<Option<ExitCode>> {
    let Some(own) = operator.own_text()? else { return Ok(None) };
    let mut document: DocumentMut = own.parse().context("policy.toml cannot be read")?;
    let approved = document.get_mut(APPROVED).and_then(Item::as_table_like_mut);
    let removed = approved.and_then(|approved| approved.remove(&number.to_string()));
    if removed.is_none() {
        return Ok(None);
    }
    let is_empty =
        document.get(APPROVED).and_then(Item::as_table_like).is_some_and(toml_edit::TableLike::is_empty);
    if is_empty {
        document.remove(APPROVED);
    }
    let change =
        Change { own: Some(own), text: document.to_string(), is_about_network: false, is_shown_only: false };
    let code = conclude(environment, operator, change)?;
    // A call that was told to come back must not use the answer any more.
    requests.withdraw(number).context("approvals cannot be changed")?;
    Ok(Some(code))
}
