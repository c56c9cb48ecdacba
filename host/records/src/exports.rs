//! Where lines go besides the audit's own files, as the policy says.

use std::path::Path;
use std::time::{Duration, Instant};

use scorpiox_audit::{Authorities, Export, ExportError, LogServer, Named, Target};
use scorpiox_executor::threads;
use scorpiox_operator::Operator;
use scorpiox_paths::{account_id, account_name};
use scorpiox_policy::{AuditPolicy, Export as Wanted, Sourced};

use super::{Audit, audit_folder, recorder, wanted};

/// How long the end of a server waits for lines that are on their way.
const END_TIME: Duration = Duration::from_secs(1);

/// The exports that a policy asks for.
pub(super) fn of(own_home: &Path, policy: &AuditPolicy) -> Vec<Export> {
    let folder = audit_folder(own_home);
    let tell = |said: &str| tracing::warn!("{said}");
    let exports = targets(policy).into_iter();
    exports.map(|(target, named)| Export::new(&folder, &target, named, tell)).collect()
}

/// Whether each place takes lines, for a person who asks.
pub fn check(operator: &Operator) -> Vec<(String, Result<(), ExportError>)> {
    let policy = wanted(operator);
    let exports = if policy.enabled.value { targets(&policy) } else { Vec::new() };
    let checked = |(target, named): (Target, Named)| {
        let taken = Export::check(&target, &named);
        (format!("{} ({})", named.place, named.rule), taken)
    };
    exports.into_iter().map(checked).collect()
}

fn targets(policy: &AuditPolicy) -> Vec<(Target, Named)> {
    let (uid, user) = (account_id(), account_name());
    let ca = policy.export_ca.as_ref();
    let authorities = || ca.map_or(Authorities::System, |ca| Authorities::File(ca.value.clone().into()));
    let target = |wanted: &Wanted| match wanted {
        Wanted::Journald => Some(Target::Journald),
        Wanted::Syslog(to) => Some(Target::Syslog(LogServer {
            host: to.host.clone(),
            port: to.port,
            tls: to.is_tls.then(authorities),
        })),
        Wanted::File(_) => wanted.path(user.as_deref(), uid).map(Target::File),
    };
    let named = |wanted: &Sourced<Wanted>| {
        let target = target(&wanted.value)?;
        let place = match &target {
            Target::File(path) => path.display().to_string(),
            _ => wanted.value.to_string(),
        };
        Some((target, Named { place, rule: wanted.source.to_string(), machine: recorder::machine() }))
    };
    policy.export.iter().filter_map(named).collect()
}

impl Audit {
    /// Sends a line that the audit itself cannot take.
    pub(super) fn export_apart(&self, push: impl FnOnce(&mut Vec<u8>)) {
        let mut line = Vec::new();
        push(&mut line);
        self.exports.iter().for_each(|export| export.send_apart(&line));
    }

    /// There are new lines.
    pub(super) fn wake_exports(&self) {
        self.exports.iter().for_each(Export::wake);
    }

    /// Waits until every place has all lines that were written.
    pub(super) fn ensure_exports(&self) -> Result<(), ExportError> {
        threads::wait(|| self.exports.iter().try_for_each(Export::ensure))
    }

    /// Sends what there is, for a bounded time. What is left is for the next server.
    pub(super) fn end_exports(&self) {
        let until = Instant::now() + END_TIME;
        self.exports.iter().for_each(|export| export.end(until));
        self.exports.iter().for_each(Export::wait);
    }
}
