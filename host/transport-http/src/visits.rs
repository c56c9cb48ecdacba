//! Records requests that lead to no call in the audit of their workspace.

use std::net::IpAddr;
use std::sync::Arc;

use scorpiox_metering::records::{Act, Refused, Visit, Visitor};
use scorpiox_policy::access::Principal;
use scorpiox_server::Workspace;

use crate::bounds::WaitsFor;
use crate::callers::Unknown;
use crate::endpoint::Endpoint;

/// `Host` or `Origin` is not allowed, or a form came from another site.
pub(crate) const FORBIDDEN: &str = "forbidden";
/// The policy refuses the principal.
pub(crate) const POLICY: &str = "policy";
/// The workspace does not exist, or not for this principal.
pub(crate) const NO_WORKSPACE: &str = "no-workspace";
/// The page does not exist.
pub(crate) const NO_PAGE: &str = "no-page";
/// The peer sent too many invalid tokens.
pub(crate) const TOO_MANY: &str = "too-many-tries";
/// The log-in form is too long, or did not arrive in time.
pub(crate) const BAD_FORM: &str = "bad-form";
/// The token is valid but too long for a cookie.
pub(crate) const LONG_TOKEN: &str = "long-token";
/// The cookie could not be created.
pub(crate) const NO_COOKIE: &str = "no-cookie";
/// The approver who logged in has this credential no more.
pub(crate) const CLOSED: &str = "closed-channel";

/// Returns the keyword for a failed authentication.
pub(crate) fn kind(unknown: &Unknown) -> &'static str {
    match unknown {
        Unknown::Missing => "no-token",
        Unknown::NotGood(_) => "bad-token",
        Unknown::Insufficient(_) => "scope",
        Unknown::Unavailable => "no-keys",
    }
}

/// Properties of a request for its audit line.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) act: Act,
    pub(crate) from: IpAddr,
    pub(crate) path: &'a str,
}

impl Endpoint {
    /// Records a refused request. Only writes to memory.
    pub(crate) fn refused(
        &self,
        seen: Seen<'_>,
        who: Option<&Principal>,
        refused: Refused<'_>,
        rule: Option<&str>,
    ) {
        let workspace = self.served.of_path(seen.path);
        // The request is refused even if the line cannot be written.
        let _ = record(&workspace, seen, who, Some(refused), rule);
    }

    /// Records an action before it is performed, under the policy as it is now. On an error the action must not be
    /// performed.
    pub(crate) async fn did(
        &self,
        (act, from, path): (Act, IpAddr, String),
        who: Option<Arc<Principal>>,
        rule: Option<String>,
    ) -> Result<(), String> {
        let workspace = self.served.of_path(&path);
        let key = who.as_deref().map(Principal::key).unwrap_or_default();
        let write = move |_: &_| {
            // Under another policy, the reader might not be admitted any more.
            if act != Act::LogOut
                && let Err(unserved) = workspace.in_force().records().policy_admission()
            {
                let why = unserved.to_string();
                let refused = Refused { kind: POLICY, why: &why };
                record(&workspace, Seen { act, from, path: &path }, who.as_deref(), Some(refused), None)?;
                return Err(why);
            }
            let seen = Seen { act, from, path: &path };
            record(&workspace, seen, who.as_deref(), None, rule.as_deref())
        };
        // Waits for the disk if the policy requires a durable line.
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
    // The audit log writes lines while the ticker runs.
    let _awake = workspace.app().ticker.begin();
    let visit = Visit { act, from, path, visitor, refused, rule };
    workspace.records().record_visit(&visit).map_err(|error| error.to_string())
}
