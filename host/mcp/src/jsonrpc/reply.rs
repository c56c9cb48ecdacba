//! Serializes outgoing messages. Each function returns a complete line with its line feed.

use serde::Serialize;

use crate::jsonrpc::id::Id;

/// Returns the answer to a request.
pub fn result(id: &Id<'_>, result: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::with_capacity(256);
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    line.extend_from_slice(id.as_json().as_bytes());
    line.extend_from_slice(b",\"result\":");
    append(&mut line, result);
    line.push(b'}');
    end(line)
}

/// Appends a value as JSON. Plain data always serializes. A value that does not, such as a map with
/// non-string keys, becomes null, so that the line stays valid JSON.
fn append(line: &mut Vec<u8>, value: &impl Serialize) {
    let before = line.len();
    if serde_json::to_writer(&mut *line, value).is_err() {
        line.truncate(before);
        line.extend_from_slice(b"null");
    }
}

/// Terminates the line. External raw JSON may span several lines. Line breaks can only be between JSON
/// tokens, where a space is equivalent.
fn end(mut line: Vec<u8>) -> Vec<u8> {
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', &line[from..]) {
        line[from + at] = b' ';
        from += at + 1;
    }
    line.push(b'\n');
    line
}

#[derive(Serialize)]
struct ErrorObject<'a, D> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<D>,
}

/// Returns the error answer to a request; `id` is `None` if the request's ID is unknown.
pub fn error(id: Option<&Id<'_>>, code: i32, message: &str, data: Option<&impl Serialize>) -> Vec<u8> {
    let mut line = Vec::with_capacity(128 + message.len());
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    line.extend_from_slice(id.map_or("null", Id::as_json).as_bytes());
    line.extend_from_slice(b",\"error\":");
    append(&mut line, &ErrorObject { code, message, data });
    line.push(b'}');
    end(line)
}

/// Returns the error code in an answer from [`error`] to the request `id`; `None` for a result.
pub fn error_code(line: &[u8], id: &Id<'_>) -> Option<i32> {
    let rest = line.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":")?.strip_prefix(id.as_json().as_bytes())?;
    let rest = rest.strip_prefix(b",\"error\":{\"code\":")?;
    let end = rest.iter().position(|byte| *byte == b',')?;
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

/// Returns a request of this side.
pub fn request(id: &str, method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Request<'a, P> {
        jsonrpc: &'a str,
        id: &'a str,
        method: &'a str,
        params: P,
    }
    let mut line = Vec::with_capacity(512);
    append(&mut line, &Request { jsonrpc: "2.0", id, method, params });
    end(line)
}

/// Returns a notification.
pub fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Notification<'a, P> {
        jsonrpc: &'a str,
        method: &'a str,
        params: P,
    }
    let mut line = Vec::with_capacity(256);
    append(&mut line, &Notification { jsonrpc: "2.0", method, params });
    end(line)
}

/// Returns several answers in one array, as the answer to a batch.
pub fn batch(answers: &[Vec<u8>]) -> Vec<u8> {
    let mut line = vec![b'['];
    for (i, answer) in answers.iter().enumerate() {
        if i > 0 {
            line.push(b',');
        }
        line.extend_from_slice(answer.strip_suffix(b"\n").unwrap_or(answer));
    }
    line.extend_from_slice(b"]\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &[u8]) -> &str {
        std::str::from_utf8(line).expect("UTF-8")
    }

    #[test]
    fn answers_are_single_lines() {
        let id = Id::from_json("\"a\"").expect("id");
        assert_eq!(text(&result(&id, &[1])), "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":[1]}\n");
        assert_eq!(
            text(&error(None, -32700, "no\nJSON", None::<&()>)),
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\\nJSON\"}}\n"
        );
        assert_eq!(error_code(&error(Some(&id), -5, "x", None::<&()>), &id), Some(-5));
        assert_eq!(error_code(&result(&id, &[1]), &id), None);
        assert_eq!(text(&notification("n", &[2])), "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[2]}\n");
    }

    #[test]
    fn raw_json_over_several_lines_becomes_one_line() {
        let raw: Box<serde_json::value::RawValue> =
            serde_json::from_str("{\r\n \"a\": \"x\\ny\"\n}").expect("JSON");
        let line = notification("n", &raw);
        assert_eq!(text(&line), "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{   \"a\": \"x\\ny\" }}\n");
    }

    #[test]
    fn a_batch_answer_is_one_array_on_one_line() {
        assert_eq!(text(&batch(&[b"{}\n".to_vec(), b"1\n".to_vec()])), "[{},1]\n");
    }
}
