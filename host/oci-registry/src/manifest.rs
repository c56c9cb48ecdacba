//! Registry metadata: manifests and indexes of OCI Image 1.1.

use std::collections::BTreeMap;

use scorpiox_text::line;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::{INDEX_TYPE, MANIFEST_TYPE, MAX_BYTES, PACK_LAYER, WASM_LAYERS};

/// Maximum length and number of media types that an error shows for a manifest without a plugin.
const MAX_TYPE_CHARS: usize = 100;
const MAX_TOLD: usize = 4;
/// Architecture of WebAssembly in an index.
const WASM: &str = "wasm";

/// Descriptor of content in the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) platform: Option<Platform>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Platform {
    #[serde(default)]
    pub(crate) architecture: String,
    #[serde(default)]
    pub(crate) os: String,
}

impl Descriptor {
    pub(crate) fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes).to_string(),
            size: bytes.len() as u64,
            artifact_type: None,
            annotations: BTreeMap::new(),
            platform: None,
        }
    }
}

/// A manifest or an index: both share this format and differ in the members that are present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document {
    pub(crate) schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) layers: Option<Vec<Descriptor>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) manifests: Option<Vec<Descriptor>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Document {
    pub(crate) fn manifest(config: Descriptor, layers: Vec<Descriptor>) -> Self {
        Self {
            schema_version: 2,
            media_type: Some(MANIFEST_TYPE.to_owned()),
            artifact_type: None,
            config: Some(config),
            layers: Some(layers),
            manifests: None,
            subject: None,
            annotations: BTreeMap::new(),
        }
    }

    pub(crate) fn index(manifests: Vec<Descriptor>) -> Self {
        Self {
            schema_version: 2,
            media_type: Some(INDEX_TYPE.to_owned()),
            artifact_type: None,
            config: None,
            layers: None,
            manifests: Some(manifests),
            subject: None,
            annotations: BTreeMap::new(),
        }
    }

    /// Parses a document; `content_type` is the server's media type.
    pub(crate) fn parse(bytes: &[u8], content_type: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_slice(bytes).map_err(|error| {
            let called = line::clean(content_type, MAX_TYPE_CHARS);
            let called = if called.is_empty() { "something without a type".to_owned() } else { called };
            format!("the server sent {called}, which is no manifest ({error}); is it a registry?")
        })?;
        if read.schema_version != 2 {
            return Err(format!("its manifest has schemaVersion {}; 2 is known", read.schema_version));
        }
        // With both members, two readers could interpret the document differently.
        if read.layers.is_some() == read.manifests.is_some() {
            return Err("it has to have either layers or manifests".to_owned());
        }
        Ok(read)
    }

    /// Returns the index's manifest for WebAssembly.
    pub(crate) fn for_wasm(&self) -> Result<&Descriptor, String> {
        let manifests = self.manifests.as_deref().unwrap_or_default();
        if let [only] = manifests {
            return Ok(only);
        }
        let mut found = manifests
            .iter()
            .filter(|one| one.platform.as_ref().is_some_and(|platform| platform.architecture == WASM));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err(format!(
                "it is an index of {} manifests, and none is for the architecture wasm",
                manifests.len()
            )),
            (Some(_), Some(_)) => {
                Err("it is an index with several manifests for the architecture wasm; name one by its digest"
                    .to_owned())
            }
        }
    }

    /// Returns the only layer that is a plugin. Other layers are ignored and not fetched.
    pub(crate) fn plugin_layer(&self) -> Result<Layer, String> {
        let layers = self.layers.as_deref().unwrap_or_default();
        let mut found = layers.iter().filter_map(|layer| Some((kind_of(&layer.media_type)?, layer)));
        let (kind, layer) = match (found.next(), found.next()) {
            (Some(found), None) => found,
            (None, _) => return Err(without_plugin(layers)),
            (Some(_), Some(_)) => {
                return Err(format!(
                    "its manifest has {} layers with WebAssembly; which one is meant does not stand there",
                    layers.iter().filter(|layer| kind_of(&layer.media_type).is_some()).count()
                ));
            }
        };
        let digest = Digest::parse(&layer.digest).ok_or_else(|| {
            format!(
                "its layer has the digest \"{}\"; only sha256 is known",
                line::clean(&layer.digest, MAX_TYPE_CHARS)
            )
        })?;
        if layer.size == 0 || layer.size > MAX_BYTES {
            return Err(format!("its layer has {} bytes; the limit is {MAX_BYTES}", layer.size));
        }
        Ok(Layer { kind, digest, size: layer.size, others: layers.len() - 1 })
    }
}

/// The layer to download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) kind: Kind,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    /// Number of other layers.
    pub(crate) others: usize,
}

/// Declared kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// WebAssembly: a component or a module.
    Wasm,
    /// A plugin with its `plugin.toml` in one file.
    Pack,
}

