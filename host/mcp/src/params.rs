//! Parameters of a request, parsed member by member and borrowed from the line.

use std::borrow::Cow;

use crate::jsonrpc::message::{MAX_DEPTH, nested_beyond};
use crate::jsonrpc::values::{MAX_VALUES, has_more_than};
use crate::jsonrpc::{Flaw, Members};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::RpcError;

const META: &str = "_meta";
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const TRACE_PARENT: &str = "traceparent";

/// The parameters of a request, or a nested object.
#[derive(Debug, Default)]
pub struct Params<'a>(Members<'a>);

impl<'a> Params<'a> {
    /// Creates the parameters of a request. Absent parameters are empty.
    pub fn new(members: Option<Members<'a>>) -> Result<Self, RpcError> {
        let members = members.unwrap_or_default();
        match members.flaw() {
            None => Ok(Self(members)),
            Some(flaw) => Err(RpcError::invalid_params(format!("params are not usable: {flaw}"))),
        }
    }

    /// Returns a member as raw JSON.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name)
    }

    /// Parses an optional member. `null` counts as absent, as it does for other servers.
    pub fn optional<T: Deserialize<'a>>(&self, name: &str, expected: &str) -> Result<Option<T>, RpcError> {
        let Some(raw) = self.raw(name).filter(|raw| raw.get() != "null") else { return Ok(None) };
        serde_json::from_str(raw.get()).map(Some).map_err(|_| {
            RpcError::invalid_params(format!("{name} must be {expected}, but is {}", shown(raw)))
        })
    }

    /// Parses a required member.
    pub fn required<T: Deserialize<'a>>(&self, name: &str, expected: &str) -> Result<T, RpcError> {
        self.optional(name, expected)?
            .ok_or_else(|| RpcError::invalid_params(format!("{name} is missing; it must be {expected}")))
    }

    /// Returns a member that is an object.
    pub fn object(&self, name: &str) -> Result<Option<Params<'a>>, RpcError> {
        let Some(members) = self.optional::<Members<'a>>(name, "an object")? else { return Ok(None) };
        match members.flaw() {
            None => Ok(Some(Params(members))),
            Some(flaw) => Err(RpcError::invalid_params(format!("{name} is not usable: {flaw}"))),
        }
    }

    /// Returns a member that is an object, as raw JSON. A string that contains the JSON of an object also
    /// counts, because models often send that.
    ///
    /// Checks the object's size, because much reads it before a tool's own limits apply.
    pub fn raw_object(&self, name: &str) -> Result<Option<Cow<'a, str>>, RpcError> {
        let object = match self.raw(name).map(RawValue::get) {
            Some(object) if object.starts_with('{') => Cow::Borrowed(object),
            None | Some("null") => return Ok(None),
            Some(other) => Cow::Owned(object_in(other).ok_or_else(|| {
                let short: String = other.chars().take(60).collect();
                RpcError::invalid_params(format!("{name} must be an object, but is {short}"))
            })?),
        };
        match excess(&object) {
            None => Ok(Some(object)),
            Some(why) => Err(RpcError::invalid_params(format!("{name} is not usable: {why}"))),
        }
    }
}

/// Returns what an object has too much of.
fn excess(object: &str) -> Option<String> {
    if nested_beyond(object.as_bytes(), MAX_DEPTH).is_some() {
        return Some(format!("nested deeper than {MAX_DEPTH} levels"));
    }
    match serde_json::from_str::<Members<'_>>(object) {
        // Of members with the same name, the tool says so.
        Ok(members) if members.flaw() == Some(&Flaw::TooMany) => return Some(Flaw::TooMany.to_string()),
        Ok(_) => {}
        Err(error) => return Some(error.to_string()),
    }
    has_more_than(object.as_bytes(), MAX_VALUES).then(|| format!("more than {MAX_VALUES} values and names"))
}

