//! An in-memory registry on loopback with configurable responses, for tests of this crate and of the complete
//! program.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// Token issued by the token server.
const TOKEN: &str = "a-token-of-this-registry";

type Answer = dyn Fn(&Asked, &mut TcpStream) + Send + Sync;

/// A request that the registry received.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    /// Path with its query.
    pub target: String,
    /// Headers by lowercase name.
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

/// Required authentication.
#[derive(Debug, Clone)]
pub enum Login {
    Anybody,
    /// Basic authentication with `user:password` in base64.
    Basic(String),
    /// A token from `realm`, which may itself require basic authentication.
    Token {
        realm: String,
        basic: Option<String>,
    },
}

struct State {
    blobs: HashMap<String, Vec<u8>>,
    /// Manifests by repository name and tag or digest.
    manifests: HashMap<(String, String), (String, Vec<u8>)>,
    answers: Vec<(String, Arc<Answer>)>,
    asked: Vec<Asked>,
    has_referrers: bool,
    login: Login,
}

/// A registry that runs until the process ends.
#[derive(Clone)]
pub struct Served {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// Returns the SHA-256 digest in the registries' format.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// Returns the descriptor of a content.
pub fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": digest(bytes), "size": bytes.len() })
}

/// Sends a complete response.
pub fn reply(stream: &mut TcpStream, head: &str, body: &[u8]) {
    let length = body.len();
    let _ = write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(body);
}

/// Sends a redirect.
pub fn redirect(stream: &mut TcpStream, to: &str) {
    reply(stream, &format!("307 Temporary Redirect\r\nLocation: {to}"), b"");
}

