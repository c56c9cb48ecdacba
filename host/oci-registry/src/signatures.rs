//! Finds signatures in a registry or next to a file. Verification takes place elsewhere.

use http::HeaderMap;

use crate::address::Version;
use crate::digest::Digest;
use crate::error::RegistryError;
use crate::manifest::{Descriptor, Document};
use crate::registry::Registry;
use crate::{INDEX_TYPE, MAX_MANIFEST_BYTES, MAX_SIGNATURE_BYTES, MAX_SIGNATURES, SIGNATURE_TYPE};

/// First words of minisign's signature files.
const BEGINNING: &str = "untrusted comment:";

/// Returns the text if it can be a minisign signature.
pub(crate) fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| text.starts_with(BEGINNING))
}

impl Registry<'_> {
    /// Fetches the signatures of a manifest. A missing signature is not an error, but a failed lookup is.
    pub(crate) fn signatures(&mut self, manifest: &Digest) -> Result<Vec<String>, RegistryError> {
        let listed = match self.referrers(manifest)? {
            Some(listed) => listed,
            None => self.tagged_referrers(manifest)?.unwrap_or_default(),
        };
        let of_this_type = listed.into_iter().filter(is_signature);
        let mut found = Vec::new();
        for descriptor in of_this_type.take(MAX_SIGNATURES) {
            found.extend(self.signature(manifest, &descriptor)?);
        }
        Ok(found)
    }

    /// Returns the referrers of a manifest; `None` if the registry lacks the referrers API.
    fn referrers(&mut self, manifest: &Digest) -> Result<Option<Vec<Descriptor>>, RegistryError> {
        let what = format!("what refers to {manifest}");
        let mut url = self.repository().url(&format!("referrers/{manifest}"));
        url.query_pairs_mut().append_pair("artifactType", SIGNATURE_TYPE);
        let arrived = match self.get_at(&what, url, HeaderMap::new(), MAX_MANIFEST_BYTES) {
            Ok(arrived) => arrived,
            // Responses of registries without the referrers API.
            Err(RegistryError::Missing(..) | RegistryError::Status { status: 400 | 405 | 501, .. }) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let read = Document::parse(&arrived.body, INDEX_TYPE);
        // Some other servers respond with an HTML page.
        Ok(read.ok().and_then(|index| index.manifests))
    }

    /// Returns the referrers from the index that clients maintain under a tag.
    pub(crate) fn tagged_referrers(
        &mut self,
        manifest: &Digest,
    ) -> Result<Option<Vec<Descriptor>>, RegistryError> {
        let tag = Version::Tag(manifest.referrers_tag());
        let got = match self.manifest(&tag) {
            Ok(got) => got,
            Err(RegistryError::Missing(..)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let index = Document::parse(&got.bytes, &got.content_type);
        let index = index.map_err(|why| RegistryError::unfit(&format!("tag {tag}"), why))?;
        Ok(index.manifests)
    }

    fn signature(
        &mut self,
        subject: &Digest,
        descriptor: &Descriptor,
    ) -> Result<Option<String>, RegistryError> {
        let Some(digest) = Digest::parse(&descriptor.digest) else { return Ok(None) };
        let got = self.manifest(&Version::Digest(digest))?;
        let Ok(manifest) = Document::parse(&got.bytes, &got.content_type) else { return Ok(None) };
        let refers = manifest.subject.as_ref().is_some_and(|own| own.digest == subject.as_str());
        let Some([layer]) = manifest.layers.as_deref() else { return Ok(None) };
        let Some(digest) = Digest::parse(&layer.digest) else { return Ok(None) };
        if !refers || layer.size == 0 || layer.size > MAX_SIGNATURE_BYTES {
            return Ok(None);
        }
        Ok(text(self.blob((&digest, layer.size), self.patience.quick, None)?))
    }
}

fn is_signature(descriptor: &Descriptor) -> bool {
    descriptor.artifact_type.as_deref() == Some(SIGNATURE_TYPE)
}
