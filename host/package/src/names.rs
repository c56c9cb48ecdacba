//! Names of what is in a pack.

use scorpiox_plugin::MANIFEST;

/// Most files in a pack. The largest packages of WIT that are known have some sixty.
pub const MAX_ENTRIES: usize = 256;

/// Longest name, in bytes: what the header of an archive holds without an extension, which readers understand in
/// different ways.
pub const MAX_ENTRY_NAME: usize = 100;

/// Most folders in one another.
const MAX_DEPTH: usize = 8;

/// Where a plugin's types are.
const WIT: &str = "wit/";

/// Why a name cannot be that of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum NameFault {
    #[error("is longer than {MAX_ENTRY_NAME} bytes")]
    Long,
    #[error("leads out of the folder, or has an empty part")]
    Leads,
    #[error("has a part that begins with a dot")]
    Hidden,
    #[error("has other characters than letters, digits, dots, hyphens and underscores")]
    Characters,
    #[error("has more than {MAX_DEPTH} folders in one another")]
    Deep,
}

/// Whether a name can be that of an entry: one that each system takes, and that leads nowhere.
pub fn check_name(name: &str) -> Result<(), NameFault> {
    if name.len() > MAX_ENTRY_NAME {
        return Err(NameFault::Long);
    }
    let parts: Vec<&str> = name.split('/').collect();
    if parts.iter().any(|part| part.is_empty() || *part == "." || *part == "..") {
        return Err(NameFault::Leads);
    }
    if parts.iter().any(|part| part.starts_with('.')) {
        return Err(NameFault::Hidden);
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    if !name.chars().all(fits) {
        return Err(NameFault::Characters);
    }
    if parts.len() > MAX_DEPTH { Err(NameFault::Deep) } else { Ok(()) }
}

/// Whether an entry is a text for people: types, a README, a licence.
pub fn is_for_people(name: &str) -> bool {
    let is_wit = |path: &str| path.rsplit('.').next() == Some("wit");
    match name.strip_prefix(WIT) {
        Some(path) => is_wit(path),
        None => !name.contains('/') && (name.starts_with("README") || name.starts_with("LICENSE")),
    }
}

/// The two that each pack has come first, the others by name.
pub(crate) fn is_reserved(name: &str, component: &str) -> bool {
    name.eq_ignore_ascii_case(MANIFEST) || name.eq_ignore_ascii_case(component)
}
