//! HTTP requests.

use wasip3::http::client;
use wasip3::http::types::{Fields, Method, Request, Response, Scheme};
use wasip3::wit_bindgen::spawn_local;

pub async fn send(method: &str, authority: &str, path: &str, body: String) -> Result<(u16, String), String> {
    let (mut writer, reader) = wasip3::wit_stream::new();
    let (_, trailers) = wasip3::wit_future::new(|| Ok(None));
    let (request, _) = Request::new(Fields::new(), Some(reader), trailers, None);
    let method = match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        other => Method::Other(other.to_owned()),
    };
    let refused = |what: &str| format!("{what} cannot be set");
    request.set_method(&method).map_err(|()| refused("method"))?;
    request.set_scheme(Some(&Scheme::Http)).map_err(|()| refused("scheme"))?;
    request.set_authority(Some(authority)).map_err(|()| refused("authority"))?;
    request.set_path_with_query(Some(path)).map_err(|()| refused("path"))?;
    spawn_local(async move {
        let _ = writer.write_all(body.into_bytes()).await;
    });
    let response = client::send(request).await.map_err(|error| format!("{error:?}"))?;
    let status = response.get_status_code();
    let (_, done) = wasip3::wit_future::new(|| Ok(()));
    let (stream, _) = Response::consume_body(response, done);
    let bytes = stream.collect().await;
    Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
}

/// Sends a request with a field after its body.
pub async fn send_with_trailer(authority: &str, name: &str) -> Result<u16, String> {
    let (mut writer, reader) = wasip3::wit_stream::new();
    let (after, trailers) = wasip3::wit_future::new(|| Ok(None));
    let (request, _) = Request::new(Fields::new(), Some(reader), trailers, None);
    let refused = |what: &str| format!("{what} cannot be set");
    request.set_method(&Method::Post).map_err(|()| refused("method"))?;
    request.set_scheme(Some(&Scheme::Http)).map_err(|()| refused("scheme"))?;
    request.set_authority(Some(authority)).map_err(|()| refused("authority"))?;
    request.set_path_with_query(Some("/")).map_err(|()| refused("path"))?;
    let fields =
        Fields::from_list(&[(name.to_owned(), b"7".to_vec())]).map_err(|error| format!("{error:?}"))?;
    spawn_local(async move {
        let _ = writer.write_all(b"body".to_vec()).await;
        drop(writer);
        let _ = after.write(Ok(Some(fields))).await;
    });
    let response = client::send(request).await.map_err(|error| format!("{error:?}"))?;
    Ok(response.get_status_code())
}
