//! Measures the processor time for a page of ordinary size: printed with `--nocapture`, and always bounded.

use std::time::Duration;

use scorpiox_processor_time::Stopwatch;

use super::*;
use crate::engine::Answer;

/// Maximum processor time without optimization. The component takes a hundredth of it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Adds as much markup around the results as result pages have.
fn padded(page: &[u8]) -> Vec<u8> {
    let link = "<div class=\"menu item\"><a href=\"/other?q=tide\" class=\"link\">Another search</a></div>\n";
    let html = String::from_utf8_lossy(page);
    html.replacen("<body>", &format!("<body>{}", link.repeat(3_500)), 1).into_bytes()
}

#[test]
fn pages_of_ordinary_size_are_read_quickly() {
    for engine in &ENGINES {
        let page = padded(&page(engine.name, "normal"));
        let stopwatch = Stopwatch::start();
        let answer = (engine.read)(&response(200, page.clone()));
        let elapsed = stopwatch.elapsed();
        assert!(matches!(answer, Answer::Hits(_)), "{}", engine.name);
        assert!(elapsed < PATIENCE, "{}: {elapsed:?}", engine.name);
        #[allow(clippy::print_stdout)] // printed on request
        {
            println!("{}: {} bytes in {elapsed:?}", engine.name, page.len());
        }
    }
}
