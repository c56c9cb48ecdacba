//! Shared setup of the crate's tests: policies, credentials, and timeouts.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use scorpiox_oci_registry::{Address, Credentials, Fetched, Keyring, NoCredentials, Patience, fetch};
use scorpiox_policy::Policy;
use scorpiox_web::{Courier, Times};

/// Policy line that permits requests to this machine.
pub const OPEN: &str = "allow_private = [\"127.0.0.1/32\"]";

/// Bytes that this crate accepts as a component.
pub const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0 a component";

/// `me:secret` in base64, as in headers.
pub const BASIC: &str = "bWU6c2VjcmV0";

pub fn courier(web: &str) -> Courier {
    let text = format!("version = 1\n[web]\n{web}");
    let policy = Policy::parse(&text, Path::new("policy.toml")).expect("a policy");
    Courier::new(policy.web, Arc::default()).expect("requests can be made")
}

pub fn short() -> Patience {
    let times = Times { silence: Duration::from_millis(400), whole: Duration::from_millis(1200) };
    Patience { quick: times, large: times }
}

pub fn address(text: &str) -> Address {
    Address::parse(text).expect("an address")
}

/// Fetches without credentials; returns the complete message of an error.
pub fn fetched(text: &str) -> Result<Fetched, String> {
    fetched_with(OPEN, &NoCredentials, text)
}

pub fn fetched_with(web: &str, keyring: &dyn Keyring, text: &str) -> Result<Fetched, String> {
    fetch(&address(text), &courier(web), keyring, Patience::default()).map_err(|error| error.to_string())
}

/// Returns the message of an expected error.
pub fn refused(text: &str) -> String {
    fetched(text).expect_err(text)
}

/// Keyring with the credentials of one registry.
pub struct Of(pub String);

impl Keyring for Of {
    fn credentials(&self, host: &str) -> Result<Option<Credentials>, String> {
        let own = || Credentials::new("me".to_owned(), "secret".to_owned()).expect("credentials");
        Ok((host == self.0).then(own))
    }
}

/// Keyring with the credentials of one registry, and a token host.
pub struct Named(pub String, pub Option<String>);

impl Keyring for Named {
    fn credentials(&self, host: &str) -> Result<Option<Credentials>, String> {
        let found = Of(self.0.clone()).credentials(host)?;
        Ok(found.map(|found| found.with_token_host(self.1.clone())))
    }
}
