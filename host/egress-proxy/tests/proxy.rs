//! Tests of the proxy over real sockets.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_egress_proxy::{AddressPolicy, Decide, Denied, Limits, Proxy, Resolve, Session};

/// Allows names that start with `good`, and records the requested names.
#[derive(Default)]
struct Good(Mutex<Vec<String>>);

impl Decide for Good {
    fn decide(&self, host: &str, _port: u16) -> Result<String, Denied> {
        self.0.lock().push(host.to_owned());
        if host.starts_with("good") || host.starts_with("127.") {
            Ok("line 1".to_owned())
        } else {
            Err(Denied { why: "not listed".to_owned(), rule: "line 2".to_owned() })
        }
    }
}

/// Returns one answer after another.
struct Answers(Vec<Vec<IpAddr>>, AtomicUsize);

impl Resolve for Answers {
    fn resolve(&self, _host: &str, port: u16, _time: Duration) -> std::io::Result<Vec<SocketAddr>> {
        let turn = self.1.fetch_add(1, Ordering::SeqCst).min(self.0.len() - 1);
        Ok(self.0[turn].iter().map(|address| SocketAddr::new(*address, port)).collect())
    }
}

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const SECOND: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 14));

struct Setting {
    /// Command without a known source address.
    session: Session,
    proxy: Option<Proxy>,
    at: SocketAddr,
    rules: Arc<Good>,
    resolver: Arc<Answers>,
}

/// Starts a proxy that treats 127.0.0.1, and no other local address, as public.
fn setting(answers: Vec<Vec<IpAddr>>, limits: Limits) -> Setting {
    let listener = TcpListener::bind((LOCAL, 0)).expect("a listener");
    let at = listener.local_addr().expect("an address");
    let rules = Arc::new(Good::default());
    let resolver = Arc::new(Answers(answers, AtomicUsize::new(0)));
    let addresses = AddressPolicy::new(vec![LOCAL.into()], "[web]");
    let proxy =
        Proxy::start(listener, Arc::clone(&rules) as _, Arc::clone(&resolver) as _, addresses, limits);
    let proxy = proxy.expect("it starts");
    Setting { session: proxy.session(), proxy: Some(proxy), at, rules, resolver }
}

impl Setting {
    fn usual() -> Self {
        setting(vec![vec![LOCAL]], Limits::default())
    }

    fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut client = TcpStream::connect(self.at).expect("it accepts");
        client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        client.write_all(bytes).expect("it reads");
        client
    }

    fn ask(&self, bytes: &[u8]) -> String {
        let mut answer = Vec::new();
        self.send(bytes).read_to_end(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Returns the allowed hosts, each with its rule.
    fn reached(&self) -> Vec<(String, u16, String)> {
        reached(&self.session)
    }

    fn refusals(&self) -> usize {
        self.session.refusals().len()
    }
}

fn reached(session: &Session) -> Vec<(String, u16, String)> {
    session.reached().into_iter().map(|reached| (reached.host, reached.port, reached.rule)).collect()
}

/// Starts a server for one connection. It returns everything it reads until the client closes.
fn server(answer: &'static [u8]) -> (u16, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind((LOCAL, 0)).expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    let serves = thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut read = Vec::new();
        client.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = client.read(&mut chunk) {
            read.extend_from_slice(&chunk[..count]);
            if read.ends_with(b"\r\n\r\n") || read.ends_with(b"ping") {
                break;
            }
        }
        client.write_all(answer).expect("it reads");
        // Drain the rest.
        while let Ok(count @ 1..) = client.read(&mut chunk) {
            read.extend_from_slice(&chunk[..count]);
        }
        read
    });
    (port, serves)
}

#[test]
fn a_tunnel_carries_bytes_both_ways() {
    let setting = Setting::usual();
    let (port, server) = server(b"pong");
    let mut client = setting.send(format!("CONNECT good.example:{port} HTTP/1.1\r\n\r\nping").as_bytes());
    client.shutdown(std::net::Shutdown::Write).expect("half-closed");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\npong"), "{answer}");
    assert_eq!(server.join().expect("it ends"), b"ping");
    assert_eq!(setting.reached(), [("good.example".to_owned(), port, "line 1".to_owned())]);
}

