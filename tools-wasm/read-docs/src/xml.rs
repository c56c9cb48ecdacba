//! XML, read event by event. Nothing is expanded but characters: entities that a document
//! declares stay as they are written, so that none of them can grow.

use std::borrow::Cow;

use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart};
use quick_xml::reader::Config;

/// Attributes of an element that are looked at.
const MAX_ATTRIBUTES: usize = 128;

/// Real documents have elements that are closed in the wrong order, and bare ampersands.
pub(crate) fn configure(config: &mut Config) {
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    config.expand_empty_elements = true;
}

/// The character that a reference names; none for entities that are not XML's own.
pub(crate) fn character(reference: &BytesRef<'_>) -> Option<String> {
    match reference.resolve_char_ref() {
        Ok(Some(c)) => Some(c.to_string()),
        _ => resolve_predefined_entity(reference).map(str::to_owned),
    }
}

/// The value of an attribute, by its name as it is written or without prefix.
pub(crate) fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = start.attributes();
    let found = attributes.with_checks(false).flatten().take(MAX_ATTRIBUTES).find(|attribute| {
        attribute.key.into_inner() == name || attribute.key.local_name().into_inner() == name
    });
    let value = found?.value;
    Some(unescape(&value).map_or_else(|_| value.to_string(), Cow::into_owned))
}
