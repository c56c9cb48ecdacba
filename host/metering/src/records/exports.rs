//! Exports of audit lines as required by the policy.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::otlp::{Collector, Logs, Trusted};
use scorpiox_audit::{Authorities, Export, ExportError, LogServer, Named, Target};
use scorpiox_executor::{AsyncRuntime, threads};
use scorpiox_fs::{account_id, account_name};
use scorpiox_policy::rule::shorten_address;
use scorpiox_policy::{AuditPolicy, Export as Wanted, Sourced};
use scorpiox_workspace_config::Operator;

use super::{Audit, audit_folder, recorder, wanted};

/// Maximum time that shutdown waits for lines in transit.
const END_TIME: Duration = Duration::from_secs(1);

/// Creates the exports that the policy requires.
pub(super) fn of(own_home: &Path, policy: &AuditPolicy, runtime: &Arc<AsyncRuntime>) -> Vec<Export> {
    let folder = audit_folder(own_home);
    let tell = |said: &str| tracing::warn!("{said}");
    let exports = places(policy, runtime).into_iter();
    exports
        .map(|(place, named)| match place {
            Place::Target(target) => Export::new(&folder, &target, named, tell),
            Place::Collector(logs) => Export::to(&folder, Box::new(logs), named, tell),
        })
        .collect()
}

/// Destination of lines.
enum Place {
    Target(Target),
    Collector(Logs),
}

/// Tests whether each destination accepts lines, for interactive use.
pub fn check(operator: &Operator) -> Vec<(String, Result<(), ExportError>)> {
    let policy = wanted(operator);
    let runtime = Arc::default();
    let exports = if policy.enabled.value { places(&policy, &runtime) } else { Vec::new() };
    let checked = |(place, named): (Place, Named)| {
        let taken = match place {
            Place::Target(target) => Export::check(&target, &named),
            Place::Collector(mut logs) => Export::check_sink(&mut logs, &named),
        };
        (format!("{} ({})", named.shown, named.rule), taken)
    };
    exports.into_iter().map(checked).collect()
}

fn places(policy: &AuditPolicy, runtime: &Arc<AsyncRuntime>) -> Vec<(Place, Named)> {
    let (uid, user) = (account_id(), account_name());
    let ca = policy.export_ca.as_ref();
    let authorities = || ca.map_or(Authorities::System, |ca| Authorities::File(ca.value.clone().into()));
    let place = |wanted: &Wanted| match wanted {
        Wanted::Journald => Some(Place::Target(Target::Journald)),
        Wanted::Syslog(to) => Some(Place::Target(Target::Syslog(LogServer {
            host: to.host.clone(),
            port: to.port,
            tls: to.is_tls.then(authorities),
        }))),
        Wanted::File(_) => Some(Place::Target(Target::File(wanted.path(user.as_deref(), uid)?))),
        Wanted::Collector(url) => {
            let trusted = ca.map_or(Trusted::System, |ca| Trusted::File(ca.value.clone().into()));
            let collector = Collector::new(url, trusted, Arc::clone(runtime));
            Some(Place::Collector(Logs::new(collector, &recorder::machine(), policy.required.value)))
        }
    };
    let named = |wanted: &Sourced<Wanted>| {
        let to = place(&wanted.value)?;
        let place = match &to {
            Place::Target(Target::File(path)) => path.display().to_string(),
            _ => wanted.value.to_string(),
        };
        let shown = shown(&wanted.value, &place);
        Some((to, Named { place, shown, rule: wanted.source.to_string(), machine: recorder::machine() }))
    };
    let mut places: Vec<(Place, Named)> = policy.export.iter().filter_map(named).collect();
    tell_apart(places.iter_mut().map(|(_, named)| &mut named.shown));
    places
}

/// Returns a destination as people see it. The path of a collector may be a token.
fn shown(wanted: &Wanted, place: &str) -> String {
    match wanted {
        Wanted::Collector(url) => shorten_address(url),
        _ => place.to_owned(),
    }
}

/// Numbers equal names, so that each destination has its own figure.
fn tell_apart<'a>(names: impl Iterator<Item = &'a mut String>) {
    let mut seen = BTreeMap::<String, usize>::new();
    for name in names {
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *name = format!("{name} ({count})");
        }
    }
}

impl Audit {
    /// Sends a line that the audit log cannot record to the exports.
    pub(super) fn export_apart(&self, push: impl FnOnce(&mut Vec<u8>)) {
        let mut line = Vec::new();
        push(&mut line);
        self.exports.iter().for_each(|export| export.send_apart(&line));
    }

    /// Signals new lines to the exports.
    pub(super) fn wake_exports(&self) {
        self.exports.iter().for_each(Export::wake);
    }

    /// Waits until each destination has all written lines.
    pub(super) fn ensure_exports(&self) -> Result<(), ExportError> {
        threads::wait(|| self.exports.iter().try_for_each(Export::ensure))
    }

    /// Sends the remaining lines for a limited time. The next server sends the rest.
    pub(super) fn end_exports(&self) {
        let until = Instant::now() + END_TIME;
        self.exports.iter().for_each(|export| export.end(until));
        self.exports.iter().for_each(Export::wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_collector_is_not_shown_and_its_figure_is_its_own() {
        let url = |token: &str| format!("https://logs.example.com:4318/v1/{token}");
        let name = |url: &str| shown(&Wanted::Collector(url.to_owned()), url);
        let mut names = [name(&url("one")), name(&url("two")), shown(&Wanted::Journald, "journald")];
        tell_apart(names.iter_mut());
        let first = "https://logs.example.com:4318/…";
        assert_eq!(names, [first, &format!("{first} (2)"), "journald"]);
    }
}