/// Returns the object whose JSON text is in a JSON string.
fn object_in(string: &str) -> Option<String> {
    let text: String = serde_json::from_str(string).ok()?;
    let value: Box<RawValue> = serde_json::from_str(&text).ok()?;
    value.get().starts_with('{').then(|| value.get().to_owned())
}

fn shown(raw: &RawValue) -> String {
    raw.get().chars().take(60).collect()
}

/// Severity of a log message, as named by the protocol (RFC 5424).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// Contents of a request's `_meta`.
#[derive(Debug, Default)]
pub struct RequestMeta<'a> {
    /// Token that identifies the request in progress notifications, as raw JSON to be echoed.
    pub progress_token: Option<&'a RawValue>,
    /// Revision of the client, in revisions without a handshake.
    pub protocol_version: Option<Cow<'a, str>>,
    /// Capabilities of the client, in revisions without a handshake.
    pub client_capabilities: Option<Params<'a>>,
    /// Client info, in revisions without a handshake. Raw, because an invalid one is not an error.
    pub client_info: Option<&'a RawValue>,
    /// Minimum level of log messages that the client wants for this request.
    pub log_level: Option<LogLevel>,
    /// Trace of the request in the W3C Trace Context format. Raw, because an invalid one is not an error.
    pub trace_parent: Option<&'a RawValue>,
}

impl RequestMeta<'_> {
    /// Returns the text of the request's trace parent.
    pub fn trace_parent(&self) -> Option<&str> {
        // A valid trace parent has no characters that JSON escapes.
        self.trace_parent?.get().strip_prefix('"')?.strip_suffix('"')
    }
}

impl<'a> RequestMeta<'a> {
    /// Parses `_meta`.
    pub fn parse(params: &Params<'a>) -> Result<Self, RpcError> {
        let Some(meta) = params.object(META)? else { return Ok(Self::default()) };
        let progress_token = meta.raw("progressToken").filter(|token| token.get() != "null");
        if let Some(token) = progress_token
            && crate::jsonrpc::Id::from_json(token.get()).is_err()
        {
            return Err(RpcError::invalid_params("progressToken must be a string or an integer"));
        }
        let protocol_version = meta.optional::<Text<'a>>(PROTOCOL_VERSION, "a string")?.map(|text| text.0);
        // Some clients of these revisions write `null` for no capabilities.
        let declares_none = protocol_version.is_some() && meta.raw(CLIENT_CAPABILITIES).is_some();
        Ok(Self {
            progress_token,
            protocol_version,
            client_info: meta.raw(CLIENT_INFO),
            client_capabilities: meta
                .object(CLIENT_CAPABILITIES)?
                .or_else(|| declares_none.then(Params::default)),
            trace_parent: meta.raw(TRACE_PARENT),
            log_level: meta.optional(LOG_LEVEL, "a log level such as \"info\"")?,
        })
    }

    /// Returns `true` if the request belongs to the revisions without a handshake.
    pub fn is_modern(&self) -> bool {
        self.protocol_version.is_some() || self.client_capabilities.is_some()
    }

