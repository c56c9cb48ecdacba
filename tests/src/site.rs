//! Local web server for tests of tools that fetch pages.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Request received by the site.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    /// Path including the query.
    pub path: String,
    /// Headers by lowercase name.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// Response that the site sends.
#[derive(Debug, Clone)]
pub struct Answer {
    status: &'static str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    then: Then,
}

/// Behavior after the body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Close,
    /// Sends nothing; the client has to disconnect.
    Silence,
    /// Sends more of the body until the client disconnects.
    Endless,
}

impl Answer {
    /// Creates a page of this MIME type.
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

    /// Creates a response that never arrives.
    pub fn silence() -> Self {
        Self { then: Then::Silence, ..Self::html("") }
    }

    /// Makes the response endless.
    pub fn endless(self) -> Self {
        Self { then: Then::Endless, ..self }
    }
}

/// Server that computes each response with a function.
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
                    // The client may have disconnected.
                    let _ = write(&stream, &asked, &answer(&asked));
                });
            }
        });
        Self { address, asked }
    }

    /// Returns the complete URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns all requests received so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of requests for paths with this prefix.
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
        // Waits until the client disconnects.
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
        // Sends until the client disconnects.
        loop {
            stream.write_all(&[b'x'; 8192])?;
        }
    }
    Ok(())
}
