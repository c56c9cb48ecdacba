//! Controls a real browser with WebDriver.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use scorpiox_tests::http::{HttpServer, Request};
use serde_json::{Value, json};

use super::proxies::free;

const PATIENCE: Duration = Duration::from_secs(60);

/// Chromium and its driver. Killed when dropped.
pub struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    /// Profile of the browser.
    _folder: tempfile::TempDir,
}

impl Browser {
    /// Starts a headless browser.
    pub fn start() -> Self {
        let address = free();
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("chromedriver");
        command
            .arg(format!("--port={}", address.port()))
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path());
        let driver = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let driver = driver.unwrap_or_else(|error| panic!("chromedriver: {error}; install chromium-driver"));
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < PATIENCE, "chromedriver takes no connections");
            thread::sleep(Duration::from_millis(20));
        }
        let mut browser = Self { driver, address, session: String::new(), _folder: folder };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ];
        let options = json!({ "args": arguments });
        let wanted = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } } } });
        let begun = browser.told("POST", "/session", &wanted);
        begun["sessionId"].as_str().expect("a session").clone_into(&mut browser.session);
        browser
    }

    /// Sends a command to the driver and returns its answer.
    fn told(&self, method: &str, path: &str, body: &Value) -> Value {
        let value = self.answered(method, path, body);
        assert!(value["error"].is_null(), "{path}: {value}");
        value
    }

    fn answered(&self, method: &str, path: &str, body: &Value) -> Value {
        let headers = [
            ("Host".to_owned(), self.address.to_string()),
            ("Content-Type".to_owned(), "application/json".to_owned()),
            ("Connection".to_owned(), "close".to_owned()),
        ];
        let body = if method == "GET" { Vec::new() } else { body.to_string().into_bytes() };
        let request =
            Request { method: method.to_owned(), path: path.to_owned(), headers: headers.into(), body };
        let answer = HttpServer::asked(self.address, &request);
        answer.json()["value"].clone()
    }

    fn tell(&self, what: &str, body: &Value) -> Value {
        self.told("POST", &format!("/session/{}/{what}", self.session), body)
    }

    /// Opens a page and waits until it is loaded.
    pub fn open(&self, url: &str) {
        self.tell("url", &json!({ "url": url }));
    }

    /// Runs a script and returns its result, regardless of the page's content security policy.
    pub fn run(&self, script: &str) -> Value {
        self.tell("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs a script that passes its result to `done`.
    pub fn run_later(&self, script: &str) -> Value {
        let script = format!("const done = arguments[arguments.length - 1]; {script}");
        self.tell("execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Presses keys one after the other.
    pub fn keys(&self, keys: &str) {
        let presses: Vec<_> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|action| json!({ "type": action, "value": key.to_string() }))
            })
            .collect();
        self.tell(
            "actions",
            &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": presses }] }),
        );
    }

    /// Emulates a color scheme, light or dark, and a viewport width in pixels.
    pub fn looks(&self, scheme: &str, width: u32) {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.tell("goog/cdp/execute", &json!({ "cmd": "Emulation.setEmulatedMedia", "params": media }));
        let screen = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false });
        self.tell(
            "goog/cdp/execute",
            &json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": screen }),
        );
    }

    /// Polls a script until its result satisfies `is_so`.
    pub fn until(&self, what: &str, script: &str, is_so: impl Fn(&Value) -> bool) {
        let begun = Instant::now();
        loop {
            let found = self.run(script);
            if is_so(&found) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}: {found}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Takes a screenshot. A page that reloads itself aborts the first try.
    pub fn screenshot(&self, to: &Path) {
        let path = format!("/session/{}/screenshot", self.session);
        let begun = Instant::now();
        let picture = loop {
            let picture = self.answered("GET", &path, &json!(null));
            if picture["error"].is_null() {
                break picture;
            }
            let is_aborted =
                picture["message"].as_str().is_some_and(|why| why.contains("aborted by navigation"));
            assert!(is_aborted && begun.elapsed() < PATIENCE, "{picture}");
        };
        let picture = base64::engine::general_purpose::STANDARD.decode(picture.as_str().expect("a picture"));
        fs::write(to, picture.expect("base64")).expect("written");
    }

    /// Returns the entries of the browser's log.
    pub fn log(&self) -> Vec<Value> {
        self.tell("se/log", &json!({ "type": "browser" })).as_array().cloned().expect("a list")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !thread::panicking() {
            self.told("DELETE", &format!("/session/{}", self.session), &json!({}));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
