//! Tests the largest images within the component's memory. It is a single test because it counts the
//! allocations of the process.

#![allow(clippy::cast_possible_truncation)] // colors are truncated to bytes

#[path = "common/call.rs"]
mod call;
#[path = "common/pixel.rs"]
mod pixel;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use call::call;
use image::codecs::jpeg::JpegEncoder;
use image::{GenericImageView, Rgb};
use pixel::photo_pixel;
use scorpiox_tool_kit::Failure;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// An image that is never completely in memory.
struct Made(u32, u32);

impl GenericImageView for Made {
    type Pixel = Rgb<u8>;

    fn dimensions(&self) -> (u32, u32) {
        (self.0, self.1)
    }

    fn get_pixel(&self, x: u32, y: u32) -> Rgb<u8> {
        Rgb(photo_pixel(x, y, self.0, self.1))
    }
}

fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 50).encode_image(&Made(width, height)).expect("encodes");
    bytes
}

/// Encodes rows of one pixel type, written one by one.
fn png(width: u32, height: u32, color: png::ColorType, row: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().expect("header");
    let mut rows = writer.stream_writer().expect("rows");
    (0..height).for_each(|y| rows.write_all(&row(y)).expect("a row"));
    rows.finish().expect("all rows");
    writer.finish().expect("end");
    bytes
}

/// Returns the result of a call, and its peak memory including the file, in MiB.
fn measured(bytes: Vec<u8>) -> (Result<String, String>, usize) {
    let before = NOW.load(Relaxed) - bytes.len();
    PEAK.store(NOW.load(Relaxed), Relaxed);
    let start = std::time::Instant::now();
    let result = match call(bytes) {
        Ok(output) => Ok(output.text),
        Err(Failure::Failed(text)) => Err(text),
        Err(other) => panic!("{other:?}"),
    };
    let peak = (PEAK.load(Relaxed) - before) >> 20;
    eprintln!("{peak} MiB, {:.1?}: {result:?}", start.elapsed());
    (result, peak)
}

#[test]
fn a_hundred_megapixels_fit_in_memory() {
    let edge = 10_000;
    let gradient = |y: u32| {
        (0..edge).flat_map(|x| [x * 250 / edge, y * 250 / edge, 99].map(|value| value as u8)).collect()
    };
    let (result, peak) = measured(png(edge, edge, png::ColorType::Rgb, gradient));
    assert!(result.expect("succeeds").contains("PNG, 10000 × 10000 pixels"));
    assert!(peak < 200, "{peak} MiB");

    let (result, peak) = measured(jpeg(edge, edge));
    assert!(result.expect("succeeds").contains("JPEG, 10000 × 10000 pixels"));
    assert!(peak < 200, "{peak} MiB");

    // The maximum size that is decoded.
    let edge = 16_384;
    let red = [255, 0, 0, 128].repeat(edge as usize);
    let (result, peak) = measured(png(edge, edge, png::ColorType::Rgba, |_| red.clone()));
    assert!(result.expect("succeeds").contains("PNG, 16384 × 16384 pixels"));
    assert!(peak < 200, "{peak} MiB");

    // Complete frames: one that fits, and one that is refused before decoding.
    let (result, peak) = measured(bmp(7000, 6000));
    assert!(result.expect("succeeds").contains("BMP, 7000 × 6000 pixels"));
    assert!(peak < 250, "{peak} MiB");
    let (result, peak) = measured(bmp(16_000, 16_000));
    assert!(result.expect_err("too large").contains("16000 × 16000 pixels; decoding it takes"));
    assert!(peak < 20, "{peak} MiB");
}

/// Creates a small BMP file with run-length encoded rows.
fn bmp(width: u32, height: u32) -> Vec<u8> {
    let mut row = Vec::new();
    (0..width).step_by(250).for_each(|_| row.extend([250, 1]));
    row.extend([0, 0]);
    let mut body = row.repeat(height as usize);
    body.extend([0, 1]);
    let mut bytes = b"BM\0\0\0\0\0\0\0\0\x3e\0\0\0\x28\0\0\0".to_vec();
    bytes.extend(width.to_le_bytes());
    bytes.extend(height.to_le_bytes());
    bytes.extend([1, 0, 8, 0, 1, 0, 0, 0]);
    bytes.extend([0; 12]);
    bytes.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend([0, 0, 0, 0, 40, 80, 120, 0]);
    bytes.extend(body);
    bytes
}