    /// Names of the two required members of a request without a handshake.
    pub const REQUIRED: [&'static str; 2] = [PROTOCOL_VERSION, CLIENT_CAPABILITIES];
}

/// A string that borrows if possible.
#[derive(Debug, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn params(json: &str) -> Result<Params<'_>, RpcError> {
        Params::new(serde_json::from_str(json).expect("JSON"))
    }

    #[test]
    fn members_are_borrowed_and_wrong_ones_named() {
        let params = params(r#"{"name":"x","n":5,"arguments":{"a":1}}"#).expect("params");
        assert!(matches!(
            params.required::<Text<'_>>("name", "a string").expect("name").0,
            Cow::Borrowed("x")
        ));
        let arguments = params.raw_object("arguments").expect("object");
        assert!(matches!(arguments, Some(Cow::Borrowed(r#"{"a":1}"#))));
        let wrong = params.required::<Text<'_>>("n", "a string").expect_err("wrong");
        assert_eq!(wrong.to_string(), "n must be a string, but is 5");
        let missing = params.required::<Text<'_>>("uri", "a string").expect_err("missing");
        assert_eq!(missing.to_string(), "uri is missing; it must be a string");
        assert!(params.raw_object("n").is_err());
    }

    #[test]
    fn the_text_of_an_object_is_that_object() {
        let of = |value: &str| {
            params(&format!(r#"{{"arguments":{value}}}"#))
                .expect("params")
                .raw_object("arguments")
                .map(|object| object.map(Cow::into_owned))
        };
        assert_eq!(of(r#"" {\"a\":\"\\u00e4\"} ""#).expect("object").as_deref(), Some(r#"{"a":"\u00e4"}"#));
        for wrong in [r#""{\"a\":1} x""#, r#""[1]""#, r#""""#, r#""\"{}\"""#, r#""{""#, "[]", "7"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_object_has_bounds_also_in_a_text() {
        let members = |count: usize| {
            let members: Vec<_> = (0..count).map(|n| format!("\"m{n}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        let listed = |count: usize| format!("{{\"a\":[{}0]}}", "0,".repeat(count - 4));
        for (object, why) in [
            (members(257), "more than 256 members"),
            (listed(1_000_001), "more than 1000000 values and names"),
            (nested(129), "nested deeper than 128 levels"),
        ] {
            let text = serde_json::to_string(&object).expect("JSON");
            for arguments in [object, text] {
                let json = format!(r#"{{"arguments":{arguments}}}"#);
                let read = params(&json).expect("params").raw_object("arguments");
                let wrong = read.map(|_| ()).expect_err(why);
                assert_eq!(wrong.message(), format!("arguments is not usable: {why}"));
            }
        }
        for object in [members(256), listed(1_000_000), nested(128)] {
            let json = format!(r#"{{"arguments":{object}}}"#);
            assert!(
                params(&json).expect("params").raw_object("arguments").is_ok_and(|object| object.is_some())
            );
        }
    }

    #[test]
    fn duplicate_members_and_arrays_are_refused() {
        assert!(params(r#"{"a":1,"a":2}"#).is_err());
        assert!(params("[]").is_err());
        let nested = params(r#"{"_meta":{"a":1,"a":2}}"#).expect("params");
        assert!(nested.object("_meta").is_err());
    }

    #[test]
    fn null_counts_as_absent() {
        let params = params(r#"{"_meta":null,"capabilities":null,"name":null}"#).expect("params");
        assert!(RequestMeta::parse(&params).is_ok_and(|meta| !meta.is_modern()));
        assert!(params.object("capabilities").is_ok_and(|object| object.is_none()));
        let missing = params.required::<Text<'_>>("name", "a string").expect_err("missing");
        assert!(missing.message().contains("name is missing; it must be a string"), "{missing:?}");
        let meta = |members: &str| {
            let json =
                format!("{{\"_meta\":{{{members}\"io.modelcontextprotocol/clientCapabilities\":null}}}}");
            RequestMeta::parse(&super::tests::params(&json).expect("params"))
                .expect("meta")
                .client_capabilities
                .is_some()
        };
        assert!(meta(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#), "it declares none");
        assert!(!meta(""), "nothing says that it is of such a revision");
        let token = super::tests::params(r#"{"_meta":{"progressToken":null}}"#).expect("params");
        assert!(RequestMeta::parse(&token).is_ok_and(|meta| meta.progress_token.is_none()));
    }

    #[test]
    fn meta_is_read() {
        let params = params(
            r#"{"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28",
                "io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"warning"}}"#,
        );
        let params = params.expect("params");
        let meta = RequestMeta::parse(&params).expect("meta");
        assert!(meta.is_modern());
        assert_eq!(meta.progress_token.expect("token").get(), "7");
        assert_eq!(meta.log_level, Some(LogLevel::Warning));
        let wrong = super::tests::params(r#"{"_meta":{"progressToken":{}}}"#).expect("params");
        assert!(RequestMeta::parse(&wrong).is_err());
    }
}
