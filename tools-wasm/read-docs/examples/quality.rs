//! Prints how good `ReadDocs` is: `cargo run --release --example quality`, with `SCORPIOX_DATA`
//! naming the folder of the data when it is not beside the repository.

#![allow(missing_docs, unreachable_pub, clippy::print_stdout)]

#[path = "../tests/support/mod.rs"]
mod support;

use support::{data, readability, references, turndown};

fn main() {
    if let Some(folder) = data::folder_or_skipped("wcxb") {
        for (kind, score) in references::measure(&folder).1 {
            println!("{kind}: mean F1 {score:.4}");
        }
        println!();
    }
    if let Some(folder) = data::folder_or_skipped("readability") {
        articles(&readability::measure(&folder));
    }
    if let Some(folder) = data::folder_or_skipped("turndown") {
        let cases = turndown::cases(&folder);
        let failing: Vec<_> = cases.iter().filter(|case| !case.agrees()).collect();
        println!(
            "\nturndown: {} of {} cases are rendered the same",
            cases.len() - failing.len(),
            cases.len()
        );
        for case in failing {
            println!("{case}");
        }
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
