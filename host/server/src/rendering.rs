//! Renders a tool's output as the result for a client, so that the client's model sees all of it.
//!
//! Clients handle results differently: some join texts without a separator, some show data instead of text,
//! and all truncate long text. A result therefore has a single text with everything that is not an image,
//! followed by the images; see [`ClientTraits`].
//!
//! Invariant: the text of a result has at most [`Manner::chars`] characters, for every tool. Tools stay
//! within [`Manner::room`] by their own means. Longer texts are truncated here, and the complete text is
//! stored in a file.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use scorpiox_command_output::{SpillPlace, fit, length};
use scorpiox_mcp::jsonrpc::message::nested_beyond;
use scorpiox_store::Message;
use serde::Serialize;
use serde_json::value::RawValue;

use super::deliveries::{BETWEEN, MESSAGE_CHARS};
use super::scope::Scope;
use scorpiox_capabilities::contents::RichContent;
use scorpiox_mcp::content::{Content, Embedded};
use scorpiox_mcp::{ClientTraits, Revision};
use scorpiox_tools::{Kind, Output, OutputContent, Tool};

/// Maximum nesting depth of structured results. Client parsers reject a message at 128 levels.
const MAX_STRUCTURED_DEPTH: usize = 100;
/// Member of structured data that carries callback messages, for models that see no text.
const MESSAGES: &str = "callback_messages";
/// Result of a call, in the format of the revision.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult<'a> {
    content: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Cow<'a, RawValue>>,
    is_error: bool,
}

/// Rendering options for the result of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    traits: &'static ClientTraits,
    revision: Revision,
    /// `true` if programs read the result, too: data and documents keep their own content types.
    for_programs: bool,
    /// `true` if results may have structured data.
    structured: bool,
    /// `true` if the tool, and therefore its data, belongs to a plugin.
    is_others: bool,
    /// Maximum length of the text in characters.
    chars: usize,
}

impl Manner {
    /// Creates the manner for a call of this tool.
    pub(crate) fn of(scope: &Scope<'_>, tool: &Tool) -> Self {
        let traits = scope.request.traits;
        let for_programs = scope.session.gives_data();
        let is_others = matches!(tool.kind, Kind::Plugin { .. });
        Self {
            traits,
            revision: scope.request.revision,
            for_programs,
            structured: scope.request.revision.features().structured && (for_programs || is_others),
            is_others,
            chars: chars(traits, tool),
        }
    }

    /// Returns the maximum length of this tool's own text in characters.
    pub(crate) fn room(scope: &Scope<'_>, tool: &Tool) -> usize {
        chars(scope.request.traits, tool) - MESSAGE_CHARS
    }
}

impl Manner {
    /// Truncates a text so that `room` more characters fit.
    fn fit<'a>(&self, text: Cow<'a, str>, room: usize, place: impl FnOnce() -> SpillPlace) -> Cow<'a, str> {
        let mut most = self.chars - room;
        if let Some(json) = self.traits.json_chars {
            // The length of the truncated text is only known after truncation.
            while let length = json_length(&fit(Cow::Borrowed(&*text), most, SpillPlace::none))
                && length > json - room
            {
                most = (most - 1).min(most * (json - room) / length);
            }
        }
        fit(text, most, place)
    }
}

/// Returns the length of a text in JSON, as JavaScript escapes and counts it.
fn json_length(text: &str) -> usize {
    let is_escaped = |c: &char| matches!(c, '"' | '\\' | '\n' | '\r' | '\t');
    length(text) + text.chars().filter(is_escaped).count()
}

fn chars(traits: &ClientTraits, tool: &Tool) -> usize {
    if tool.marks.whole { traits.sized_chars } else { traits.result_chars }
}

/// A result without callback messages.
pub(super) struct Body<'a> {
    manner: Manner,
    text: Cow<'a, str>,
    rest: Vec<Content<'a>>,
    structured: Option<Cow<'a, RawValue>>,
    is_error: bool,
}

impl<'a> Body<'a> {
    /// Renders the outcome of a call. A text that is too long is stored in the file at `place`.
    pub(super) fn of(
        outcome: &'a Result<Output, String>,
        manner: Manner,
        place: impl FnOnce() -> SpillPlace,
    ) -> Self {
        let mut texts = Vec::new();
        let mut rest = Vec::new();
        match outcome {
            Ok(output) => {
                for content in &output.content {
                    match piece(content, manner) {
                        Content::Text { text } => texts.push(text),
                        other => rest.push(other),
                    }
                }
            }
            Err(text) => texts.push(scorpiox_text::clean(text)),
        }
        let structured = outcome.as_ref().ok().filter(|_| manner.structured);
        Self {
            manner,
            text: manner.fit(joined(texts), MESSAGE_CHARS, place),
            rest,
            structured: structured.and_then(|output| structured_content(output.structured.as_deref()?)),
            is_error: outcome.as_ref().map_or(true, |output| output.is_error),
        }
    }

    /// Returns `true` if the model sees the data and no text.
    fn is_data_alone(&self) -> bool {
        self.structured.is_some() && self.manner.traits.shows_data_alone
    }

