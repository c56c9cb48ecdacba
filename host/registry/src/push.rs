//! Uploading a component as the CNCF's layout has it, and its signature as what refers to it.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use scorpiox_terminal::{Working, size};
use scorpiox_web::{Arrived, Courier, is_same_origin};
use serde::Serialize;
use url::Url;

use crate::address::{Reference, Version};
use crate::credentials::Keyring;
use crate::digest::Digest;
use crate::error::RegistryError;
use crate::manifest::{Descriptor, Document};
use crate::registry::{Registry, Wanted};
use crate::{
    EMPTY_TYPE, INDEX_TYPE, MANIFEST_TYPE, PACK_LAYER, SIGNATURE_TYPE, WASM_CONFIG_TYPE, WASM_LAYERS,
};

/// Most bytes of what a registry answers to an upload: nothing, or an error.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;
/// What registries answer that know what a subject is (OCI Distribution 1.1).
const SUBJECT: &str = "oci-subject";
const EMPTY: &[u8] = b"{}";

/// What is pushed.
pub enum Artifact<'a> {
    /// A component or module, with what it imports and exports.
    Wasm {
        /// The file.
        bytes: &'a [u8],
        /// Whether it is a core module.
        is_module: bool,
        /// Names of what it imports.
        imports: Vec<String>,
        /// Names of what it exports.
        exports: Vec<String>,
    },
    /// A plugin in one file; the kind of file stands behind `+` in its type.
    Pack {
        /// The file.
        bytes: &'a [u8],
        /// Such as `tar`.
        format: &'a str,
    },
}

/// What people are told of it, by `plugin.toml`.
#[derive(Debug, Clone, Default)]
pub struct Annotations(pub BTreeMap<String, String>);

/// What is in the registry now.
#[derive(Debug)]
pub struct Pushed {
    /// The address under which it has exactly this for ever.
    pub pinned: String,
    /// Of the file.
    pub layer: Digest,
    /// Whether a signature was pushed with it.
    pub is_signed: bool,
}

/// The config of the CNCF's layout. It has no time in it, so that the same file is the same manifest.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    architecture: &'a str,
    os: &'a str,
    layer_digests: [&'a str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<Component<'a>>,
}

#[derive(Serialize)]
struct Component<'a> {
    exports: &'a [String],
    imports: &'a [String],
    target: Option<&'a str>,
}

/// Uploads an artifact, gives it the reference's tag, and its signature.
pub fn push(
    reference: &Reference,
    artifact: &Artifact<'_>,
    annotations: &Annotations,
    signature: Option<&str>,
    (courier, keyring): (&Courier, &dyn Keyring),
) -> Result<Pushed, RegistryError> {
    let Version::Tag(tag) = &reference.version else {
        return Err(RegistryError::unfit(
            &reference.to_string(),
            "a push needs a tag in place of the digest",
        ));
    };
    let mut registry = Registry::for_push(courier, keyring, &reference.repository);
    let (layer, config_type, config) = described(artifact);
    let bytes = match artifact {
        Artifact::Wasm { bytes, .. } | Artifact::Pack { bytes, .. } => *bytes,
    };
    {
        let _working = Working::on(&format!("uploading {reference} ({})", size(layer.size)));
        registry.upload(bytes)?;
        registry.upload(&config)?;
    }
    let digest = Digest::of(bytes);
    let mut manifest = Document::manifest(Descriptor::of(config_type, &config), vec![layer]);
    manifest.annotations.clone_from(&annotations.0);
    let (manifest, _) = registry.put(tag, &manifest, MANIFEST_TYPE)?;
    if let Some(signature) = signature {
        registry.sign(manifest.clone(), signature)?;
    }
    let own =
        Digest::parse(&manifest.digest).ok_or_else(|| RegistryError::unfit("the manifest", "no digest"))?;
    Ok(Pushed { pinned: reference.pinned(&own).to_string(), layer: digest, is_signed: signature.is_some() })
}

/// The layer of an artifact, and its config with the type of that.
fn described(artifact: &Artifact<'_>) -> (Descriptor, &'static str, Vec<u8>) {
    match artifact {
        Artifact::Pack { bytes, format } => {
            (Descriptor::of(&format!("{PACK_LAYER}{format}"), bytes), EMPTY_TYPE, EMPTY.to_vec())
        }
        Artifact::Wasm { bytes, is_module, imports, exports } => {
            let layer = Descriptor::of(WASM_LAYERS[0], bytes);
            let component = (!is_module).then_some(Component { exports, imports, target: None });
            let os = if *is_module { "wasip1" } else { "wasip2" };
            let config = Config { architecture: "wasm", os, layer_digests: [&layer.digest], component };
            // Texts and lists of them are always JSON.
            let config = serde_json::to_vec(&config).unwrap_or_default();
            (layer, WASM_CONFIG_TYPE, config)
        }
    }
}

