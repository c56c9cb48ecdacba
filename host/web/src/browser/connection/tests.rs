use super::*;

/// The browser's side of a connection.
struct Other(BufReader<UnixStream>);

fn connect() -> (Connection, Other) {
    let (ours, theirs) = UnixStream::pair().expect("two sockets");
    (Connection::new(ours).expect("a connection"), Other(BufReader::new(theirs)))
}

impl Other {
    fn asked(&mut self) -> Value {
        let mut message = Vec::new();
        self.0.read_until(0, &mut message).expect("a message");
        assert_eq!(message.pop(), Some(0));
        serde_json::from_slice(&message).expect("JSON")
    }

    fn says(&mut self, text: &str) {
        self.0.get_mut().write_all(format!("{text}\0").as_bytes()).expect("it is heard");
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

#[test]
fn answers_reach_who_asked_in_any_order() {
    let (connection, mut other) = connect();
    thread::scope(|scope| {
        let ask = |name: &'static str| {
            let connection = &connection;
            scope.spawn(move || connection.call(Some("s"), name, &json!({}), soon(), &|| false))
        };
        let (a, b) = (ask("A"), ask("B"));
        let asked = [other.asked(), other.asked()];
        for message in asked.iter().rev() {
            assert_eq!(message["sessionId"], "s");
            let answer = json!({"id": message["id"], "result": {"of": message["method"]}});
            other.says(&answer.to_string());
        }
        assert_eq!(a.join().expect("no panic").expect("an answer")["of"], "A");
        assert_eq!(b.join().expect("no panic").expect("an answer")["of"], "B");
    });
}

#[test]
fn events_reach_the_page_that_they_are_of() {
    let (connection, mut other) = connect();
    let events = connection.events("mine");
    other.says(r#"{"method":"Page.a","sessionId":"other","params":{}}"#);
    other.says(r#"{"method":"Browser.b","params":{}}"#);
    other.says(r#"{"method":"Page.c","sessionId":"mine","params":{"x":1}}"#);
    let event = wait(&events, soon(), &|| false).expect("no error").expect("an event");
    assert_eq!(event, Event { method: "Page.c".into(), params: json!({"x": 1}) });
    connection.forget("mine");
    assert!(matches!(wait(&events, soon(), &|| false), Err(BrowserError::Gone(_))));
}

#[test]
fn an_error_is_told_with_what_was_asked() {
    let (connection, mut other) = connect();
    thread::scope(|scope| {
        let asks = scope.spawn(|| connection.call(None, "Page.navigate", &json!({}), soon(), &|| false));
        let id = other.asked()["id"].clone();
        other.says(&json!({"id": id, "error": {"code": -32000, "message": "Cannot navigate"}}).to_string());
        let error = asks.join().expect("no panic").expect_err("an error");
        assert_eq!(error, BrowserError::Page("Page.navigate: Cannot navigate".into()));
    });
}

#[test]
fn a_browser_that_ends_or_speaks_nonsense_is_gone() {
    for words in ["", "nonsense", "[1,2]"] {
        let (connection, mut other) = connect();
        thread::scope(|scope| {
            let asks = scope.spawn(|| connection.call(None, "A.b", &json!({}), soon(), &|| false));
            other.asked();
            if words.is_empty() {
                drop(other);
            } else {
                other.says(words);
            }
            assert!(matches!(asks.join().expect("no panic"), Err(BrowserError::Gone(_))), "{words}");
        });
        assert!(!connection.is_alive());
        assert!(connection.call(None, "A.b", &json!({}), soon(), &|| false).is_err());
    }
}

#[test]
fn who_gives_up_or_is_late_does_not_wait() {
    let (connection, _other) = connect();
    let stopped = connection.call(None, "A.b", &json!({}), soon(), &|| true);
    assert_eq!(stopped, Err(BrowserError::Cancelled));
    let late = connection.call(None, "A.b", &json!({}), Instant::now(), &|| false);
    assert_eq!(late, Err(BrowserError::Gone("it did not answer A.b in time".into())));
}