#[test]
fn what_is_not_allowed_is_refused_and_remembered() {
    let setting = Setting::usual();
    let answer = setting.ask(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("not listed"), "{answer}");
    assert!(setting.ask(b"GET http://evil.example/ HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 403 "));
    assert_eq!((setting.refusals(), setting.reached().len()), (2, 0));
    assert_eq!(setting.resolver.1.load(Ordering::SeqCst), 0, "no name is looked up before it is allowed");
}

#[test]
fn a_name_is_looked_up_once_and_every_address_is_checked() {
    let (port, server) = server(b"pong");
    // First a public address, then one of this machine, as a DNS rebinding attack answers.
    let rebinding = setting(vec![vec![LOCAL], vec![SECOND]], Limits::default());
    let mut client = rebinding.send(format!("CONNECT good.example:{port} HTTP/1.1\r\n\r\nping").as_bytes());
    let mut answer = [0; 12];
    client.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    assert_eq!(rebinding.resolver.1.load(Ordering::SeqCst), 1);
    drop(client);
    server.join().expect("it ends");

    for answers in [vec![SECOND], vec![PUBLIC, SECOND], vec!["::ffff:10.0.0.1".parse().expect("an address")]]
    {
        let mixed = setting(vec![answers.clone()], Limits::default());
        let answer = mixed.ask(b"CONNECT good.example:443 HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answers:?}: {answer}");
    }
    let literal = Setting::usual().ask(b"CONNECT 127.0.0.2:443 HTTP/1.1\r\n\r\n");
    assert!(literal.starts_with("HTTP/1.1 403 ") && literal.contains("of this machine"), "{literal}");
}

#[test]
fn one_request_is_sent_on_and_nothing_that_follows() {
    let setting = Setting::usual();
    let (port, server) = server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let request = format!(
        "GET http://good.example:{port}/a HTTP/1.1\r\nHost: evil.example\r\n\r\nGET http://evil.example/ HTTP/1.1\r\n\r\n"
    );
    let answer = setting.ask(request.as_bytes());
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    let read = String::from_utf8(server.join().expect("it ends")).expect("text");
    assert_eq!(read, format!("GET /a HTTP/1.1\r\nHost: good.example:{port}\r\nConnection: close\r\n\r\n"));
}

#[test]
fn socks_names_are_checked_byte_by_byte() {
    let setting = Setting::usual();
    let (port, server) = server(b"pong");
    let greeting = [5, 1, 0];
    let request = |name: &[u8], port: u16| {
        let length = u8::try_from(name.len()).expect("short");
        [&greeting[..], &[5, 1, 0, 3, length], name, &port.to_be_bytes()].concat()
    };
    for name in [&b"good\0.example"[..], b"good.example\n", b"good..example", "goöd.example".as_bytes(), b""]
    {
        let answer = setting.ask(&request(name, 443)).into_bytes();
        assert_eq!(answer.get(2..4), Some(&[5, 2][..]), "{name:?}");
    }
    assert!(setting.rules.0.lock().is_empty(), "odd names are not even asked about");
    // A program chooses the bytes, and people read the note and the audit.
    let shown: Vec<_> = setting.session.refusals().iter().map(|refusal| refusal.host.to_string()).collect();
    let wanted = [
        r#""good\x00.example""#,
        r#""good.example\x0a""#,
        r#""good..example""#,
        r#""go\xc3\xb6d.example""#,
        r#""""#,
    ];
    assert_eq!(shown, wanted);
    let mut client = setting.send(&[&request(b"GOOD.example.", port)[..], b"ping"].concat());
    let mut answer = [0; 16];
    client.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer[..4], &[5, 0, 5, 0]);
    assert_eq!(&answer[12..], b"pong");
    assert_eq!(*setting.rules.0.lock(), ["good.example"]);
    drop(client);
    server.join().expect("it ends");
}