impl Served {
    /// Starts a registry with the referrers API and without authentication.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = State {
            blobs: HashMap::new(),
            manifests: HashMap::new(),
            answers: Vec::new(),
            asked: Vec::new(),
            has_referrers: true,
            login: Login::Anybody,
        };
        let served = Self { address, state: Arc::new(Mutex::new(state)) };
        let own = served.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                thread::spawn(move || own.serve(stream));
            }
        });
        served
    }

    /// Starts a registry without the referrers API, like older ones.
    pub fn without_referrers() -> Self {
        let served = Self::start();
        served.state().has_referrers = false;
        served
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panicked with it")
    }

    pub fn login(&self, login: Login) {
        self.state().login = login;
    }

    /// Returns the URL of the registry's own token server.
    pub fn realm(&self) -> String {
        format!("http://{}/token", self.address)
    }

    /// Overrides the response to requests that begin with a text such as `GET /v2/`.
    pub fn answer(&self, begins: &str, answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) {
        self.state().answers.push((begins.to_owned(), Arc::new(answer)));
    }

    /// Returns the received requests that begin with a text.
    pub fn asked(&self, begins: &str) -> Vec<Asked> {
        let is_one = |asked: &&Asked| format!("{} {}", asked.method, asked.target).starts_with(begins);
        self.state().asked.iter().filter(is_one).cloned().collect()
    }

    /// Returns the address of a reference in this registry.
    pub fn oci(&self, rest: &str) -> String {
        format!("oci://{}/{rest}", self.address)
    }

    pub fn put_blob(&self, bytes: &[u8]) -> String {
        let digest = digest(bytes);
        self.state().blobs.insert(digest.clone(), bytes.to_vec());
        digest
    }

    pub fn put_manifest(&self, name: &str, tag: &str, media_type: &str, bytes: &[u8]) -> String {
        let digest = digest(bytes);
        let mut state = self.state();
        for at in [tag, &digest] {
            state.manifests.insert((name.to_owned(), at.to_owned()), (media_type.to_owned(), bytes.to_vec()));
        }
        digest
    }

    /// Stores a component in the layout of `wkg`, and returns the digest of its manifest.
    pub fn put_component(&self, name: &str, tag: &str, bytes: &[u8]) -> String {
        self.put_blob(bytes);
        self.put_layers(name, tag, &[descriptor("application/wasm", bytes)])
    }

    /// Stores a manifest with these layers.
    pub fn put_layers(&self, name: &str, tag: &str, layers: &[Value]) -> String {
        let config = descriptor("application/vnd.wasm.config.v0+json", b"{}");
        let manifest =
            json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers });
        self.put_manifest(name, tag, MANIFEST, manifest.to_string().as_bytes())
    }

    /// Returns all referrers of a manifest with this type.
    pub fn referrers(&self, subject: &str, artifact_type: &str) -> Vec<Value> {
        let state = self.state();
        let mut found = BTreeMap::new();
        for (media_type, bytes) in state.manifests.values() {
            let manifest: Value = serde_json::from_slice(bytes).unwrap_or_default();
            if manifest["subject"]["digest"] == subject && manifest["artifactType"] == artifact_type {
                let mut listed = descriptor(media_type, bytes);
                listed["artifactType"] = manifest["artifactType"].clone();
                found.insert(digest(bytes), listed);
            }
        }
        found.into_values().collect()
    }

    fn serve(&self, mut stream: TcpStream) {
        let Some(asked) = Asked::read(&stream) else { return };
        let line = format!("{} {}", asked.method, asked.target);
        let answer = {
            let mut state = self.state();
            state.asked.push(asked.clone());
            state
                .answers
                .iter()
                .rev()
                .find(|(begins, _)| line.starts_with(begins))
                .map(|found| found.1.clone())
        };
        match answer {
            Some(answer) => answer(&asked, &mut stream),
            None => self.usual(&asked, &mut stream),
        }
    }

    /// Sends the response of a well-behaved registry.
    fn usual(&self, asked: &Asked, stream: &mut TcpStream) {
        let login = self.state().login.clone();
        let authorization = asked.headers.get("authorization").map(String::as_str);
        let is_token = asked.target.starts_with("/token");
        match &login {
            Login::Basic(basic) if authorization != Some(&format!("Basic {basic}")) => {
                return reply(stream, "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"", b"");
            }
            Login::Token { basic, .. } if is_token => {
                let wanted = basic.as_ref().map(|basic| format!("Basic {basic}"));
                if wanted.is_some() && wanted.as_deref() != authorization {
                    return reply(stream, "401 Unauthorized", b"");
                }
                return reply(stream, "200 OK", json!({ "token": TOKEN }).to_string().as_bytes());
            }
            Login::Token { realm, .. } if authorization != Some(&format!("Bearer {TOKEN}")) => {
                let challenge =
                    format!("Bearer realm=\"{realm}\",service=\"test\",scope=\"registry:catalog:*\"");
                return reply(stream, &format!("401 Unauthorized\r\nWWW-Authenticate: {challenge}"), b"");
            }
            _ => {}
        }
        let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
        let path = path.strip_prefix("/v2/").unwrap_or_default();
        for kind in ["/manifests/", "/blobs/uploads/", "/blobs/", "/referrers/"] {
            if let Some((name, at)) = path.split_once(kind) {
                return match (kind, &*asked.method) {
                    ("/manifests/", "PUT") => self.take_manifest(asked, (name, at), stream),
                    ("/manifests/", _) => self.manifest((name, at), stream),
                    ("/blobs/uploads/", "POST") => {
                        let place = format!("http://{}/v2/{name}/blobs/uploads/1?state=x", self.address);
                        reply(stream, &format!("202 Accepted\r\nLocation: {place}"), b"");
                    }
                    ("/blobs/uploads/", _) => self.take_blob(asked, query, stream),
                    ("/blobs/", method) => self.blob(at, method, stream),
                    _ => self.refer(at, query, stream),
                };
            }
        }
        reply(stream, "404 Not Found", b"");
    }

    fn manifest(&self, (name, at): (&str, &str), stream: &mut TcpStream) {
        let found = self.state().manifests.get(&(name.to_owned(), at.to_owned())).cloned();
        if let Some((media_type, bytes)) = found {
            return reply(stream, &format!("200 OK\r\nContent-Type: {media_type}"), &bytes);
        }
        let errors = json!({ "errors": [{ "code": "MANIFEST_UNKNOWN", "message": "manifest unknown" }] });
        reply(stream, "404 Not Found\r\nContent-Type: application/json", errors.to_string().as_bytes());
    }

    fn take_manifest(&self, asked: &Asked, (name, at): (&str, &str), stream: &mut TcpStream) {
        let media_type = asked.headers.get("content-type").cloned().unwrap_or_default();
        let manifest: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let own = digest(&asked.body);
        if at.starts_with("sha256:") && at != own {
            return reply(stream, "400 Bad Request", b"");
        }
        let described =
            [&manifest["config"]].into_iter().chain(manifest["layers"].as_array().into_iter().flatten());
        let mut missing = described.filter_map(|one| one["digest"].as_str());
        if missing.any(|digest| !self.state().blobs.contains_key(digest)) {
            return reply(stream, "400 Bad Request", b"{\"errors\":[{\"code\":\"MANIFEST_BLOB_UNKNOWN\"}]}");
        }
        self.put_manifest(name, at, &media_type, &asked.body);
        let subject = manifest["subject"]["digest"].as_str().filter(|_| self.state().has_referrers);
        let said = subject.map_or_else(String::new, |subject| format!("\r\nOCI-Subject: {subject}"));
        reply(stream, &format!("201 Created{said}"), b"");
    }

    fn blob(&self, at: &str, method: &str, stream: &mut TcpStream) {
        let found = self.state().blobs.get(at).cloned();
        match found {
            Some(bytes) if method == "HEAD" => {
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    bytes.len()
                );
            }
            Some(bytes) => reply(stream, "200 OK\r\nContent-Type: application/octet-stream", &bytes),
            None => reply(stream, "404 Not Found", b""),
        }
    }

    fn take_blob(&self, asked: &Asked, query: &str, stream: &mut TcpStream) {
        let wanted = query.split('&').find_map(|pair| pair.strip_prefix("digest="));
        if wanted.map(|wanted| wanted.replace("%3A", ":")) != Some(digest(&asked.body)) {
            return reply(stream, "400 Bad Request", b"{\"errors\":[{\"code\":\"DIGEST_INVALID\"}]}");
        }
        self.put_blob(&asked.body);
        reply(stream, "201 Created", b"");
    }

    fn refer(&self, at: &str, query: &str, stream: &mut TcpStream) {
        if !self.state().has_referrers {
            return reply(stream, "404 Not Found\r\nContent-Type: text/plain", b"404 page not found");
        }
        let kind = query.strip_prefix("artifactType=").unwrap_or_default().replace("%2F", "/");
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": self.referrers(at, &kind) });
        reply(stream, &format!("200 OK\r\nContent-Type: {INDEX}"), index.to_string().as_bytes());
    }
}

impl Asked {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut parts = line.split_whitespace();
        let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, target, headers, body })
    }
}
