//! HTTP service for WASI 0.3 in which each path responds, or fails, in a different way.

use wasip3::clocks::monotonic_clock;
use wasip3::http::types::{ErrorCode, Fields, Request, Response};
use wasip3::{spawn_local, wit_future, wit_stream};

struct Service;

wasip3::http::service::export!(Service);

impl wasip3::exports::http::handler::Guest for Service {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let path = request.get_path_with_query().unwrap_or_default();
        match path.split('?').next().unwrap_or_default() {
            "/echo" => Ok(answer(200, echo(request).await, End::Whole)),
            "/bytes" => Ok(answer(200, vec![0xff, 0xfe], End::Whole)),
            "/error" => Err(ErrorCode::LoopDetected),
            "/trap" => panic!("it traps"),
            "/late-trap" => Ok(answer(200, b"given".to_vec(), End::Trap)),
            "/half-trap" => Ok(answer(200, b"half of it".to_vec(), End::Early)),
            "/half" => Ok(answer(200, b"half of it".to_vec(), End::Never)),
            "/flood" => Ok(answer(200, vec![b'x'; 16 * 1024 * 1024], End::Whole)),
            "/waits" => {
                monotonic_clock::wait_for(u64::MAX).await;
                Err(ErrorCode::LoopDetected)
            }
            other => Ok(answer(404, other.as_bytes().to_vec(), End::Whole)),
        }
    }
}

enum End {
    Whole,
    Trap,
    Never,
    /// Traps before the end of the body.
    Early,
}

fn answer(status: u16, text: Vec<u8>, end: End) -> Response {
    let headers = Fields::new();
    let _ = headers.append("x-cookie", b"a");
    let _ = headers.append("x-cookie", b"b");
    let (mut writer, reader) = wit_stream::new();
    let (trailers, no_trailers) = wit_future::new(|| Ok(None));
    let (response, _) = Response::new(headers, Some(reader), no_trailers);
    let _ = response.set_status_code(status);
    spawn_local(async move {
        let _ = writer.write_all(text).await;
        if matches!(end, End::Never) {
            monotonic_clock::wait_for(u64::MAX).await;
        }
        assert!(!matches!(end, End::Early), "it traps meanwhile");
        drop(writer);
        drop(trailers);
        if matches!(end, End::Trap) {
            monotonic_clock::wait_for(1_000_000).await;
            panic!("it traps afterwards");
        }
    });
    response
}

async fn echo(request: Request) -> Vec<u8> {
    let said = format!(
        "{:?} {:?} {:?} {:?}\n",
        request.get_method(),
        request.get_scheme(),
        request.get_authority(),
        request.get_path_with_query()
    );
    let mut headers = request.get_headers().copy_all();
    headers.sort();
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value))).collect();
    let (_, done) = wit_future::new(|| Ok(()));
    let (body, _) = Request::consume_body(request, done);
    [said.into_bytes(), headers.into_bytes(), body.collect().await].concat()
}
