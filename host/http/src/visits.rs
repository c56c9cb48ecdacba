//! Records requests that come to no call, in the audit of the workspace that they are for.

use std::net::IpAddr;
use std::sync::Arc;

use scorpiox_access::Principal;
use scorpiox_records::{Act, Refused, Visit, Visitor};
use scorpiox_server::Workspace;

use crate::callers::Unknown;
use crate::endpoint::Endpoint;
use scorpiox_http_bounds::WaitsFor;

/// `Host` or `Origin` is none of the server's, or a form came from another page.
pub(crate) const FORBIDDEN: &str = "forbidden";
/// The policy says that this principal may not.
pub(crate) const POLICY: &str = "policy";
/// There is no such workspace, or not for this principal.
pub(crate) const NO_WORKSPACE: &str = "no-workspace";
/// Too many tokens from there were not good.
pub(crate) const TOO_MANY: &str = "too-many-tries";
/// The form of a log-in is too long, or did not come in time.
pub(crate) const BAD_FORM: &str = "bad-form";
/// A token that is good is too long for a cookie.
pub(crate) const LONG_TOKEN: &str = "long-token";
/// No cookie could be made.
pub(crate) const NO_COOKIE: &str = "no-cookie";

/// A word for why nobody is known.
pub(crate) fn kind(unknown: &Unknown) -> &'static str {
    match unknown {
        Unknown::Missing => "no-token",
        Unknown::NotGood(_) => "bad-token",
        Unknown::Insufficient(_) => "scope",
        Unknown::Unavailable => "no-keys",
    }
}

/// A request, as far as its line has to say it.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) act: Act,
    pub(crate) from: IpAddr,
    pub(crate) path: &'a str,
}

impl Endpoint {
    /// Records that a request was refused. Writes to memory alone.
    pub(crate) fn refused(
        &self,
        seen: Seen<'_>,
        who: Option<&Principal>,
        refused: Refused<'_>,
        rule: Option<&str>,
    ) {
        let workspace = self.served.of_path(seen.path);
        // It was refused, whatever becomes of its line.
        let _ = record(&workspace, seen, who, Some(refused), rule);
    }

    /// Records that somebody did something, before it is done. An error says why it must not be.
    pub(crate) async fn did(
        &self,
        (act, from, path): (Act, IpAddr, String),
        who: Option<Arc<Principal>>,
        rule: Option<String>,
    ) -> Result<(), String> {
        let workspace = self.served.of_path(&path);
        let key = who.as_deref().map(Principal::key).unwrap_or_default();
        let write = move |_: &_| {
            let seen = Seen { act, from, path: &path };
            record(&workspace, seen, who.as_deref(), None, rule.as_deref())
        };
        // It waits for the disk, where nothing may be done without a line.
        self.blocking.run(WaitsFor::Disk, &key, write).await.map_err(|error| error.to_string())?
    }
}

fn record(
    workspace: &Workspace,
    seen: Seen<'_>,
    who: Option<&Principal>,
    refused: Option<Refused<'_>>,
    rule: Option<&str>,
) -> Result<(), String> {
    let Seen { act, from, path } = seen;
    let key = who.map(Principal::key).unwrap_or_default();
    let visitor = who.map(|who| {
        let (issuer, shown) = (who.issuer.as_deref(), who.shown.as_deref());
        Visitor { name: &who.name, issuer, shown, key: &key }
    });
    // Lines are written while it ticks.
    let _awake = workspace.app().ticker.begin();
    let visit = Visit { act, from, path, visitor, refused, rule };
    workspace.records().record_visit(&visit).map_err(|error| error.to_string())
}
