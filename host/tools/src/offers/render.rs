//! Converts contents to the format for clients.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use scorpiox_capabilities::contents::{Body, Media, ResourceContents, RichContent};
use scorpiox_mcp::content::{Content, Embedded};
use scorpiox_mcp::{ClientTraits, Revision};

/// Converts content for a client of this revision. Unsupported content is replaced by a text that mentions
/// it.
pub fn content<'a>(content: &'a RichContent, revision: Revision, traits: &ClientTraits) -> Content<'a> {
    match content {
        RichContent::Text(text) => Content::text(scorpiox_text::clean(text)),
        RichContent::Image(media) if traits.shows_images => Content::Image {
            data: STANDARD.encode(&media.data),
            mime_type: scorpiox_text::clean(&media.mime_type),
        },
        RichContent::Image(media) => left_out("an image", media),
        // Clients that show images as base64 text do the same with audio.
        RichContent::Audio(media) if traits.shows_images && revision.features().audio => Content::Audio {
            data: STANDARD.encode(&media.data),
            mime_type: scorpiox_text::clean(&media.mime_type),
        },
        RichContent::Audio(media) => left_out("a sound", media),
        RichContent::Resource(resource) => Content::Resource { resource: embedded(resource) },
    }
}

fn left_out(what: &str, media: &Media) -> Content<'static> {
    Content::text(format!(
        "[{what} ({}, {} bytes) is left out: this client cannot show it to its model]",
        scorpiox_text::clean(&media.mime_type),
        media.data.len()
    ))
}

/// Converts the contents of a resource.
pub fn embedded(resource: &ResourceContents) -> Embedded<'_> {
    let uri = scorpiox_text::clean(&resource.uri);
    let mime_type = resource.mime_type.as_deref().map(scorpiox_text::clean);
    match &resource.body {
        Body::Text(text) => Embedded::Text { uri, mime_type, text: scorpiox_text::clean(text) },
        Body::Bytes(bytes) => Embedded::Blob { uri, mime_type, blob: STANDARD.encode(bytes) },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(content: &RichContent, revision: Revision, client: &str) -> Value {
        json!(super::content(content, revision, ClientTraits::named(client)))
    }

    #[test]
    fn each_content_is_what_the_protocol_calls_it() {
        let newest = Revision::V2026_07_28;
        let media = || Media { data: vec![1, 2, 3], mime_type: "audio/wav".to_owned() };
        let sound = RichContent::Audio(media());
        assert_eq!(
            written(&sound, newest, ""),
            json!({ "type": "audio", "data": "AQID", "mimeType": "audio/wav" })
        );
        let old = written(&sound, Revision::V2024_11_05, "");
        assert_eq!(
            old["text"],
            "[a sound (audio/wav, 3 bytes) is left out: this client cannot show it to its model]"
        );
        let resource =
            |body| RichContent::Resource(ResourceContents { uri: "a:b".to_owned(), mime_type: None, body });
        assert_eq!(
            written(&resource(Body::Text("x\u{1b}[0m".to_owned())), newest, ""),
            json!({ "type": "resource", "resource": { "uri": "a:b", "text": "x" } })
        );
        assert_eq!(
            written(&resource(Body::Bytes(vec![255])), newest, ""),
            json!({ "type": "resource", "resource": { "uri": "a:b", "blob": "/w==" } })
        );
        let image = RichContent::Image(Media { mime_type: "image/png".to_owned(), ..media() });
        assert_eq!(written(&image, newest, "")["type"], "image");
        assert_eq!(written(&image, newest, "@cline/core")["type"], "text");
    }
}