#[test]
fn too_many_connections_and_slow_heads_are_refused() {
    let limits = Limits { connections: 1, setup: Duration::from_millis(200), ..Limits::default() };
    let setting = setting(vec![vec![LOCAL]], limits);
    let mut slow = setting.send(b"GET http://good");
    assert!(setting.ask(b"").starts_with("HTTP/1.1 503 "));
    assert_eq!(setting.session.lost().crowded, 1);
    let mut answer = String::new();
    slow.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[test]
fn the_end_of_the_proxy_is_the_end_of_its_connections() {
    let mut setting = Setting::usual();
    let (port, server) = server(b"pong");
    let mut client = setting.send(format!("CONNECT good.example:{port} HTTP/1.1\r\n\r\nping").as_bytes());
    let mut established = [0; 39];
    client.read_exact(&mut established).expect("a tunnel");
    let dropped = Instant::now();
    drop(setting.proxy.take());
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(dropped.elapsed() < Duration::from_millis(500), "{:?}", dropped.elapsed());
    server.join().expect("it ends");
    assert!(TcpStream::connect(setting.at).is_err(), "nobody listens any more");
}

/// Resolver that waits for the test.
struct Slow(Mutex<Option<mpsc::Receiver<()>>>, mpsc::Sender<()>);

impl Resolve for Slow {
    fn resolve(&self, _host: &str, port: u16, _time: Duration) -> std::io::Result<Vec<SocketAddr>> {
        let wait = self.0.lock().take().expect("one lookup");
        self.1.send(()).expect("the test waits");
        wait.recv_timeout(Duration::from_secs(10)).map_err(std::io::Error::other)?;
        Ok(vec![SocketAddr::new(LOCAL, port)])
    }
}

#[test]
fn a_host_is_recorded_before_the_end_or_not_reached() {
    let listener = TcpListener::bind((LOCAL, 0)).expect("a listener");
    let at = listener.local_addr().expect("an address");
    let ((release, wait), (looks, looked)) = (mpsc::channel(), mpsc::channel());
    let resolver = Arc::new(Slow(Mutex::new(Some(wait)), looks));
    let addresses = AddressPolicy::new(vec![LOCAL.into()], "[web]");
    let proxy = Proxy::start(listener, Arc::new(Good::default()), resolver, addresses, Limits::default());
    let proxy = proxy.expect("it starts");
    let session = proxy.session();
    let target = TcpListener::bind((LOCAL, 0)).expect("a listener");
    let port = target.local_addr().expect("an address").port();
    let mut client = TcpStream::connect(at).expect("it accepts");
    write!(client, "CONNECT good.example:{port} HTTP/1.1\r\n\r\n").expect("it reads");
    looked.recv_timeout(Duration::from_secs(10)).expect("a lookup");
    assert_eq!(reached(&session), []);
    session.end();
    assert_eq!(reached(&session), [("good.example".to_owned(), port, "line 1".to_owned())]);
    // Another command runs, but the connection is not its own.
    let other = proxy.session();
    release.send(()).expect("it waits");
    let mut rest = Vec::new();
    client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    client.read_to_end(&mut rest).expect("the end");
    target.set_nonblocking(true).expect("a listener");
    assert!(target.accept().is_err(), "nothing is reached after the end");
    assert_eq!((rest.len(), reached(&other)), (0, Vec::new()));
}

/// Connections without a known source address share one place here.
#[cfg(target_os = "linux")]
#[test]
fn an_attempt_to_connect_ends_with_its_command() {
    use socket2::{Domain, Socket, Type};
    let hole = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    hole.bind(&SocketAddr::new(LOCAL, 0).into()).expect("a free address");
    hole.listen(0).expect("a listener");
    let hole_at = hole.local_addr().expect("an address").as_socket().expect("of IP");
    // The kernel answers no further connection once the queue is full.
    let short = Duration::from_millis(200);
    let _filling: Vec<_> =
        std::iter::from_fn(|| TcpStream::connect_timeout(&hole_at, short).ok()).take(16).collect();

    let listener = TcpListener::bind((LOCAL, 0)).expect("a listener");
    let at = listener.local_addr().expect("an address");
    let limits = Limits { connections: 1, setup: Duration::from_mins(1), ..Limits::default() };
    let resolver = Arc::new(Answers(vec![vec![LOCAL]], AtomicUsize::new(0)));
    let addresses = AddressPolicy::new(vec![LOCAL.into()], "[web]");
    let proxy = Proxy::start(listener, Arc::new(Good::default()), resolver, addresses, limits);
    let proxy = proxy.expect("it starts");
    let session = proxy.session();
    let mut client = TcpStream::connect(at).expect("it accepts");
    write!(client, "CONNECT good.example:{} HTTP/1.1\r\n\r\n", hole_at.port()).expect("it reads");
    let until = Instant::now() + Duration::from_secs(10);
    while reached(&session).is_empty() {
        assert!(Instant::now() < until, "it does not connect");
        std::thread::yield_now();
    }
    session.end();

    let _other = proxy.session();
    let has_place = || {
        let mut client = TcpStream::connect(at).expect("it accepts");
        client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let mut answer = String::new();
        // A connection that is refused a place is reset if it has sent anything.
        let _ = write!(client, "GET / HTTP/1.1\r\n\r\n").and_then(|()| client.read_to_string(&mut answer));
        answer.starts_with("HTTP/1.1 4")
    };
    while !has_place() {
        assert!(Instant::now() < until, "the attempt keeps its place");
    }
}

#[test]
fn without_a_command_nothing_is_served() {
    let setting = Setting::usual();
    setting.session.end();
    let mut client = TcpStream::connect(setting.at).expect("it accepts");
    client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)));
}

