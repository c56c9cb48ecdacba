//! Sends requests to a real server on this machine, which the policy allows.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_executor::{Cancel, Reason};
use scorpiox_policy::Policy;
use scorpiox_web::{Fetcher, Method, Pending, Request, Response, Waited, WebError};

type Answer = dyn Fn(&Asked, &mut TcpStream) + Send + Sync;

/// A request that the server received.
struct Asked {
    path: String,
    head: String,
    body: String,
}

/// A server whose responses come from a function, with one connection for each request.
struct Server {
    address: SocketAddr,
    count: Arc<AtomicUsize>,
}

impl Server {
    fn start(answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (answer, count): (Arc<Answer>, _) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&count);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, counted) = (Arc::clone(&answer), Arc::clone(&counted));
                thread::spawn(move || {
                    counted.fetch_add(1, Ordering::SeqCst);
                    serve(stream, &*answer);
                });
            }
        });
        Self { address, count }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn requests(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: TcpStream, answer: &Answer) {
    let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    answer(&Asked { path, head, body: String::from_utf8_lossy(&body).into_owned() }, &mut stream);
}

fn page(stream: &mut TcpStream, head: &str, body: &[u8]) {
    let length = body.len();
    let _ = write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(body);
}

fn fetcher(policy: &str) -> Fetcher {
    let text = format!("version = 1\n[web]\nallow_private = [\"127.0.0.1/32\"]\n{policy}");
    Fetcher::new(Policy::parse(&text, Path::new("policy.toml")).expect("a policy").web, Arc::default())
}

fn get(url: &str) -> Request {
    Request {
        method: Method::Get,
        url: url.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        timeout: Duration::from_secs(10),
        cached: false,
    }
}

fn fetch(fetcher: &Fetcher, request: Request) -> Result<Response, WebError> {
    let mut pending = fetcher.pending(None).expect("it starts");
    pending.begin(request);
    wait(&mut pending).1
}

