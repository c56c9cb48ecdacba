//! A request of WASI 0.3 with a trailer.

wit_bindgen::generate!({ world: "peer", path: "wit" });

use wasip3::http::types::{Fields, Method, Request, Scheme};
use wasip3::{wit_future, wit_stream};

struct Peer;

impl Guest for Peer {
    async fn send(authority: String, text: String) -> Result<String, String> {
        let told = |what: &'static str| move |error: ()| format!("{what}: {error:?}");
        let sum = text.bytes().map(u32::from).sum::<u32>().to_string();
        let (mut sender, body) = wit_stream::new();
        let (trailers, received) = wit_future::new(|| Ok(None));
        let (request, sent) = Request::new(Fields::new(), Some(body), received, None);
        request.set_method(&Method::Post).map_err(told("method"))?;
        request.set_scheme(Some(&Scheme::Http)).map_err(told("scheme"))?;
        request.set_authority(Some(&authority)).map_err(told("authority"))?;
        request.set_path_with_query(Some("/trailers")).map_err(told("path"))?;
        wasip3::wit_bindgen::spawn_local(async move {
            sender.write_all(text.into_bytes()).await;
            drop(sender);
            let fields = Fields::from_list(&[("x-sum".to_owned(), sum.into_bytes())]);
            let _ = trailers.write(fields.map(Some).map_err(|error| {
                wasip3::http::types::ErrorCode::InternalError(Some(format!("{error:?}")))
            })).await;
        });
        let response = wasip3::http::client::send(request).await.map_err(|error| format!("{error:?}"))?;
        drop(sent);
        let (_, done) = wit_future::new(|| Ok(()));
        let (body, _trailers) = wasip3::http::types::Response::consume_body(response, done);
        String::from_utf8(body.collect().await).map_err(|error| error.to_string())
    }
}

export!(Peer);
