//! Marked content (ISO 32000-1, 14.6): layers that are off, and texts in the place of what is drawn.

use std::collections::HashSet;

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, ObjRef};

use super::decoded;

/// Maximum number of layers.
const MAX_LAYERS: usize = 10_000;
/// Maximum number of layers that a combination of layers names.
const MAX_COMBINED: usize = 64;
/// Maximum length of a replacement text, in bytes.
const MAX_TEXT: usize = 10_000;

/// Layers (optional content groups) of a document that are not shown.
#[derive(Debug, Default)]
pub(super) struct Layers {
    off: HashSet<ObjRef>,
}

impl Layers {
    pub(super) fn of(pdf: &Pdf) -> Self {
        let mut layers = Self::default();
        let xref = pdf.xref();
        let root = xref.get::<Dict<'_>>(xref.root_id());
        let Some(properties) = root.and_then(|root| root.get::<Dict<'_>>("OCProperties")) else {
            return layers;
        };
        let Some(config) = properties.get::<Dict<'_>>("D") else { return layers };
        if config.get::<Name<'_>>("BaseState").is_some_and(|state| state.as_str() == "OFF") {
            layers.off.extend(references(&properties, "OCGs", MAX_LAYERS));
            for shown in references(&config, "ON", MAX_LAYERS) {
                layers.off.remove(&shown);
            }
        }
        layers.off.extend(references(&config, "OFF", MAX_LAYERS));
        layers
    }

    /// Returns `true` if the layer, or the combination of layers, of a key is not shown.
    pub(super) fn hide(&self, dict: &Dict<'_>, key: impl AsRef<[u8]> + Copy) -> bool {
        if self.off.is_empty() {
            return false;
        }
        if dict.get_ref(key).is_some_and(|group| self.off.contains(&group)) {
            return true;
        }
        let Some(combination) = dict.get::<Dict<'_>>(key) else { return false };
        let groups = match combination.get_ref("OCGs") {
            Some(group) if combination.get::<Array<'_>>("OCGs").is_none() => vec![group],
            _ => references(&combination, "OCGs", MAX_COMBINED),
        };
        if groups.is_empty() {
            return false;
        }
        let is_on = |group: &ObjRef| !self.off.contains(group);
        let policy = combination.get::<Name<'_>>("P");
        let is_shown = match policy.as_ref().map_or("", Name::as_str) {
            "AllOn" => groups.iter().all(is_on),
            "AnyOff" => !groups.iter().all(is_on),
            "AllOff" => !groups.iter().any(is_on),
            _ => groups.iter().any(is_on),
        };
        !is_shown
    }
}

/// Returns the references in an array.
fn references(dict: &Dict<'_>, key: &str, most: usize) -> Vec<ObjRef> {
    let all = dict.get::<Array<'_>>(key);
    let all = all.iter().flat_map(Array::raw_iter).take(most);
    all.filter_map(|item| match item {
        MaybeRef::Ref(group) => Some(group),
        MaybeRef::NotRef(_) => None,
    })
    .collect()
}

/// Marked content that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    Plain,
    Hidden,
    /// Text in the place of what is drawn; `None` once it was put.
    Actual(Option<String>),
}

/// Part of a replacement text that belongs to a drawn character.
#[derive(Debug)]
pub(super) enum Replacement {
    /// The whole text, for the first character.
    Text(String),
    /// Nothing more.
    Over,
}

impl Mark {
    /// Takes the text in the place of what is drawn; `None` if what is drawn is the text.
    pub(super) fn take_text(&mut self) -> Option<Replacement> {
        match self {
            Self::Actual(text) => Some(text.take().map_or(Replacement::Over, Replacement::Text)),
            Self::Plain | Self::Hidden => None,
        }
    }

    /// Returns the mark of a sequence with a replacement text, unless that is too long.
    pub(super) fn replacing(text: &[u8]) -> Self {
        if text.len() > MAX_TEXT {
            return Self::Plain;
        }
        let text = decoded(text).replace(char::is_control, " ");
        Self::Actual(Some(text).filter(|text| !text.is_empty()))
    }
}