    /// Returns the number of characters left for messages. Returns 0 if the model sees only data of a plugin.
    pub(super) fn room_for_messages(&self) -> usize {
        if self.is_data_alone() && self.manner.is_others {
            return 0;
        }
        let Manner { traits, chars, .. } = self.manner;
        let in_json = traits.json_chars.map(|json| json.saturating_sub(json_length(&self.text)));
        chars.saturating_sub(length(&self.text)).min(in_json.unwrap_or(usize::MAX))
    }

    /// Returns the complete result.
    pub(super) fn with(self, messages: &'a [Message]) -> ToolResult<'a> {
        let is_data_alone = self.is_data_alone();
        let texts = messages.iter().map(|message| scorpiox_text::clean(&message.text));
        let own = (!self.text.is_empty()).then_some(self.text);
        let text = self.manner.fit(joined(own.into_iter().chain(texts).collect()), 0, SpillPlace::none);
        let is_alone = self.rest.is_empty();
        let text = (!text.is_empty() || is_alone).then(|| Content::text(text));
        ToolResult {
            content: text.into_iter().chain(self.rest).collect(),
            structured_content: match self.structured {
                Some(data) if is_data_alone => Some(with_messages(data, messages)),
                data => data,
            },
            is_error: self.is_error,
        }
    }
}

/// Adds callback messages to data for a model that sees no text. The schemas of built-in tools allow
/// additional members.
fn with_messages<'a>(data: Cow<'a, RawValue>, messages: &[Message]) -> Cow<'a, RawValue> {
    let texts: Vec<_> = messages.iter().map(|message| scorpiox_text::clean(&message.text)).collect();
    let object = data.get().trim_end().strip_suffix('}').filter(|_| !texts.is_empty());
    let with = object.and_then(|object| {
        let comma = if object.trim_end().ends_with('{') { "" } else { "," };
        let texts = serde_json::to_string(&texts).ok()?;
        RawValue::from_string(format!("{object}{comma}\"{MESSAGES}\":{texts}}}")).ok()
    });
    with.map_or(data, Cow::Owned)
}

/// Joins texts with blank lines.
fn joined(mut texts: Vec<Cow<'_, str>>) -> Cow<'_, str> {
    if texts.len() < 2 {
        return texts.pop().unwrap_or_default();
    }
    let trimmed: Vec<&str> =
        texts.iter().map(|text| text.trim_matches('\n')).filter(|text| !text.is_empty()).collect();
    Cow::Owned(trimmed.join(BETWEEN))
}

/// Returns a structured result if it is clean and an object, which is all that clients can read.
fn structured_content(json: &str) -> Option<Cow<'_, RawValue>> {
    let cleaned = match scorpiox_text::clean_json(json)? {
        Cow::Borrowed(same) => Cow::Borrowed(serde_json::from_str::<&RawValue>(same).ok()?),
        Cow::Owned(cleaned) => Cow::Owned(RawValue::from_string(cleaned).ok()?),
    };
    let text = cleaned.get();
    let fits = text.starts_with('{') && nested_beyond(text.as_bytes(), MAX_STRUCTURED_DEPTH).is_none();
    fits.then_some(cleaned)
}

/// Renders content that a plugin attached. The middle of a text that is too long for the model is cut out.
fn attached(content: &RichContent, manner: Manner) -> Content<'_> {
    let fitting = |text| fit(text, manner.chars, SpillPlace::none);
    match scorpiox_tools::offers::render::content(content, manner.revision, manner.traits) {
        Content::Resource { resource: Embedded::Text { uri, mime_type, text } } => {
            Content::Resource { resource: Embedded::Text { uri, mime_type, text: fitting(text) } }
        }
        other => other,
    }
}

fn piece(content: &OutputContent, manner: Manner) -> Content<'_> {
    match content {
        OutputContent::Text(text) => Content::text(scorpiox_text::clean(text)),
        OutputContent::Image { data, mime_type } if manner.traits.shows_images => {
            Content::Image { data: STANDARD.encode(data), mime_type: scorpiox_text::clean(mime_type) }
        }
        OutputContent::Image { data, mime_type } => Content::text(format!(
            "[an image ({}, {} bytes) is left out: this client would give it to its model as base64 text]",
            scorpiox_text::clean(mime_type),
            data.len()
        )),
        OutputContent::Document { uri, mime_type, text } if manner.for_programs => Content::Resource {
            resource: Embedded::Text {
                uri: scorpiox_text::clean(uri),
                mime_type: mime_type.as_deref().map(scorpiox_text::clean),
                text: scorpiox_text::clean(text),
            },
        },
        OutputContent::Attached(content) => attached(content, manner),
        // Not every client passes documents to its model.
        OutputContent::Document { uri, mime_type, text } => {
            let kind = mime_type.as_deref().map(|kind| format!(" ({})", scorpiox_text::clean(kind)));
            let (uri, kind) = (scorpiox_text::clean(uri), kind.unwrap_or_default());
            Content::text(format!("[document {uri}{kind}]\n{}", scorpiox_text::clean(text)))
        }
    }
}
