//! The commands `policy allow` and `policy deny`: change the user's policy.toml.
//!
//! A change is the smallest that the verdict names. It is judged together with the managed file before it is
//! written, so a change without an effect is never made.

use std::fs::{self, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, ValueEnum};
use scorpiox_fs::home::private;
use scorpiox_policy::document::quote;
use scorpiox_policy::{File, HostRule, Network, NetworkRule, Policy, Verdict, differences, local_entry};
use scorpiox_shell::{DEFAULT_PROFILE, Shell};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_workspace_config::Operator;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::judge::{Judge, Names};
use super::tools::Tools;
use super::{Caller, What, outside, reads, restricted_shell, restrictions_in};
use crate::cli::environment::Environment;

mod opened;

pub(super) const HELP: &str = "\
Examples:
  scorpiox-code policy allow host registry.example.com
  scorpiox-code policy allow write ~/builds
  scorpiox-code policy allow page docs.example.com
  scorpiox-code policy deny tool WebSearch";

/// Text of a policy that changes nothing.
pub(in crate::cli) const EMPTY: &str = "version = 1\n";
/// Maximum number of changes for one access: a path can be in `deny` and outside of `read`.
const MAX_CHANGES: usize = 4;

/// Time to wait for another command that writes.
const LOCK_TIME: Duration = Duration::from_secs(5);

/// Kind of access that the commands can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Editable {
    /// Reaching a host from a command
    Host,
    /// Reading a path in a command
    Read,
    /// Writing a path in a command
    Write,
    /// Calling a tool
    Tool,
    /// Fetching pages of a host
    Page,
    /// Reading a file or folder with a tool such as `ReadImage`
    File,
    /// Working in a folder
    Workspace,
}

/// Change that the user wants.
#[derive(Debug, Args)]
pub(in crate::cli) struct Wish {
    /// The kind of access
    what: Editable,
    /// The host (with :port), the path or the tool
    #[arg(required = true)]
    subjects: Vec<String>,
    /// The profile that commands run under
    #[arg(long, default_value = DEFAULT_PROFILE)]
    profile: String,
    /// Show the change without writing it
    #[arg(long)]
    print: bool,
}

impl Wish {
    /// Creates a wish for one subject, of which the change is only shown.
    pub(super) fn of(what: Editable, subject: &str, profile: &str) -> Self {
        Self { what, subjects: vec![subject.to_owned()], profile: profile.to_owned(), print: true }
    }

    fn question(&self) -> What {
        match self.what {
            Editable::Host => What::Host,
            Editable::Read => What::Read,
            Editable::Write => What::Write,
            Editable::Tool => What::Tool,
            Editable::Page => What::Url,
            Editable::File => What::File,
            Editable::Workspace => What::Workspace,
        }
    }

    /// Returns the subject as the question about it has it.
    fn subject(&self, subject: &str) -> String {
        match self.what {
            Editable::Page => format!("https://{subject}/"),
            _ => subject.to_owned(),
        }
    }
}

pub(super) fn run(environment: &Environment, wish: &Wish, allows: bool) -> Result<ExitCode> {
    let before = Operator::new(environment.site());
    let own = before.own_text()?;
    if matches!(wish.what, Editable::Host | Editable::Page)
        && let Some(url) = wish.subjects.iter().find(|subject| subject.contains("://"))
    {
        let host = url.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
        bail!("{url} is a URL; write its host: {}", host.unwrap_or_default());
    }
    if wish.what == Editable::Page
        && let Some(pattern) = wish.subjects.iter().find(|subject| subject.starts_with('*'))
    {
        bail!(
            "{pattern} stands for several hosts; write it into `allow` or `deny` of [web] yourself, or name a host"
        );
    }
    let mut text = own.clone().unwrap_or_else(|| EMPTY.to_owned());
    let mut reasons = Vec::new();
    for subject in &wish.subjects {
        let because;
        (text, because) = changed(environment, &before, text, (wish, allows), subject)?;
        reasons.push(because.map_or_else(|| subject.clone(), |because| format!("{subject} ({because})")));
    }
    if text == own.as_deref().unwrap_or(EMPTY) {
        let word = if allows { "allowed" } else { "denied" };
        let verb = if reasons.len() > 1 { "are" } else { "is" };
        terminal::print(&Shown::line(&format!("Nothing to change: {} {verb} {word}.", reasons.join(", "))));
        return Ok(ExitCode::SUCCESS);
    }
    let is_about_network = wish.what == Editable::Host;
    conclude(environment, &before, Change { own, text, is_about_network, is_shown_only: wish.print })
}

