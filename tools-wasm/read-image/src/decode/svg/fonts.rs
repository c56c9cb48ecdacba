//! Fonts for text: Arimo, and Cousine for monospaced text (see `fonts/README.md`).

use std::sync::Arc;

use resvg::usvg::fontdb::{Database, Family, Query, Source, Weight};
use resvg::usvg::{FontFamily, FontResolver};

/// Family for text without a family or with an unavailable one.
pub(super) const DEFAULT: &str = "Arimo";
const FIXED: &str = "Cousine";

/// Parts of names of monospaced families, in lower case.
const FIXED_NAMES: [&str; 5] = ["mono", "courier", "consol", "menlo", "code"];

/// Returns all fonts.
pub(super) fn database() -> Arc<Database> {
    let files: [&'static [u8]; 3] = [
        include_bytes!("../../../fonts/Arimo-Regular.ttf"),
        include_bytes!("../../../fonts/Arimo-Bold.ttf"),
        include_bytes!("../../../fonts/Cousine-Regular.ttf"),
    ];
    let mut database = Database::new();
    for file in files {
        database.load_font_source(Source::Binary(Arc::new(file)));
    }
    Arc::new(database)
}

/// Returns a resolver that maps every family to the most similar font.
pub(super) fn resolver() -> FontResolver<'static> {
    FontResolver {
        select_font: Box::new(|font, database| {
            let family = if font.families().iter().any(is_fixed) { FIXED } else { DEFAULT };
            database.query(&Query {
                families: &[Family::Name(family)],
                weight: Weight(font.weight()),
                ..Query::default()
            })
        }),
        select_fallback: FontResolver::default_fallback_selector(),
    }
}

fn is_fixed(family: &FontFamily) -> bool {
    match family {
        FontFamily::Monospace => true,
        FontFamily::Named(name) => {
            let name = name.to_lowercase();
            FIXED_NAMES.iter().any(|part| name.contains(part))
        }
        _ => false,
    }
}

/// Returns a note if the text contains letters that no font has.
pub(super) fn note(text: &str) -> Option<String> {
    let missing = |c: char| c > '\u{052f}' && c.is_alphanumeric();
    let found = text.contains("<text") && text.contains(missing);
    found.then(|| "Letters other than Latin, Greek and Cyrillic are left out.".to_owned())
}
