//! HTTP client for requests.

use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::error::causes;
use crate::route::Router;
use crate::{CONNECT_TIME, USER_AGENT};

/// Creates a client that connects only to addresses checked by the router.
pub(crate) fn client(
    router: &Arc<Router>,
    more: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
) -> Result<reqwest::Client, String> {
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_TIME)
        .pool_idle_timeout(Duration::from_secs(30))
        .pool_max_idle_per_host(2)
        .dns_resolver(Arc::new(OnlyChecked(Arc::clone(router))));
    more(builder).build().map_err(|error| {
        format!("requests cannot be made: {}; is the package ca-certificates installed?", causes(&error))
    })
}

/// Resolver that returns only the checked addresses.
struct OnlyChecked(Arc<Router>);

impl Resolve for OnlyChecked {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.0.checked(name.as_str());
        Box::pin(async move {
            let found = found.ok_or_else(|| std::io::Error::other("the name was not checked"))?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
