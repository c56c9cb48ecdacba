//! Fuzzes line framing: the chunking of the input does not affect the lines, and memory is bounded.

#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use scorpiox_mcp::jsonrpc::{Frame, Framer};

struct Pieces<'a> {
    input: &'a [u8],
    step: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = self.step.min(buf.len()).min(self.input.len());
        buf[..n].copy_from_slice(&self.input[..n]);
        self.input = &self.input[n..];
        Ok(n)
    }
}

fn frames(input: &[u8], step: usize) -> Vec<Frame> {
    let mut framer = Framer::with_max_line(Pieces { input, step }, 64);
    let mut all = Vec::new();
    loop {
        match framer.next_frame().expect("slices do not fail") {
            Frame::End => return all,
            Frame::Line(line) => {
                assert!(line.len() <= 64 && !line.contains(&b'\n'));
                all.push(Frame::Line(line));
            }
            Frame::TooLong => all.push(Frame::TooLong),
        }
    }
}

fuzz_target!(|input: (u8, Vec<u8>)| {
    let (step, bytes) = input;
    assert_eq!(frames(&bytes, usize::from(step) + 1), frames(&bytes, usize::MAX));
});
