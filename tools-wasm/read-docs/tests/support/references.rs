//! Pages with reference content that was selected by hand: the Web Content eXtraction Benchmark.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use read_docs::{Format, convert};
use serde_json::Value;
use url::Url;

#[allow(clippy::cast_precision_loss)]
#[path = "../../../../tests/reading/src/measure.rs"]
mod measure;

/// Returns the number of pages with a reference, and the mean F1 score of words for each type of page and for
/// all.
pub fn measure(folder: &Path) -> (usize, BTreeMap<String, f64>) {
    let mut names: Vec<String> = fs::read_dir(folder.join("ground-truth"))
        .expect("a folder of references")
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    let half = names.len().div_ceil(2);
    let scores: Vec<(String, f64)> = std::thread::scope(|scope| {
        let parts: Vec<_> = names
            .chunks(half)
            .map(|names| {
                scope.spawn(|| names.iter().filter_map(|name| score(folder, name)).collect::<Vec<_>>())
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("no panic")).collect()
    });
    let pages = scores.len();
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (kind, score) in scores {
        all.entry("all".to_owned()).or_default().push(score);
        all.entry(kind).or_default().push(score);
    }
    #[allow(clippy::cast_precision_loss)]
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    (pages, all.into_iter().map(|(kind, scores)| (kind, mean(&scores))).collect())
}

/// Returns the type and the F1 score of a page, or `None` without a reference.
fn score(folder: &Path, name: &str) -> Option<(String, f64)> {
    let truth = fs::read(folder.join(format!("ground-truth/{name}.json"))).expect("a reference");
    let truth: Value = serde_json::from_slice(&truth).expect("JSON");
    let wanted = truth["ground_truth"]["main_content"].as_str()?;
    let packed = File::open(folder.join(format!("html/{name}.html.gz"))).expect("a page");
    let mut page = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut page).expect("a page");
    let address = truth["url"].as_str().unwrap_or_default();
    let url = Url::parse(address).or_else(|_| Url::parse(&format!("https://{address}")));
    let url = url.or_else(|_| Url::parse("https://example.com/")).expect("a URL");
    let read = convert(&String::from_utf8_lossy(&page), &url, Format::Text).body;
    let kind = truth["_internal"]["page_type"]["primary"].as_str().unwrap_or_default().to_owned();
    Some((kind, measure::f1(&read, wanted)))
}
