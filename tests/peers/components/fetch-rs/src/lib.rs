//! Web access with a third-party library for WASI.

use wstd::http::{Body, Client, Request};

wit_bindgen::generate!({ world: "peer", path: "wit" });

struct Peer;

impl Guest for Peer {
    fn fetch(url: String) -> Result<String, String> {
        wstd::runtime::block_on(async {
            let request =
                Request::get(&url).body(Body::empty()).map_err(|error| format!("{url}: {error}"))?;
            let response = Client::new().send(request).await.map_err(|error| format!("{url}: {error:#}"))?;
            if !response.status().is_success() {
                return Err(format!("{url} answered {}", response.status()));
            }
            let mut body = response.into_body();
            let text = body.str_contents().await.map_err(|error| format!("{url}: {error:#}"))?;
            Ok(text.to_owned())
        })
    }
}

export!(Peer);
