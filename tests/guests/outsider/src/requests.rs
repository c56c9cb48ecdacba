//! HTTP requests.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, Method, OutgoingBody, OutgoingRequest, Scheme};

pub fn send(
    method: &str,
    scheme: &str,
    authority: &str,
    path: &str,
    body: &str,
) -> Result<(u16, String), String> {
    let request = OutgoingRequest::new(Fields::new());
    let method = match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        other => Method::Other(other.to_owned()),
    };
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let refused = |what: &str| format!("{what} cannot be set");
    request.set_method(&method).map_err(|()| refused("method"))?;
    request.set_scheme(Some(&scheme)).map_err(|()| refused("scheme"))?;
    request.set_authority(Some(authority)).map_err(|()| refused("authority"))?;
    request.set_path_with_query(Some(path)).map_err(|()| refused("path"))?;
    let outgoing = request.body().map_err(|()| refused("body"))?;
    let response = handle(request, None).map_err(|error| format!("{error:?}"))?;
    {
        let stream = outgoing.write().map_err(|()| refused("body"))?;
        for chunk in body.as_bytes().chunks(4096) {
            stream.blocking_write_and_flush(chunk).map_err(|error| format!("{error:?}"))?;
        }
    }
    OutgoingBody::finish(outgoing, None).map_err(|error| format!("{error:?}"))?;
    response.subscribe().block();
    let answer = response.get().ok_or("no answer")?.map_err(|()| "taken already")?;
    let answer = answer.map_err(|error| format!("{error:?}"))?;
    let status = answer.status();
    let incoming = answer.consume().map_err(|()| "no body")?;
    let stream = incoming.stream().map_err(|()| "no stream")?;
    let mut bytes = Vec::new();
    while let Ok(chunk) = stream.blocking_read(1 << 16) {
        bytes.extend(chunk);
    }
    Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
}

pub fn keep_methods(count: u32, bytes: u32) -> u32 {
    let mut held = Vec::new();
    let mut taken = 0;
    for _ in 0..count {
        let request = OutgoingRequest::new(Fields::new());
        taken += u32::from(request.set_method(&Method::Other("M".repeat(bytes as usize))).is_ok());
        held.push(request);
    }
    taken
}
