//! Measures output throughput with 4 GiB in chunks of 256 KiB.

use std::time::Instant;

use scorpiox_command_output::{SpillPlace, Transcript};

fn main() {
    let piece = vec![b'y'; 256 * 1024];
    let begun = Instant::now();
    let mut transcript = Transcript::new(SpillPlace::none(), 18_000);
    for _ in 0..16 * 1024 {
        transcript.push(&piece);
    }
    let seconds = begun.elapsed().as_secs_f64();
    let left_out = transcript.finish().truncated_bytes;
    eprintln!("{:.1} GiB/s, {left_out} bytes left out", 4.0 / seconds);
}