impl Registry<'_> {
    /// Uploads content that the registry does not have.
    fn upload(&mut self, bytes: &[u8]) -> Result<(), RegistryError> {
        let digest = Digest::of(bytes);
        let what = format!("uploading {digest}");
        let url = self.repository().url(&format!("blobs/{digest}"));
        let there = self.ask(&self.wanted(&what, Method::HEAD, url))?;
        if there.status == 200 {
            return Ok(());
        }
        let start = self.wanted(&what, Method::POST, self.repository().url("blobs/uploads/"));
        let begun = self.ask(&start)?;
        if begun.status != 202 {
            return Err(RegistryError::status(&what, &begun));
        }
        let mut place = self.place(&what, &begun)?;
        place.query_pairs_mut().append_pair("digest", digest.as_str());
        let put = Wanted {
            headers: content_type("application/octet-stream"),
            body: Bytes::copy_from_slice(bytes),
            times: self.patience.large,
            ..self.wanted(&what, Method::PUT, place)
        };
        self.created(&put).map(drop)
    }

    /// Where an upload goes. Another host has nobody's credentials, and is not told of what nobody sees yet.
    fn place(&self, what: &str, begun: &Arrived) -> Result<Url, RegistryError> {
        let written = begun.headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let place = written.and_then(|written| begun.url.join(written).ok());
        let place = place.ok_or_else(|| RegistryError::unfit(what, "the registry names no place for it"))?;
        if !is_same_origin(&place, self.repository().base()) {
            let why =
                format!("the registry wants it at another host, {}", place.host_str().unwrap_or_default());
            return Err(RegistryError::unfit(what, why));
        }
        Ok(place)
    }

    /// Puts a manifest or an index under a tag or its digest; what describes it, and the registry's answer.
    fn put(
        &mut self,
        at: &str,
        document: &Document,
        media_type: &str,
    ) -> Result<(Descriptor, Arrived), RegistryError> {
        let bytes = serde_json::to_vec(document)
            .map_err(|error| RegistryError::unfit("the manifest", error.to_string()))?;
        let mut descriptor = Descriptor::of(media_type, &bytes);
        descriptor.artifact_type.clone_from(&document.artifact_type);
        let what = format!("pushing the manifest of {at}");
        let put = Wanted {
            headers: content_type(media_type),
            body: bytes.into(),
            ..self.wanted(&what, Method::PUT, self.repository().url(&format!("manifests/{at}")))
        };
        let answer = self.created(&put)?;
        Ok((descriptor, answer))
    }

    /// Uploads a signature as what refers to a manifest.
    fn sign(&mut self, subject: Descriptor, signature: &str) -> Result<(), RegistryError> {
        let subject_digest = subject.digest.clone();
        self.upload(EMPTY)?;
        self.upload(signature.as_bytes())?;
        let layer = Descriptor::of("text/plain", signature.as_bytes());
        let mut manifest = Document::manifest(Descriptor::of(EMPTY_TYPE, EMPTY), vec![layer]);
        manifest.artifact_type = Some(SIGNATURE_TYPE.to_owned());
        manifest.subject = Some(subject);
        let bytes = serde_json::to_vec(&manifest)
            .map_err(|error| RegistryError::unfit("the signature", error.to_string()))?;
        let own = Digest::of(&bytes);
        let (descriptor, answer) = self.put(own.as_str(), &manifest, MANIFEST_TYPE)?;
        if answer.headers.contains_key(SUBJECT) {
            return Ok(());
        }
        // The registry does not list it by itself: whoever pushes keeps the list, under a tag.
        let subject = Digest::parse(&subject_digest)
            .ok_or_else(|| RegistryError::unfit("the manifest", "no digest"))?;
        let mut listed = self.tagged_referrers(&subject)?.unwrap_or_default();
        if listed.iter().any(|one| one.digest == descriptor.digest) {
            return Ok(());
        }
        listed.push(descriptor);
        self.put(&subject.referrers_tag(), &Document::index(listed), INDEX_TYPE).map(drop)
    }

    fn created(&mut self, wanted: &Wanted) -> Result<Arrived, RegistryError> {
        let answer = self.ask(wanted)?;
        if answer.status == 201 { Ok(answer) } else { Err(RegistryError::status(&wanted.what, &answer)) }
    }

    fn wanted(&self, what: &str, method: Method, url: Url) -> Wanted {
        Wanted {
            what: what.to_owned(),
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            limit: MAX_ANSWER_BYTES,
            times: self.patience.quick,
            of: "such an answer may have",
            gauge: None,
        }
    }
}

fn content_type(media_type: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(media_type) {
        headers.insert(CONTENT_TYPE, value);
    }
    headers
}
