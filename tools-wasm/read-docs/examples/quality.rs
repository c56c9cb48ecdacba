//! Prints the quality score of `ReadDocs`: `cargo run --release --example quality`. `SCORPIOX_DATA` is the
//! directory of the test suites.

#![allow(missing_docs, unreachable_pub, clippy::print_stdout)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;

use support::{data, readability, references, turndown};

fn main() {
    for (kind, score) in references::measure(&data::folder("wcxb")).1 {
        println!("{kind}: mean F1 {score:.4}");
    }
    println!();
    articles(&readability::measure(&data::folder("readability")));
    let cases = turndown::cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/turndown"));
    let failing: Vec<_> = cases.iter().filter(|case| !case.agrees()).collect();
    println!("\nturndown: {} of {} cases are rendered the same", cases.len() - failing.len(), cases.len());
    for case in failing {
        println!("{case}");
    }
}

#[allow(clippy::cast_precision_loss)]
fn articles(pages: &[readability::Measured]) {
    println!("{}", readability::HEADS);
    for page in pages {
        println!("{page}");
    }
    let mean =
        |value: fn(&readability::Measured) -> f64| pages.iter().map(value).sum::<f64>() / pages.len() as f64;
    let least = pages.iter().map(|page| page.f1).fold(f64::INFINITY, f64::min);
    println!(
        "\n{} pages: mean F1 {:.4} (with head {:.4}), least {least:.4}, {:.1} ms each",
        pages.len(),
        mean(|page| page.f1),
        mean(|page| page.f1_with_head),
        mean(|page| page.time.as_secs_f64() * 1000.0)
    );
}