fn kind_of(media_type: &str) -> Option<Kind> {
    // Parameters such as the character set are irrelevant.
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if WASM_LAYERS.contains(&essence) {
        return Some(Kind::Wasm);
    }
    essence.starts_with(PACK_LAYER).then_some(Kind::Pack)
}

fn without_plugin(layers: &[Descriptor]) -> String {
    let told: Vec<_> =
        layers.iter().take(MAX_TOLD).map(|layer| line::clean(&layer.media_type, MAX_TYPE_CHARS)).collect();
    let told = if told.is_empty() { "none at all".to_owned() } else { told.join(", ") };
    format!(
        "none of its layers is {}; it has {told}. Whoever pushed it has to say the type, such as \
         FILE.wasm:{} with oras",
        WASM_LAYERS[0], WASM_LAYERS[0]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn layer(media_type: &str) -> String {
        format!(r#"{{"mediaType":"{media_type}","digest":"{DIGEST}","size":8}}"#)
    }

    fn manifest(layers: &[String]) -> Document {
        let config = layer("application/vnd.unknown.config.v1+json");
        let text = format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{}]}}"#, layers.join(","));
        Document::parse(text.as_bytes(), MANIFEST_TYPE).unwrap()
    }

    #[test]
    fn the_layer_decides_whatever_the_config_is() {
        for (media_type, kind) in [
            ("application/wasm", Kind::Wasm),
            ("application/wasm; charset=utf-8", Kind::Wasm),
            ("application/vnd.wasm.content.layer.v1+wasm", Kind::Wasm),
            ("application/vnd.scorpiox.plugin.v1+tar", Kind::Pack),
        ] {
            let found = manifest(&[layer("text/markdown"), layer(media_type)]).plugin_layer().unwrap();
            assert_eq!((found.kind, found.size, found.others), (kind, 8, 1), "{media_type}");
        }
    }

    #[test]
    fn two_plugins_are_none() {
        let two = manifest(&[layer("application/wasm"), layer("application/vnd.scorpiox.plugin.v1+tar")]);
        assert!(two.plugin_layer().unwrap_err().contains("2 layers with WebAssembly"));
        let none = manifest(&[layer("application/vnd.oci.image.layer.v1.tar+gzip")]);
        let said = none.plugin_layer().unwrap_err();
        assert!(
            said.contains("image.layer.v1.tar+gzip") && said.contains("FILE.wasm:application/wasm"),
            "{said}"
        );
        assert!(manifest(&[]).plugin_layer().unwrap_err().contains("none at all"));
    }

    #[test]
    fn a_layer_has_a_digest_and_a_size_that_are_known() {
        let with = |from: &str, to: &str| {
            manifest(&[layer("application/wasm").replace(from, to)]).plugin_layer().unwrap_err()
        };
        assert!(with("\"size\":8", "\"size\":0").contains("has 0 bytes"));
        assert!(with("\"size\":8", "\"size\":99999999999").contains("has 99999999999 bytes; the limit is"));
        assert!(with("sha256:", "sha512:").contains("only sha256"));
    }

    #[test]
    fn what_is_no_manifest_is_told_by_what_it_is_called() {
        let page = Document::parse(b"<html>", "text/html").unwrap_err();
        assert!(page.contains("text/html") && page.contains("is it a registry?"), "{page}");
        for (text, why) in [
            (r#"{"schemaVersion":1,"layers":[]}"#, "schemaVersion 1"),
            (r#"{"schemaVersion":2}"#, "either layers or manifests"),
            (r#"{"schemaVersion":2,"layers":[],"manifests":[]}"#, "either layers or manifests"),
            (
                r#"{"schemaVersion":2,"layers":[{"mediaType":"application/wasm","digest":"x","size":-1}]}"#,
                "no manifest",
            ),
            ("[]", "no manifest"),
        ] {
            let said = Document::parse(text.as_bytes(), MANIFEST_TYPE).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn an_index_is_followed_where_one_manifest_alone_can_be_meant() {
        let entry = |architecture: &str| {
            let platform = format!(r#","platform":{{"architecture":"{architecture}","os":"wasip2"}}}}"#);
            layer(MANIFEST_TYPE).replace('}', &platform)
        };
        let index = |entries: &[String]| {
            let text = format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, entries.join(","));
            Document::parse(text.as_bytes(), INDEX_TYPE).unwrap()
        };
        assert!(index(&[layer(MANIFEST_TYPE)]).for_wasm().is_ok());
        assert!(index(&[entry("amd64"), entry("wasm"), entry("unknown")]).for_wasm().is_ok());
        assert!(index(&[]).for_wasm().unwrap_err().contains("of 0 manifests"));
        assert!(index(&[entry("amd64"), entry("arm64")]).for_wasm().unwrap_err().contains("none is for"));
        assert!(index(&[entry("wasm"), entry("wasm")]).for_wasm().unwrap_err().contains("several"));
    }
}