fn wait(pending: &mut Pending) -> (u32, Result<Response, WebError>) {
    match pending.next(Duration::from_secs(20), None) {
        Waited::Finished(id, outcome) => (id, *outcome),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_page_comes_with_its_headers_and_whoever_asks_says_who_it_is() {
    let server = Server::start(|asked, stream| {
        page(stream, "404 Not Found\r\nX-Kind: A\r\nSet-Cookie: a=b", asked.head.as_bytes());
    });
    let mut request = get(&server.url("/a?b=c#d"));
    request.headers.push(("Accept".into(), "text/html".into()));
    let response = fetch(&fetcher(""), request).expect("an answer");
    assert_eq!((response.status, response.url), (404, server.url("/a?b=c")));
    let head = String::from_utf8(response.body).expect("text").to_ascii_lowercase();
    assert!(head.starts_with("get /a?b=c http/1.1"), "{head}");
    assert!(head.contains("user-agent: scorpiox-code/") && head.contains("accept: text/html"), "{head}");
    assert!(response.headers.contains(&("x-kind".into(), "A".into())));
    assert!(!response.headers.iter().any(|(name, _)| name == "set-cookie"));
}

#[test]
fn headers_that_frame_a_message_are_not_for_callers() {
    for name in ["Host", "content-length", "Transfer-Encoding", "User-Agent", "a b", "é"] {
        let mut request = get("http://127.0.0.1:1/");
        request.headers.push((name.into(), "1".into()));
        assert!(matches!(fetch(&fetcher(""), request), Err(WebError::Invalid(_))), "{name}");
    }
}

#[test]
fn redirects_are_followed_on_the_same_host_only() {
    let other = Server::start(|asked, stream| page(stream, "200 OK", asked.head.as_bytes()));
    let elsewhere = other.url("/there");
    let server = Server::start(move |asked, stream| match asked.path.as_str() {
        "/chain" => page(stream, "302 Found\r\nLocation: /next", b""),
        "/next" => page(stream, "301 Moved\r\nLocation: /end", b""),
        "/end" => page(stream, "200 OK", b"here"),
        "/away" => page(stream, &format!("302 Found\r\nLocation: {elsewhere}"), b""),
        _ => page(stream, "302 Found\r\nLocation: /loop", b""),
    });
    let strict = fetcher("");
    let response = fetch(&strict, get(&server.url("/chain"))).expect("an answer");
    assert_eq!((response.url, response.body), (server.url("/end"), b"here".to_vec()));
    let looped = fetch(&strict, get(&server.url("/loop")));
    assert!(
        matches!(&looped, Err(WebError::Failed(text)) if text.contains("more than 5 times")),
        "{looped:?}"
    );
    // A different port counts as a different host.
    assert_eq!(fetch(&strict, get(&server.url("/away"))), Err(WebError::Moved(other.url("/there"))));
    assert_eq!(other.requests(), 0);

    let mut request = get(&server.url("/away"));
    request.headers = vec![("Authorization".into(), "secret".into()), ("Accept".into(), "text/html".into())];
    let response = fetch(&fetcher("redirects = \"any\""), request).expect("an answer");
    let head = String::from_utf8(response.body).expect("text").to_ascii_lowercase();
    assert!(head.contains("accept: text/html") && !head.contains("secret"), "{head}");
}

/// A page that sets a cookie and redirects to itself, or by way of another page.
#[test]
fn cookies_are_kept_along_the_redirects_of_a_fetch() {
    let server = Server::start(|asked, stream| {
        let has_cookie = asked.head.to_ascii_lowercase().contains("cookie: seen=1");
        match (asked.path.as_str(), has_cookie) {
            ("/by-way", false) => {
                page(stream, "302 Found\r\nLocation: /page\r\nSet-Cookie: seen=1; Path=/", b"");
            }
            (_, true) => page(stream, "200 OK", b"here"),
            _ => page(stream, "302 Found\r\nLocation: /page\r\nSet-Cookie: seen=1", b""),
        }
    });
    let fetcher = fetcher("");
    for path in ["/page", "/by-way"] {
        let before = server.requests();
        assert_eq!(fetch(&fetcher, get(&server.url(path))).expect("an answer").body, b"here", "{path}");
        // The next fetch begins without cookies.
        assert_eq!(server.requests() - before, 2, "{path}");
    }
}

#[test]
fn a_redirect_to_an_address_inside_is_refused_even_where_redirects_are_followed() {
    let server =
        Server::start(|_, stream| page(stream, "302 Found\r\nLocation: http://169.254.169.254/", b""));
    let refused = fetch(&fetcher("redirects = \"any\""), get(&server.url("/")));
    assert!(matches!(&refused, Err(WebError::Denied(text)) if text.contains("link-local")), "{refused:?}");
}

#[test]
fn a_form_is_posted_and_what_follows_is_got() {
    let server = Server::start(|asked, stream| match asked.path.as_str() {
        "/form" => page(stream, "303 See Other\r\nLocation: /done", b""),
        _ => page(stream, "200 OK", format!("{} [{}]", asked.head, asked.body).as_bytes()),
    });
    let post = |path: &str| Request { method: Method::Post, body: b"q=a".to_vec(), ..get(&server.url(path)) };
    let text =
        |path| String::from_utf8(fetch(&fetcher(""), post(path)).expect("an answer").body).expect("text");
    assert!(text("/echo").starts_with("POST /echo") && text("/echo").ends_with("[q=a]"));
    assert!(text("/form").starts_with("GET /done") && text("/form").ends_with("[]"));
}

fn gzip(size: usize) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(&vec![b' '; size]).expect("packs");
    packer.finish().expect("packs")
}

#[test]
fn what_is_too_large_ends_when_it_is_packed_too() {
    let bomb = gzip(200 * 1024 * 1024);
    let fine = gzip(1024);
    let server = Server::start(move |asked, stream| match asked.path.as_str() {
        "/bomb" => page(stream, "200 OK\r\nContent-Encoding: gzip", &bomb),
        "/fine" => page(stream, "200 OK\r\nContent-Encoding: gzip", &fine),
        "/broken" => page(stream, "200 OK\r\nContent-Encoding: gzip", b"no gzip at all"),
        "/said" => drop(write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")),
        _ => {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\n\r\n");
            while stream.write_all(&[b'x'; 8192]).is_ok() {}
        }
    });
    let fetcher = fetcher("");
    assert_eq!(fetch(&fetcher, get(&server.url("/fine"))).expect("an answer").body.len(), 1024);
    for path in ["/bomb", "/said", "/endless"] {
        let refused = fetch(&fetcher, get(&server.url(path)));
        assert_eq!(refused, Err(WebError::TooLarge(10 * 1024 * 1024)), "{path}");
    }
    let broken = fetch(&fetcher, get(&server.url("/broken")));
    assert!(
        matches!(&broken, Err(WebError::Failed(text)) if text.contains("cannot be decompressed")),
        "{broken:?}"
    );
}

#[test]
fn who_is_slow_is_given_up_on() {
    let server = Server::start(|asked, stream| {
        if asked.path == "/drip" {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\n\r\n");
            // Ends when the peer has closed the connection.
            while stream.write_all(b"x").is_ok() {
                thread::park_timeout(Duration::from_millis(20));
            }
        }
        // Keeps the connection open until the peer closes it.
        let _ = stream.read(&mut [0]);
    });
    for path in ["/drip", "/silent"] {
        let begin = Instant::now();
        let request = Request { timeout: Duration::from_millis(300), ..get(&server.url(path)) };
        let late = fetch(&fetcher(""), request);
        assert!(matches!(&late, Err(WebError::TimedOut(text)) if text.contains(path)), "{late:?}");
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn many_requests_run_at_once_and_are_told_apart() {
    let server = Server::start(|asked, stream| page(stream, "200 OK", asked.path.as_bytes()));
    let fetcher = fetcher("");
    let mut pending = fetcher.pending(None).expect("it starts");
    let ids: Vec<u32> = (0..20).map(|at| pending.begin(get(&server.url(&format!("/{at}"))))).collect();
    let mut answers: Vec<(u32, String)> = (0..20)
        .map(|_| wait(&mut pending))
        .map(|(id, outcome)| (id, String::from_utf8(outcome.expect("an answer").body).expect("text")))
        .collect();
    answers.sort();
    let expected: Vec<_> = ids.iter().enumerate().map(|(at, id)| (*id, format!("/{at}"))).collect();
    assert_eq!(answers, expected);
    assert!(matches!(pending.next(Duration::from_secs(20), None), Waited::Nothing), "nothing is waited for");
}

#[test]
fn a_call_that_is_to_stop_waits_no_longer() {
    let server = Server::start(|_, stream| drop(stream.read(&mut [0])));
    let fetcher = fetcher("");
    let mut pending = fetcher.pending(None).expect("it starts");
    pending.begin(get(&server.url("/")));
    let cancel = Cancel::default();
    let waited = std::thread::scope(|scope| {
        scope.spawn(|| cancel.set(Reason::Client));
        pending.next(Duration::from_secs(20), Some(&cancel))
    });
    assert!(matches!(waited, Waited::Stopped), "{waited:?}");
}

#[test]
fn an_answer_is_kept_for_who_takes_an_old_one() {
    let server = Server::start(|asked, stream| {
        let status = if asked.path == "/fine" { "200 OK" } else { "500 Oh" };
        page(stream, status, b"page");
    });
    let fetcher = fetcher("");
    let ask = |path: &str, cached| {
        fetch(&fetcher, Request { cached, ..get(&server.url(path)) }).expect("an answer")
    };
    assert_eq!(ask("/fine", true), ask("/fine", true));
    assert_eq!(server.requests(), 1);
    ask("/fine", false);
    assert_eq!(server.requests(), 2, "who wants a new one gets it");
    ask("/bad", true);
    ask("/bad", true);
    assert_eq!(server.requests(), 4, "failures are not kept");
}

#[test]
fn what_cannot_be_reached_is_said_in_one_sentence() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let refused = fetch(&fetcher(""), get(&format!("http://127.0.0.1:{port}/")));
    assert!(
        matches!(&refused, Err(WebError::Failed(text)) if text.contains("127.0.0.1 cannot be reached")),
        "{refused:?}"
    );
    let garbage = Server::start(|_, stream| drop(stream.write_all(b"SSH-2.0-OpenSSH\r\n")));
    assert!(matches!(fetch(&fetcher(""), get(&garbage.url("/"))), Err(WebError::Failed(_))));
    let tls = fetch(&fetcher(""), get(&garbage.url("/").replace("http:", "https:")));
    assert!(matches!(tls, Err(WebError::Failed(_))), "{tls:?}");
}
