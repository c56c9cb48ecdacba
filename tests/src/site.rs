//! A web server on this machine, for tests of what fetches pages.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct Answer {
    status: &'static str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    then: Then,
}

/// What comes after the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Close,
    /// Nothing at all is sent; the other side has to go.
    Silence,
    /// More of the body, until the other side has gone.
    Endless,
}

impl Answer {
    /// A page of this type.
    pub fn of(mime_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type".to_owned(), mime_type.to_owned())];
        Self { status: "200 OK", headers, body: body.into(), then: Then::Close }
    }

    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::of("text/html; charset=utf-8", body)
    }

    pub fn status(mut self, status: &'static str) -> Self {
        self.status = status;
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn redirect(to: &str) -> Self {
        Self::html("").status("302 Found").header("Location", to)
    }

    pub fn not_found() -> Self {
        Self::html("<title>No such page</title><p>There is nothing here.").status("404 Not Found")
    }

    /// An answer that never comes.
    pub fn silence() -> Self {
        Self { then: Then::Silence, ..Self::html("") }
    }

    /// An answer that never ends.
    pub fn endless(self) -> Self {
        Self { then: Then::Endless, ..self }
    }
}

/// A server that answers as a function says.
pub struct Site {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Site {
    pub fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (answer, all) = (Arc::new(answer), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, all) = (Arc::clone(&answer), Arc::clone(&all));
                thread::spawn(move || {
                    let Some(asked) = read(&stream) else { return };
                    all.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
                    // The other side may have gone.
                    let _ = write(&stream, &asked, &answer(&asked));
                });
            }
        });
        Self { address, asked }
    }

    /// A whole URL.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often something below a path was asked for.
    pub fn count(&self, path: &str) -> usize {
        self.asked().iter().filter(|asked| asked.path.starts_with(path)).count()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { method, path, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

fn write(mut stream: &TcpStream, asked: &Asked, answer: &Answer) -> std::io::Result<()> {
    if answer.then == Then::Silence {
        // Until the other side has gone.
        return stream.read(&mut [0]).map(drop);
    }
    let mut head = format!("HTTP/1.1 {}\r\nConnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if answer.then == Then::Close {
        head.push_str(&format!("Content-Length: {}\r\n", answer.body.len()));
    }
    stream.write_all(head.as_bytes())?;
    stream.write_all(b"\r\n")?;
    if asked.method != "HEAD" {
        stream.write_all(&answer.body)?;
    }
    if answer.then == Then::Endless {
        // Until the other side has enough.
        loop {
            stream.write_all(&[b'x'; 8192])?;
        }
    }
    Ok(())
}
