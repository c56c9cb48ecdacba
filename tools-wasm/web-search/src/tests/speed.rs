//! How long a page of ordinary size takes: printed with `--nocapture`, bounded in any case.

use std::time::{Duration, Instant};

use super::*;
use crate::engine::Answer;

/// Unoptimised, on a busy machine; it takes a hundredth of that in the component.
const PATIENCE: Duration = Duration::from_secs(5);

/// Markup around the results, as much as result pages have.
fn padded(page: &[u8]) -> Vec<u8> {
    let link = "<div class=\"menu item\"><a href=\"/other?q=tide\" class=\"link\">Another search</a></div>\n";
    let html = String::from_utf8_lossy(page);
    html.replacen("<body>", &format!("<body>{}", link.repeat(3_500)), 1).into_bytes()
}

#[test]
fn pages_of_ordinary_size_are_read_quickly() {
    for engine in &ENGINES {
        let page = padded(&page(engine.name, "normal"));
        let begun = Instant::now();
        let answer = (engine.read)(&response(200, page.clone()));
        let elapsed = begun.elapsed();
        assert!(matches!(answer, Answer::Hits(_)), "{}", engine.name);
        assert!(elapsed < PATIENCE, "{}: {elapsed:?}", engine.name);
        #[allow(clippy::print_stdout)] // for who asks for it
        {
            println!("{}: {} bytes in {elapsed:?}", engine.name, page.len());
        }
    }
}
