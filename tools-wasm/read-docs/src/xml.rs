//! Event-based XML parsing. Only character references are expanded. Entities that a document declares stay
//! unexpanded, so that they cannot grow.

use std::borrow::Cow;

use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart};
use quick_xml::reader::Config;

/// Maximum number of attributes of an element that are checked.
const MAX_ATTRIBUTES: usize = 128;

/// Configures the parser for real documents, which contain wrongly nested end tags and bare ampersands.
pub(crate) fn configure(config: &mut Config) {
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    config.expand_empty_elements = true;
}

/// Returns the character of a reference, or `None` for entities that XML does not predefine.
pub(crate) fn character(reference: &BytesRef<'_>) -> Option<String> {
    match reference.resolve_char_ref() {
        Ok(Some(c)) => Some(c.to_string()),
        _ => resolve_predefined_entity(reference).map(str::to_owned),
    }
}

/// Returns the value of an attribute, by its name with or without prefix.
pub(crate) fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = start.attributes();
    let found = attributes.with_checks(false).flatten().take(MAX_ATTRIBUTES).find(|attribute| {
        attribute.key.into_inner() == name || attribute.key.local_name().into_inner() == name
    });
    let value = found?.value;
    Some(unescape(&value).map_or_else(|_| value.to_string(), Cow::into_owned))
}
