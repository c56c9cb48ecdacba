//! Publishes ports of background commands on the machine's loopback interface.

use std::io::ErrorKind;
use std::sync::Arc;

use scorpiox_egress_proxy::Published;
use scorpiox_policy::Profile;
use scorpiox_sandbox::{Dialer, Network, Tier};

use crate::request::{As, Request};

/// Explains why the ports of a command stay in its sandbox, as the end of a sentence.
const OVER_HTTP: &str = "over HTTP, ports of commands are never published";

/// Ports of a command.
#[derive(Debug, Default)]
pub(super) struct Ports {
    /// Ports that are published until this is dropped.
    pub held: Vec<Published>,
    /// Notes for the result.
    pub notes: Vec<String>,
}

/// Returns `true` if ports of a background command are published: it is a command of the client itself, not over
/// HTTP, and has a network of its own.
pub(super) fn applies(profile: &Profile, request: &Request, (tier, network): (Tier, Network)) -> bool {
    let is_client = matches!(request.run_as, As::Client { .. });
    let has_own_network = matches!(tier, Tier::T1 | Tier::T1b) && network != Network::Host;
    !profile.publish.is_empty() && is_client && has_own_network && !is_over_http(request)
}

/// Publishes the ports of a profile. Without a dialer, explains why they are not.
pub(super) fn publish(
    profile: &Profile,
    request: &Request,
    (tier, network): (Tier, Network),
    dialer: Option<Dialer>,
) -> Ports {
    let mut ports = Ports::default();
    if profile.publish.is_empty() || !matches!(request.run_as, As::Client { .. }) {
        return ports;
    }
    let Some(dialer) = dialer.map(Arc::new) else {
        ports.notes.extend(why_not(profile, request, (tier, network)));
        return ports;
    };
    for port in &profile.publish {
        let (number, dialer) = (port.value, Arc::clone(&dialer));
        match Published::start(number, Arc::new(move || dialer.connect(number))) {
            Ok(held) => {
                ports.held.push(held);
                ports.notes.push(format!(
                    "publish: http://127.0.0.1:{number}/ on this machine leads to port {number} of this command while it \
                     runs ({})",
                    port.source
                ));
            }
            Err(error) => {
                let why = match error.kind() {
                    ErrorKind::AddrInUse => {
                        "another program or background command has it; end that, and start this command again"
                            .to_owned()
                    }
                    _ => error.to_string(),
                };
                ports.notes.push(format!("publish: port {number} of this machine was not taken: {why}"));
            }
        }
    }
    ports
}

fn why_not(profile: &Profile, request: &Request, (tier, network): (Tier, Network)) -> Option<String> {
    let why = if is_over_http(request) {
        OVER_HTTP.to_owned()
    } else if network == Network::Host || tier == Tier::None {
        // The command listens on this machine itself.
        return None;
    } else {
        format!("sandbox {tier} has no network of its own; T1 and T1b have")
    };
    Some(format!("publish: the ports of profile {} are not published: {why}", profile.name))
}

fn is_over_http(request: &Request) -> bool {
    request.uses.client().is_some_and(|client| client.principal.is_some())
}
