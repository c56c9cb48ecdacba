//! Benchmark pages: HTML, reference text and type of each.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use serde::Deserialize;
use url::Url;

/// Benchmark page.
pub struct Page {
    pub name: String,
    pub kind: String,
    pub url: Url,
    pub html: String,
    /// Reference text.
    pub text: String,
}

#[derive(Deserialize)]
struct Truth {
    url: Option<String>,
    #[serde(rename = "_internal")]
    internal: Internal,
    ground_truth: Reference,
}

#[derive(Deserialize)]
struct Internal {
    page_type: Kind,
}

#[derive(Deserialize)]
struct Kind {
    primary: String,
}

#[derive(Deserialize)]
struct Reference {
    main_content: Option<String>,
}

/// Reads all pages of a directory, sorted by name.
pub fn read(folder: &Path) -> Result<Vec<Page>> {
    let truths = folder.join("ground-truth");
    let entries = fs::read_dir(&truths).with_context(|| format!("no pages in {}", folder.display()))?;
    let mut pages = entries
        .map(|entry| {
            let path = entry?.path();
            let name = path.file_stem().context("a file without a name")?.to_string_lossy().into_owned();
            let truth: Truth = serde_json::from_slice(&fs::read(&path)?).with_context(|| name.clone())?;
            let mut bytes = Vec::new();
            GzDecoder::new(File::open(folder.join(format!("html/{name}.html.gz")))?)
                .read_to_end(&mut bytes)?;
            let address = truth.url.unwrap_or_default();
            let url = Url::parse(&address)
                .or_else(|_| Url::parse(&format!("https://{address}")))
                .or_else(|_| Url::parse("https://example.com/"))?;
            Ok(Page {
                name,
                kind: truth.internal.page_type.primary,
                url,
                html: String::from_utf8_lossy(&bytes).into_owned(),
                text: truth.ground_truth.main_content.unwrap_or_default(),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(pages)
}