/// Lets commands of the default profile reach hosts. Returns the file that was written.
pub(in crate::cli) fn allow_hosts(environment: &Environment, hosts: &[String]) -> Result<PathBuf> {
    let before = Operator::new(environment.site());
    let own = before.own_text()?;
    let mut text = own.clone().unwrap_or_else(|| EMPTY.to_owned());
    for host in hosts {
        let wish = Wish::of(Editable::Host, host, DEFAULT_PROFILE);
        (text, _) = changed(environment, &before, text, (&wish, true), host)?;
    }
    check_sandbox(before.with_own(text.clone())?)?;
    put(environment, own.as_deref(), text)
}

/// Change of the user's file.
pub(in crate::cli) struct Change {
    /// Text of the file, if there is one.
    pub own: Option<String>,
    /// Text to write.
    pub text: String,
    /// `true` if the change concerns the hosts that commands reach.
    pub is_about_network: bool,
    /// `true` if nothing is written.
    pub is_shown_only: bool,
}

/// Shows a change, and writes it.
pub(in crate::cli) fn conclude(
    environment: &Environment,
    before: &Operator,
    change: Change,
) -> Result<ExitCode> {
    let Change { own, text, is_about_network, is_shown_only } = change;
    let after = before.with_own(text.clone())?;
    let shown = differences(&before.loaded()?.policy, &after.loaded()?.policy);
    let opened = opened::globs(&before.loaded()?.policy, &after.loaded()?.policy);
    if is_about_network {
        check_sandbox(before.with_own(text.clone())?)?;
    }
    terminal::print(&Shown::text(&shown));
    for glob in opened {
        let about = format!("This opens all files that {glob:?} covers, in every folder, not only one.");
        terminal::print(&Shown::line(&about));
    }
    let absent = opened::absent_folders(
        environment.home.as_deref(),
        &before.loaded()?.policy,
        &after.loaded()?.policy,
    );
    if !is_shown_only {
        let path = put(environment, own.as_deref(), text)?;
        let done =
            format!("Wrote {}. Servers that run now follow it from their next call on.", path.display());
        terminal::print(&Shown::line(&done));
    }
    for path in absent {
        terminal::print(&Shown::line(&format!(
            "{} does not exist. Create it, and commands can use it from their next call on.",
            path.display()
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks that commands could run under a change of the network: a sandbox that cannot filter would refuse all of them.
fn check_sandbox(after: Operator) -> Result<()> {
    let shell = Shell::new(Arc::new(after));
    let tier = shell.tier();
    shell.shut_down();
    tier.context("nothing was written, because no command could run under the change")?;
    Ok(())
}

/// Writes the user's file, and returns its path.
fn put(environment: &Environment, own: Option<&str>, text: String) -> Result<PathBuf> {
    let path = target(&environment.site().own_policy())?;
    let is_read_only = path.metadata().is_ok_and(|found| found.permissions().readonly());
    ensure!(!is_read_only, "nothing was written: {} is read-only", path.display());
    let _lock = locked(&environment.own_home)?;
    write(&path, own, &as_before(own.unwrap_or_default(), text))?;
    Ok(path)
}

/// Returns the text with the line ends of the file as it was, and with its byte order mark.
fn as_before(own: &str, text: String) -> String {
    let text = if own.contains("\r\n") { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text };
    let mark = '\u{feff}';
    if own.starts_with(mark) && !text.starts_with(mark) { format!("{mark}{text}") } else { text }
}

/// Returns the file to write. A link, such as to a repository of settings, stays.
fn target(path: &Path) -> Result<PathBuf> {
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => {
            path.canonicalize().with_context(|| format!("{} leads nowhere", path.display()))
        }
        _ => Ok(path.to_owned()),
    }
}

/// Returns the text with the changes for one subject, and the rule that decides then, if it is known. Fails if they
/// would have no effect.
pub(super) fn changed(
    environment: &Environment,
    operator: &Operator,
    mut text: String,
    (wish, allows): (&Wish, bool),
    subject: &str,
) -> Result<(String, Option<String>)> {
    if wish.what == Editable::Host && !allows {
        text = without_entries(text, &wish.profile, subject)?;
    }
    if wish.what == Editable::Host && subject.starts_with("*.") {
        if allows {
            text = with_pattern(operator, &text, &wish.profile, subject)?;
        } else {
            check_closed(&operator.with_own(text.clone())?, &wish.profile, subject)?;
        }
        return Ok((text, None));
    }
    for _ in 0..=MAX_CHANGES {
        let shell = Shell::new(Arc::new(operator.with_own(text.clone())?));
        let shell =
            if allows { restricted_now(environment, shell, wish.question(), subject)? } else { shell };
        let judge = Judge::new(environment, &shell, Names::AsWritten)?;
        let question = (wish.question(), wish.subject(subject));
        // A denial has to hold in other workspaces and circumstances, too.
        let verdict = if allows {
            judge.verdict(question.0, &question.1, &wish.profile)?
        } else {
            judge.in_an_open_folder(question.0, &question.1, &wish.profile)?
        };
        // A host without a port is denied on every port.
        let is_open_elsewhere = wish.what == Editable::Page && !allows && judge.policy().web.opens(subject);
        if verdict.allowed == allows && !is_open_elsewhere {
            if wish.what == Editable::Host && !allows {
                check_closed(shell.operator(), &wish.profile, subject)?;
            }
            return Ok((text, Some(verdict.because)));
        }
        let policy = &shell.operator().loaded()?.policy;
        if allows && wish.what == Editable::Host {
            refuse_own_localhost(policy, &wish.profile, subject)?;
        }
        let mut document: DocumentMut = text.parse().context("policy.toml cannot be read")?;
        let is_changed = if wish.what == Editable::Tool {
            change_tool(&mut document, subject, allows)
        } else if let Some(changed) = outside::change(&mut document, &judge, (wish.what, allows), subject)? {
            changed
        } else if allows && wish.what == Editable::Host && verdict.would_allow.is_none() {
            list_host(&mut document, &wish.profile, subject)?
        } else if allows {
            allow(&mut document, &verdict)?
        } else {
            deny(&mut document, policy, wish, subject)?
        };
        let next = document.to_string();
        if !is_changed || next == text {
            let word = if allows { "allow" } else { "deny" };
            bail!("a change of your policy.toml cannot {word} it: {}", verdict.because);
        }
        text = next;
    }
    bail!("{subject} needs more than {MAX_CHANGES} changes; `policy why` names them one by one");
}

/// Fails for a host that is this machine, unless its addresses are open: an entry of `hosts` would not open it.
fn refuse_own_localhost(policy: &Policy, profile: &str, host: &str) -> Result<()> {
    let Some(entry) = local_entry(host) else { return Ok(()) };
    let network = policy.shell.profiles.get(profile).map(|profile| &profile.network.value);
    let is_loopback = |rule: &NetworkRule| rule.network.addr().is_loopback();
    if matches!(network, Some(Network::Allowlist { allow_private, .. }) if allow_private.iter().any(is_loopback))
    {
        return Ok(());
    }
    bail!(
        "nothing was written: {host} is this machine, and commands have a localhost of their own. To open a service of the \
         machine to them, write `local = [\"{entry}\"]` into [shell.profile.{profile}] of policy.toml; `hosts` needs \
         `allow_private` for it, and opens it only to programs that use the proxy"
    )
}

/// Returns the shell under the restrictions that hold for this account, with the files that count as read.
fn restricted_now(environment: &Environment, shell: Shell, what: What, subject: &str) -> Result<Shell> {
    let numbers = restrictions_in(&shell, &Caller::default(), None, |policy, known| {
        reads::add_of(&Tools::default(), environment, policy, what, subject, known);
    })?;
    Ok(restricted_shell(&shell, &numbers)?.unwrap_or(shell))
}

/// Makes the change that the verdict names.
fn allow(document: &mut DocumentMut, verdict: &Verdict) -> Result<bool> {
    let Some(line) = &verdict.would_allow else { return Ok(false) };
    ensure!(
        verdict.file != File::Managed,
        "only the administrator can allow it, in /etc/scorpiox/policy.toml: {}",
        verdict.because
    );
    ensure!(verdict.file == File::Own, "only an edit of {} can allow it: {}", verdict.file, verdict.because);
    let Some((section, change)) = parse_line(line) else { return Ok(false) };
    let table = section_of(document, &section)?;
    for (key, item) in change.iter() {
        merge(table, key, item);
    }
    Ok(true)
}

/// Returns the text with a pattern such as `*.example.com` in the list of a profile. Fails if that has no effect.
fn with_pattern(operator: &Operator, text: &str, profile: &str, pattern: &str) -> Result<String> {
    let mut document: DocumentMut = text.parse().context("policy.toml cannot be read")?;
    list_host(&mut document, profile, pattern)?;
    let text = document.to_string();
    let after = operator.with_own(text.clone())?;
    let network = after.loaded()?.policy.shell.profiles.get(profile).map(|profile| &profile.network.value);
    let is_listed =
        |hosts: &[HostRule]| hosts.iter().any(|rule| rule.to_string().eq_ignore_ascii_case(pattern));
    match network {
        Some(Network::Allowlist { hosts, .. }) if is_listed(hosts) => Ok(text),
        Some(Network::Open) => bail!("every host is allowed: the network of profile {profile} is open"),
        _ => bail!(
            "a change of your policy.toml cannot allow it: the administrator's file does not list {pattern}"
        ),
    }
}

/// Fails if commands still reach a host that a subject covers, on some port.
fn check_closed(operator: &Operator, profile: &str, subject: &str) -> Result<()> {
    let profile = operator.profile(profile)?;
    let (name, network) = (&profile.name, &profile.network);
    let hosts = match &network.value {
        Network::Off => return Ok(()),
        Network::Open => {
            bail!(
                "a change of `hosts` cannot deny {subject}: the network of profile {name} is open ({})",
                network.source
            )
        }
        Network::Allowlist { hosts, .. } => hosts,
    };
    let all = HostRule::parse(subject, network.source)?;
    let open = hosts.iter().filter(|rule| rule.opens_some_of(&all));
    let open: Vec<_> = open.map(|rule| format!("\"{rule}\" ({})", rule.source)).collect();
    ensure!(
        open.is_empty(),
        "nothing was written: {subject} would still be reached by {} in `hosts` of profile {name}; replace that \
         yourself by the hosts that stay",
        open.join(", ")
    );
    Ok(())
}

/// Returns the text without the entries of a host list that a subject covers: a host without a port covers its
/// entries for all ports, and `*.example.com` those for all hosts below it.
fn without_entries(text: String, profile: &str, subject: &str) -> Result<String> {
    let mut document: DocumentMut = text.parse().context("policy.toml cannot be read")?;
    let table = section_of(&mut document, &["shell", "profile", profile].map(str::to_owned))?;
    let network = table.get_mut("network").and_then(Item::as_table_like_mut);
    let hosts = network.and_then(|network| network.get_mut("hosts")).and_then(Item::as_array_mut);
    let Some(hosts) = hosts else { return Ok(text) };
    let subject = subject.to_ascii_lowercase();
    let covers = |entry: &str| {
        let entry = entry.to_ascii_lowercase();
        let host = entry.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        let host = host.map_or(&*entry, |(host, _)| host);
        let is_below =
            subject.strip_prefix('*').is_some_and(|end| end.starts_with('.') && host.ends_with(end));
        entry == subject || host == subject || is_below
    };
    let before = hosts.len();
    hosts.retain(|entry| !entry.as_str().is_some_and(covers));
    Ok(if hosts.len() == before { text } else { document.to_string() })
}

/// Adds a host to the list of a profile. The list may be that of the built-in policy.
fn list_host(document: &mut DocumentMut, profile: &str, host: &str) -> Result<bool> {
    let table = section_of(document, &["shell", "profile", profile].map(str::to_owned))?;
    if !table.contains_key("network") {
        let mut network = InlineTable::new();
        network.insert("mode", "allowlist".into());
        network.insert("hosts", Array::new().into());
        table.insert("network", toml_edit::value(network));
    }
    let network = table.get_mut("network").and_then(Item::as_table_like_mut);
    Ok(network.is_some_and(|network| push(network, "hosts", host)))
}

/// Splits a line such as `read = ["~/x"] in [shell.profile.workspace]`.
fn parse_line(line: &str) -> Option<(Vec<String>, DocumentMut)> {
    line.match_indices(" in [").find_map(|(at, between)| {
        let change: DocumentMut = line[..at].parse().ok().filter(|change: &DocumentMut| change.len() == 1)?;
        let (section, _) = line[at + between.len()..].split_once(']')?;
        Some((section.split('.').map(str::to_owned).collect(), change))
    })
}

fn deny(document: &mut DocumentMut, policy: &Policy, wish: &Wish, subject: &str) -> Result<bool> {
    let Some(profile) = policy.shell.profiles.get(&wish.profile) else { return Ok(false) };
    let section: Vec<_> = ["shell", "profile", &wish.profile].map(str::to_owned).into();
    let table = section_of(document, &section)?;
    if wish.what == Editable::Host {
        let Some(network) = table.get_mut("network").and_then(Item::as_table_like_mut) else {
            return Ok(false);
        };
        return Ok(network
            .get_mut("hosts")
            .and_then(Item::as_array_mut)
            .is_some_and(|hosts| remove(hosts, subject)));
    }
    ensure!(
        wish.what == Editable::Read,
        "`policy deny read` closes a path for reading and writing; a narrower `write` is an edit by hand"
    );
    let globs = profile.deny.iter().map(|rule| rule.glob().to_owned()).chain([subject.to_owned()]);
    let list: Array = globs.collect();
    merge(table, "deny", &Item::Value(Value::Array(list)));
    Ok(true)
}

/// Opens or closes a tool by its name.
fn change_tool(document: &mut DocumentMut, tool: &str, allows: bool) -> bool {
    let Ok(table) = section_of(document, &["tools".to_owned()]) else { return false };
    if !allows {
        return push(table, "deny", tool);
    }
    let is_removed =
        table.get_mut("deny").and_then(Item::as_array_mut).is_some_and(|list| remove(list, tool));
    is_removed || table.contains_key("allow") && push(table, "allow", tool)
}

/// Returns a table by the parts of its header, and creates it if it is missing.
pub(super) fn section_of<'d>(
    document: &'d mut DocumentMut,
    parts: &[String],
) -> Result<&'d mut dyn TableLike> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (index, part) in parts.iter().enumerate() {
        if !table.contains_key(part) {
            let mut new = Table::new();
            new.set_implicit(index + 1 < parts.len());
            table.insert(part, Item::Table(new));
        }
        let item = table.get_mut(part).with_context(|| format!("[{part}] cannot be made"))?;
        table = item.as_table_like_mut().with_context(|| format!("{} is not a table", quote(part)))?;
    }
    Ok(table)
}

/// Sets a value. Entries of lists and keys of tables that stay keep their place and their comments.
fn merge(table: &mut dyn TableLike, key: &str, new: &Item) {
    match (table.get_mut(key), new) {
        (Some(old), new) if old.is_array() && new.is_array() => {
            let (Some(old), Some(new)) = (old.as_array_mut(), new.as_array()) else { return };
            let wanted: Vec<_> = new.iter().filter_map(Value::as_str).collect();
            old.retain(|entry| entry.as_str().is_some_and(|entry| wanted.contains(&entry)));
            for entry in wanted {
                if !old.iter().any(|known| known.as_str() == Some(entry)) {
                    push_entry(old, entry);
                }
            }
        }
        (Some(old), new) if old.is_table_like() && new.is_table_like() => {
            let (Some(old), Some(new)) = (old.as_table_like_mut(), new.as_table_like()) else { return };
            for (key, item) in new.iter() {
                merge(old, key, item);
            }
        }
        _ => _ = table.insert(key, plain(new)),
    }
}

/// Returns a value with the usual spaces.
fn plain(item: &Item) -> Item {
    match item.as_inline_table() {
        Some(inner) => {
            let pairs = inner.iter().map(|(key, value)| (key.to_owned(), value.clone().decorated(" ", "")));
            let mut table: InlineTable = pairs.collect();
            table.fmt();
            Item::Value(Value::InlineTable(table))
        }
        None => item
            .as_value()
            .map_or_else(|| item.clone(), |value| Item::Value(value.clone().decorated(" ", ""))),
    }
}

/// Adds an entry to a list. Returns `false` if it is there.
pub(super) fn push(table: &mut dyn TableLike, key: &str, entry: &str) -> bool {
    if !table.contains_key(key) {
        table.insert(key, Item::Value(Value::Array(Array::new())));
    }
    let Some(list) = table.get_mut(key).and_then(Item::as_array_mut) else { return false };
    if list.iter().any(|known| known.as_str() == Some(entry)) {
        return false;
    }
    push_entry(list, entry);
    true
}

/// Appends an entry in the style of the last one.
fn push_entry(list: &mut Array, entry: &str) {
    let prefix = match list.iter().last() {
        Some(end) => end.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or(" ").to_owned(),
        None => String::new(),
    };
    let prefix = match prefix.rsplit_once('\n') {
        // A comment before the last entry is not repeated.
        Some((_, indent)) => format!("\n{indent}"),
        None if list.is_empty() => String::new(),
        None => " ".to_owned(),
    };
    list.push_formatted(Value::from(entry).decorated(prefix, ""));
}

/// Removes an entry from a list. Returns `false` if it is not there.
pub(super) fn remove(list: &mut Array, entry: &str) -> bool {
    let before = list.len();
    list.retain(|known| known.as_str() != Some(entry));
    list.len() < before
}

/// Returns a lock that keeps other commands from writing, so that none replaces a change that it has not read.
fn locked(own_home: &Path) -> Result<fs::File> {
    let path = own_home.join("state/policy.lock");
    let begun = Instant::now();
    let open = || {
        private::folder(&own_home.join("state"))?;
        private::options().write(true).create(true).truncate(false).open(&path)
    };
    let file = open().with_context(|| format!("nothing was written: {} cannot be opened", path.display()))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_TIME => sleep(LOCK_TIME / 200),
            Err(_) => bail!("nothing was written: another command holds {}", path.display()),
        }
    }
}

/// Replaces the file, unless it has changed since it was read.
fn write(path: &Path, read: Option<&str>, text: &str) -> Result<()> {
    let now = match fs::read_to_string(path) {
        Ok(now) => Some(now),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    ensure!(now.as_deref() == read, "{} was changed meanwhile; nothing was written", path.display());
    let written = private::write(path, |file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.with_context(|| format!("{} cannot be written", path.display()))
}
