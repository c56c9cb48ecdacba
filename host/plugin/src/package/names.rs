//! Names of entries in a pack.

use crate::MANIFEST;

/// Maximum number of files in a pack. The largest known WIT packages have about sixty.
pub const MAX_ENTRIES: usize = 256;

/// Maximum length of a name, in bytes. Longer names need an extension of the tar format, which readers
/// interpret differently.
pub const MAX_ENTRY_NAME: usize = 100;

/// Maximum depth of nested directories.
const MAX_DEPTH: usize = 8;

/// Directory of the plugin's WIT types.
const WIT: &str = "wit/";

/// Reason why a name is not valid for an entry.
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

/// Checks that a name is valid on every system and stays inside the pack's directory.
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

/// Returns `true` if an entry is documentation: WIT types, a README, or a license.
pub fn is_for_people(name: &str) -> bool {
    let is_wit = |path: &str| path.rsplit('.').next() == Some("wit");
    match name.strip_prefix(WIT) {
        Some(path) => is_wit(path),
        None => !name.contains('/') && (name.starts_with("README") || name.starts_with("LICENSE")),
    }
}

/// Returns `true` for the manifest and the component, which come first in a pack. Other files follow, sorted
/// by name.
pub(crate) fn is_reserved(name: &str, component: &str) -> bool {
    name.eq_ignore_ascii_case(MANIFEST) || name.eq_ignore_ascii_case(component)
}
