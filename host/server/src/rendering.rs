//! From what a tool gave to what the client is answered, so that its model gets all of it.
//!
//! Clients differ in what they keep of a result: some join texts with nothing between, some show data
//! in place of text, all cut what is long. So there is one text, with everything in it that is no
//! image, and images behind it; see [`ClientTraits`].
//!
//! Invariant: the text of a result has at most [`Manner::chars`] characters, whatever tool it is from.
//! Tools keep within [`Manner::room`] by themselves, each in the way that suits it; what does not is cut
//! here, and is whole in a file.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use scorpiox_rpc::message::nested_beyond;
use scorpiox_store::Message;
use scorpiox_transcript::{SpillPlace, fit, length};
use serde::Serialize;
use serde_json::value::RawValue;

use super::deliveries::{BETWEEN, MESSAGE_CHARS};
use super::scope::Scope;
use scorpiox_capabilities::contents::RichContent;
use scorpiox_mcp::content::{Content, Embedded};
use scorpiox_mcp::{ClientTraits, Revision};
use scorpiox_tools::{Kind, Output, OutputContent, Tool};

/// Deepest nesting of structured results. Parsers of clients refuse a whole message at 128 levels.
const MAX_STRUCTURED_DEPTH: usize = 100;
/// The member of data that has messages, for models that are shown no text.
const MESSAGES: &str = "callback_messages";
/// The result of a call, as the revision writes it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult<'a> {
    content: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Cow<'a, RawValue>>,
    is_error: bool,
}

/// How the result of a call is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    traits: &'static ClientTraits,
    revision: Revision,
    /// Programs read it, too: data and documents are given as what they are.
    for_programs: bool,
    /// Results may have data.
    structured: bool,
    /// The tool is a plugin's, and its data is none of this server's.
    is_others: bool,
    /// Most characters of the text.
    chars: usize,
}

impl Manner {
    /// Of a call of this tool.
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

    /// Most characters that the own text of this tool may have.
    pub(crate) fn room(scope: &Scope<'_>, tool: &Tool) -> usize {
        chars(scope.request.traits, tool) - MESSAGE_CHARS
    }
}

impl Manner {
    /// A text that leaves room for so many characters more.
    fn fit<'a>(&self, text: Cow<'a, str>, room: usize, place: impl FnOnce() -> SpillPlace) -> Cow<'a, str> {
        let mut most = self.chars - room;
        if let Some(json) = self.traits.json_chars {
            // How much is left of a text that is cut cannot be said before.
            while let length = json_length(&fit(Cow::Borrowed(&*text), most, SpillPlace::none))
                && length > json - room
            {
                most = (most - 1).min(most * (json - room) / length);
            }
        }
        fit(text, most, place)
    }
}

/// How many characters a text has in JSON, as JavaScript counts and writes them.
fn json_length(text: &str) -> usize {
    let is_escaped = |c: &char| matches!(c, '"' | '\\' | '\n' | '\r' | '\t');
    length(text) + text.chars().filter(is_escaped).count()
}

fn chars(traits: &ClientTraits, tool: &Tool) -> usize {
    if tool.marks.whole { traits.sized_chars } else { traits.result_chars }
}

/// A result without the messages of callbacks.
pub(super) struct Body<'a> {
    manner: Manner,
    text: Cow<'a, str>,
    rest: Vec<Content<'a>>,
    structured: Option<Cow<'a, RawValue>>,
    is_error: bool,
}

impl<'a> Body<'a> {
    /// What became of a call. A text that is too long is kept in the file at `place`.
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

    /// Whether the model is shown the data, and no text.
    fn is_data_alone(&self) -> bool {
        self.structured.is_some() && self.manner.traits.shows_data_alone
    }

    /// How many characters of messages the model can be shown beside; none where it is shown nothing but
    /// what a plugin gave as data.
    pub(super) fn room_for_messages(&self) -> usize {
        if self.is_data_alone() && self.manner.is_others {
            return 0;
        }
        let Manner { traits, chars, .. } = self.manner;
        let in_json = traits.json_chars.map(|json| json.saturating_sub(json_length(&self.text)));
        chars.saturating_sub(length(&self.text)).min(in_json.unwrap_or(usize::MAX))
    }

    /// The whole result.
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

/// Data in which a model that is shown no text finds messages of callbacks, too. Schemas of built-in
/// tools let objects have more members than they name.
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

/// One text of several, with blank lines between.
fn joined(mut texts: Vec<Cow<'_, str>>) -> Cow<'_, str> {
    if texts.len() < 2 {
        return texts.pop().unwrap_or_default();
    }
    let trimmed: Vec<&str> =
        texts.iter().map(|text| text.trim_matches('\n')).filter(|text| !text.is_empty()).collect();
    Cow::Owned(trimmed.join(BETWEEN))
}

/// A structured result, if it is clean, and what clients can read: an object.
fn structured_content(json: &str) -> Option<Cow<'_, RawValue>> {
    let cleaned = match scorpiox_text::clean_json(json)? {
        Cow::Borrowed(same) => Cow::Borrowed(serde_json::from_str::<&RawValue>(same).ok()?),
        Cow::Owned(cleaned) => Cow::Owned(RawValue::from_string(cleaned).ok()?),
    };
    let text = cleaned.get();
    let fits = text.starts_with('{') && nested_beyond(text.as_bytes(), MAX_STRUCTURED_DEPTH).is_none();
    fits.then_some(cleaned)
}

/// What a plugin attached; of a text that is longer than the model is shown, the middle is cut out.
fn attached(content: &RichContent, manner: Manner) -> Content<'_> {
    let fitting = |text| fit(text, manner.chars, SpillPlace::none);
    match scorpiox_offers::render::content(content, manner.revision, manner.traits) {
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
        // Not every client gives documents to its model.
        OutputContent::Document { uri, mime_type, text } => {
            let kind = mime_type.as_deref().map(|kind| format!(" ({})", scorpiox_text::clean(kind)));
            let (uri, kind) = (scorpiox_text::clean(uri), kind.unwrap_or_default());
            Content::text(format!("[document {uri}{kind}]\n{}", scorpiox_text::clean(text)))
        }
    }
}
