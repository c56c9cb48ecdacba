//! HTTP service in which each path responds, or fails, in a different way.

use wasip2::clocks::monotonic_clock;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingRequest, Method, OutgoingBody, OutgoingRequest,
    OutgoingResponse, ResponseOutparam, Scheme,
};

struct Service;

wasip2::http::proxy::export!(Service);

impl wasip2::exports::http::incoming_handler::Guest for Service {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let path = request.path_with_query().unwrap_or_default();
        match path.split('?').next().unwrap_or_default() {
            "/echo" => answer(out, 200, echo(&request).as_bytes()),
            "/teapot" => answer(out, 418, b"short and stout"),
            "/bytes" => answer(out, 200, &[0xff, 0xfe]),
            "/silent" => drop(out),
            "/forgets" => std::mem::forget(out),
            "/error" => ResponseOutparam::set(out, Err(ErrorCode::LoopDetected)),
            "/trap" => panic!("it traps"),
            "/late-trap" => {
                answer(out, 200, b"given");
                panic!("it traps afterwards");
            }
            "/half" => {
                let (body, stream) = begin(out, 200);
                let _ = stream.blocking_write_and_flush(b"half of it");
                std::mem::forget((body, stream));
            }
            "/half-trap" => {
                let (_body, stream) = begin(out, 200);
                let _ = stream.blocking_write_and_flush(b"half of it");
                panic!("it traps meanwhile");
            }
            "/flood" => {
                let (_body, stream) = begin(out, 200);
                while stream.blocking_write_and_flush(&[b'x'; 4096]).is_ok() {}
            }
            "/waits" => monotonic_clock::subscribe_duration(u64::MAX).block(),
            "/fetch" => {
                let said = fetch(path.split_once('?').map_or("", |(_, authority)| authority));
                answer(out, 200, said.as_bytes());
            }
            other => answer(out, 404, other.as_bytes()),
        }
    }
}

fn begin(out: ResponseOutparam, status: u16) -> (OutgoingBody, wasip2::io::streams::OutputStream) {
    let headers = Fields::new();
    let _ = headers.append("x-cookie", b"a");
    let _ = headers.append("x-cookie", b"b");
    let response = OutgoingResponse::new(headers);
    let _ = response.set_status_code(status);
    let body = response.body().expect("a body");
    ResponseOutparam::set(out, Ok(response));
    let stream = body.write().expect("a stream");
    (body, stream)
}

fn answer(out: ResponseOutparam, status: u16, bytes: &[u8]) {
    let (body, stream) = begin(out, status);
    for chunk in bytes.chunks(4096) {
        let _ = stream.blocking_write_and_flush(chunk);
    }
    drop(stream);
    let _ = OutgoingBody::finish(body, None);
}

fn echo(request: &IncomingRequest) -> String {
    let method = match request.method() {
        Method::Get => "GET".to_owned(),
        Method::Post => "POST".to_owned(),
        other => format!("{other:?}"),
    };
    let mut text = format!(
        "{method} {} of {}\n",
        request.path_with_query().unwrap_or_default(),
        request.authority().unwrap_or_default()
    );
    for (name, value) in request.headers().entries() {
        text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(&value)));
    }
    let body = request.consume().expect("a body");
    text.push_str(&String::from_utf8_lossy(&all(&body)));
    text
}

fn all(body: &IncomingBody) -> Vec<u8> {
    let stream = body.stream().expect("a stream");
    let mut bytes = Vec::new();
    while let Ok(chunk) = stream.blocking_read(1 << 16) {
        bytes.extend(chunk);
    }
    bytes
}

fn fetch(authority: &str) -> String {
    let request = OutgoingRequest::new(Fields::new());
    let _ = request.set_scheme(Some(&Scheme::Http));
    let _ = request.set_authority(Some(authority));
    let _ = request.set_path_with_query(Some("/"));
    match outgoing_handler::handle(request, None) {
        Err(error) => format!("{error:?}"),
        Ok(response) => {
            response.subscribe().block();
            match response.get() {
                Some(Ok(Ok(answer))) => format!("status {}", answer.status()),
                other => format!("{:?}", other.map(|answer| answer.map(|answer| answer.map(drop)))),
            }
        }
    }
}
