//! Measures the extraction quality of pages: reading FOLDER
//!
//! FOLDER contains pages in the format of the Web Content eXtraction Benchmark. Prints a row for each
//! extractor: the mean F1 of all pages and of each type, and the median time in milliseconds.

mod extractors;
mod measure;
mod pages;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result};

fn main() -> Result<()> {
    let folder: PathBuf = std::env::args_os().nth(1).context("usage: reading FOLDER")?.into();
    let pages = pages::read(&folder)?;
    // Panics of extractors show in their figures.
    std::panic::set_hook(Box::new(|_| {}));
    let mut kinds: Vec<&str> = pages.iter().map(|page| page.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    println!("| extractor | all | {} | ms |", kinds.join(" | "));
    println!("| --- |{}", " --- |".repeat(kinds.len() + 2));
    for (name, extract) in extractors::EXTRACTORS {
        let mut scores: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut times = Vec::new();
        for page in &pages {
            let start = Instant::now();
            let found = extractors::run(extract, page);
            times.push(start.elapsed().as_secs_f64() * 1000.0);
            scores.entry(page.kind.as_str()).or_default().push(measure::f1(&found, &page.text));
        }
        times.sort_by(f64::total_cmp);
        let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
        let all: Vec<f64> = scores.values().flatten().copied().collect();
        let by_kind: Vec<String> = kinds.iter().map(|kind| format!("{:.3}", mean(&scores[kind]))).collect();
        println!("| {name} | {:.3} | {} | {:.1} |", mean(&all), by_kind.join(" | "), times[times.len() / 2]);
    }
    Ok(())
}
