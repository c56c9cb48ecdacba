//! Fuzzes HTTP requests, from the head to the parameters. The input consists of header lines, an empty line
//! and a body.
#![no_main]

use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Builder;
use libfuzzer_sys::fuzz_target;
use scorpiox_mcp::jsonrpc::Incoming;
use scorpiox_transport_http::request::admission::{self, Doors};
use scorpiox_transport_http::request::claims::Claims;
use scorpiox_transport_http::request::{modern, params};
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let end = data.windows(2).position(|bytes| bytes == b"\n\n");
    let (head, body) = end.map_or((data, &data[..0]), |end| (&data[..end], &data[end + 2..]));
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut request = Builder::new().method("POST").uri(lines.next().unwrap_or_default());
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..colon]);
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(&line[colon + 1..])) {
            request = request.header(name, value);
        }
    }
    let Ok(request) = request.body(()) else { return };
    let (parts, ()) = request.into_parts();
    let doors = Doors {
        hosts: vec!["localhost".to_owned()],
        origins: vec!["http://localhost:7300".to_owned()],
        ..Doors::default()
    };
    let is_admitted = admission::admit(&parts, &doors, admission::Pages::Callers).is_ok();
    if is_admitted {
        // An admitted request names a known host.
        let host = parts.headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
        assert!(host.to_ascii_lowercase().starts_with("localhost"), "{host:?}");
    }
    let _ = admission::check_types(&parts.headers);
    let _ = admission::peer(&parts.headers, [10, 0, 0, 1].into(), &doors);
    let Ok(Incoming::Single(message)) = Incoming::parse(body) else { return };
    let Ok(claims) = Claims::of(message) else { return };
    if modern::is_meant(&parts.headers, &claims) && modern::check(&parts.headers, &claims).is_ok() {
        // The head of an accepted request names the method of its body.
        assert!(claims.id().is_none() || parts.headers.contains_key("mcp-method"));
    }
    if let Ok(body) = serde_json::from_slice::<Value>(body) {
        let _ = params::check(&parts.headers, &body["params"], &body["params"]["arguments"]);
    }
});