/// Connects from an address of this machine, as the sandbox does for a command.
#[cfg(target_os = "linux")]
fn connect_from(source: Ipv4Addr, to: SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddr::new(source.into(), 0)).expect("a free address");
    connect(&socket, &to).expect("it accepts");
    let client = TcpStream::from(socket);
    client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    client
}

#[cfg(target_os = "linux")]
#[test]
fn connections_end_with_their_own_command() {
    let setting = Setting::usual();
    let other = setting.proxy.as_ref().expect("it runs").session();
    let tunnel = |source| {
        let (port, server) = server(b"pong");
        let mut client = connect_from(source, setting.at);
        write!(client, "CONNECT good{}.example:{port} HTTP/1.1\r\n\r\n", source.octets()[3])
            .expect("it reads");
        client.read_exact(&mut [0; 39]).expect("a tunnel");
        (client, server)
    };
    let (mut ours, our_server) = tunnel(setting.session.source());
    let (mut theirs, their_server) = tunnel(other.source());
    setting.session.end();
    assert!(matches!(ours.read(&mut [0]), Ok(0) | Err(_)), "it is closed");
    our_server.join().expect("it ends");
    theirs.write_all(b"ping").expect("it is open");
    let mut answer = [0; 4];
    theirs.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"pong");
    let hosts = |session| reached(session).into_iter().map(|(host, ..)| host).collect::<Vec<_>>();
    let name = |session: &Session| vec![format!("good{}.example", session.source().octets()[3])];
    assert_eq!((hosts(&setting.session), hosts(&other)), (name(&setting.session), name(&other)));
    drop(theirs);
    their_server.join().expect("it ends");
    // Another command runs, but the address is not its own.
    let mut late = connect_from(setting.session.source(), setting.at);
    assert!(matches!(late.read(&mut [0]), Ok(0) | Err(_)));
}

/// Starts a proxy with one Unix socket of the machine, whose path in the cell is `inside`.
#[cfg(target_os = "linux")]
fn with_service(inside: &std::path::Path, service: &std::path::Path, limits: Limits) -> Proxy {
    use scorpiox_egress_proxy::{Service, ServiceListener, Target};
    let resolver = Arc::new(Answers(vec![vec![LOCAL]], AtomicUsize::new(0)));
    let addresses = AddressPolicy::new(Vec::new(), "[web]");
    let mut proxy = Proxy::without_listener(Arc::new(Good::default()), resolver, addresses, limits);
    let listener = std::os::unix::net::UnixListener::bind(inside).expect("a socket");
    let service = Service { target: Target::Unix(service.to_owned()), rule: "line 1".to_owned() };
    proxy.open(ServiceListener::Unix(listener), service).expect("it listens");
    proxy
}

#[cfg(target_os = "linux")]
#[test]
fn a_half_closed_connection_to_a_service_gives_its_place_back() {
    use std::os::unix::net::{UnixListener, UnixStream};
    let held = tempfile::tempdir().expect("a folder");
    let folder = held.path().canonicalize().expect("a path");
    let (inside, service) = (folder.join("inside"), folder.join("service"));
    let listener = UnixListener::bind(&service).expect("a socket");
    let limits = Limits { connections: 2, idle: Duration::from_millis(50), ..Limits::default() };
    let proxy = with_service(&inside, &service, limits);
    let _session = proxy.session();
    let connect = || {
        let client = UnixStream::connect(&inside).expect("it accepts");
        client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        (client, listener.accept().expect("a connection").0)
    };
    let ((mut open, mut answers), (mut half, _never_closes)) = (connect(), connect());
    half.shutdown(std::net::Shutdown::Write).expect("half-closed");
    assert_eq!(half.read(&mut [0; 9]).expect("an end"), 0);
    // A connection that is only idle stays open.
    answers.write_all(b"late").expect("it is open");
    let mut late = [0; 4];
    open.read_exact(&mut late).expect("an answer");
    assert_eq!(&late, b"late");
    let until = Instant::now() + Duration::from_secs(10);
    let has_place = || {
        let mut client = UnixStream::connect(&inside).expect("it accepts");
        client.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        matches!(client.read(&mut [0; 9]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    while !has_place() {
        assert!(Instant::now() < until, "it keeps its place");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_of_a_service_that_is_gone_gives_its_place_back_at_once() {
    use std::os::unix::net::{UnixListener, UnixStream};
    let held = tempfile::tempdir().expect("a folder");
    let folder = held.path().canonicalize().expect("a path");
    let (inside, service) = (folder.join("inside"), folder.join("service"));
    let listener = UnixListener::bind(&service).expect("a socket");
    let proxy = with_service(&inside, &service, Limits { connections: 1, ..Limits::default() });
    let _session = proxy.session();
    let until = Instant::now() + Duration::from_secs(10);
    let mut never_close = Vec::new();
    while never_close.len() < 3 {
        assert!(Instant::now() < until, "it keeps its place");
        let mut client = UnixStream::connect(&inside).expect("it accepts");
        client.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        let ended = client.write_all(b"last words").and_then(|()| client.read(&mut [0; 9]));
        if !matches!(ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock) {
            continue; // no place is free yet
        }
        drop(client);
        let (mut server, _) = listener.accept().expect("a connection");
        server.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let mut words = String::new();
        server.read_to_string(&mut words).expect("all bytes arrive");
        assert_eq!(words, "last words");
        never_close.push(server);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_service_with_a_full_queue_is_waited_for() {
    use socket2::{Domain, SockAddr, Socket, Type};
    let held = tempfile::tempdir().expect("a folder");
    let folder = held.path().canonicalize().expect("a path");
    let (inside, service) = (folder.join("inside"), folder.join("service"));
    let (listener, address) = (
        Socket::new(Domain::UNIX, Type::STREAM, None).expect("a socket"),
        SockAddr::unix(&service).expect("an address"),
    );
    listener.bind(&address).expect("a free path");
    listener.listen(0).expect("it listens");
    let filling = std::iter::from_fn(|| {
        let client = Socket::new(Domain::UNIX, Type::STREAM, None).expect("a socket");
        client.set_nonblocking(true).expect("a mode");
        client.connect(&address).ok().map(|()| client)
    });
    let filling: Vec<_> = filling.take(16).collect();
    let proxy = with_service(&inside, &service, Limits::default());
    let session = proxy.session();
    let mut client = std::os::unix::net::UnixStream::connect(&inside).expect("it accepts");
    client.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    let error = client.read(&mut [0; 9]).expect_err("it waits");
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    for _ in &filling {
        listener.accept().expect("a client");
    }
    let (mut server, _) = listener.accept().expect("the connection of the command");
    server.write_all(b"here").expect("it is open");
    client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    let mut here = [0; 4];
    client.read_exact(&mut here).expect("an answer");
    assert_eq!((&here, session.unreachable()), (b"here", Vec::new()));
}
