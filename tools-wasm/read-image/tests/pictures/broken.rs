//! Truncated files, modified files, and files that try to exhaust memory or time: each yields an error
//! sentence soon.

#![allow(clippy::cast_possible_truncation)] // random numbers are truncated to bytes

use std::time::{Duration, Instant};

use crate::common::{CONVERTED, TAKEN, call, chunk, encoded, noise, photo, refused};
use image::{DynamicImage, ImageFormat};
use scorpiox_tool_kit::Failure;

fn file(format: ImageFormat) -> Vec<u8> {
    let picture = DynamicImage::from(photo(60, 40));
    let plain = matches!(format, ImageFormat::Jpeg | ImageFormat::Pnm);
    let picture = if plain { picture } else { picture.to_rgba8().into() };
    encoded(&picture, format)
}

/// Asserts that a bomb is refused long before the host's time limit.
#[track_caller]
fn refused_soon(bytes: Vec<u8>) -> String {
    let start = Instant::now();
    let text = refused(bytes);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}: {text}", start.elapsed());
    text
}

#[test]
fn files_that_are_no_images_are_named() {
    for (bytes, what) in [
        (&b""[..], "The file is empty (0 bytes)."),
        (b"%PDF-1.7\n", "looks like a PDF document, which ReadDocs reads. Supported are PNG,"),
        (b"just words\n", "looks like text. Supported are PNG,"),
        (b"\0\0\0\x1cftypheic\0\0\0\0", "looks like a HEIC image."),
    ] {
        let text = refused(bytes.to_vec());
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn files_that_are_cut_off_are_refused() {
    for format in TAKEN.into_iter().chain(CONVERTED) {
        let whole = file(format);
        for length in [whole.len() / 8, whole.len() / 2, whole.len() * 9 / 10] {
            let text = refused(whole[..length].to_vec());
            assert!(
                text.contains("damaged or incomplete"),
                "{format:?} at {length} of {}: {text}",
                whole.len()
            );
        }
    }
    // Formats with an end marker detect that it is missing.
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif] {
        let whole = file(format);
        let text = refused(whole[..whole.len() - 1].to_vec());
        assert!(text.contains("ends too early"), "{format:?}: {text}");
    }
}

/// Modified bytes yield an image or a sentence, never a panic.
#[test]
fn files_with_changed_bytes_never_panic() {
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap_or(0) % below
    };
    let cmyk = include_bytes!("../data/cmyk.jpg").to_vec();
    for original in TAKEN.into_iter().chain(CONVERTED).map(file).chain([cmyk]) {
        for _ in 0..400 {
            let mut bytes = original.clone();
            for _ in 0..=next(4) {
                // The headers have the largest effect.
                let reach = if next(2) == 0 { bytes.len().min(64) } else { bytes.len() };
                bytes[next(reach)] = next(256) as u8;
            }
            if let Err(failure) = call(bytes) {
                assert!(matches!(failure, Failure::Failed(_)), "{failure:?}");
            }
        }
    }
}

fn png_claiming(width: u32, height: u32, chunks: &[Vec<u8>]) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[16, 6, 0, 0, 0]].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    file.extend(chunk(*b"IHDR", &header));
    file.extend(chunks.concat());
    file.extend(chunk(*b"IDAT", &[0x78, 0x9c, 1, 0, 0, 0xff, 0xff]));
    file.extend(chunk(*b"IEND", &[]));
    file
}

fn deflated(length: usize) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&vec![b'a'; length]).expect("into memory");
    encoder.finish().expect("into memory")
}

#[test]
fn png_bombs_are_refused() {
    let text = refused_soon(png_claiming(16_384, 16_384, &[]));
    assert!(text.contains("damaged or incomplete"), "{text}");
    let text = refused_soon(png_claiming(16_385, 2, &[]));
    assert!(text.contains("16385 × 2 pixels; at most 16384 × 16384"), "{text}");
    refused_soon(png_claiming(u32::MAX, u32::MAX, &[]));
    let text = refused_soon(png_claiming(0, 9, &[]));
    assert!(text.contains("Invalid image dimensions"), "{text}");
    let bomb = deflated(300_000_000);
    let icc = [b"x\0\0", &bomb[..]].concat();
    refused_soon(png_claiming(8, 8, &[chunk(*b"iCCP", &icc), chunk(*b"zTXt", &icc)]));
}

#[test]
fn interlaced_png_needs_the_room_of_its_frame() {
    let mut file = png_claiming(12_000, 12_000, &[]);
    file[28] = 1;
    let header = chunk(*b"IHDR", &file[16..29]);
    file[8..33].copy_from_slice(&header);
    let text = refused_soon(file);
    assert!(text.contains("12000 × 12000 pixels; decoding it takes 550 MiB"), "{text}");
}

#[test]
fn jpeg_bombs_are_refused() {
    let mut file = file(ImageFormat::Jpeg);
    let frame = file.windows(2).position(|two| two == [0xff, 0xc0]).expect("a frame");
    // Larger than allowed, then as large as allowed but empty.
    file[frame + 5..frame + 9].copy_from_slice(&[0xff; 4]);
    assert!(refused_soon(file.clone()).contains("65535 × 65535 pixels; at most"));
    file[frame + 5..frame + 9].copy_from_slice(&[0x40, 0, 0x40, 0]);
    assert!(refused_soon(file.clone()).contains("cannot hold 16384 × 16384 pixels"));
    file.resize(4_000_000, 0);
    // Progressive: all coefficients at once.
    file[frame + 1] = 0xc2;
    assert!(refused_soon(file.clone()).contains("decoding it takes"));
    // A thousand scans of a few bytes each.
    file[frame + 1] = 0xc0;
    let scan = file.windows(2).position(|two| two == [0xff, 0xda]).expect("a scan");
    let header = file[scan..scan + 14].to_vec();
    file.truncate(scan);
    file.extend(header.repeat(1000));
    file.resize(4_000_000, 0);
    file.extend([0xff, 0xd9]);
    assert!(refused_soon(file).contains("1000 scans of 16384 × 16384 pixels"));
}

#[test]
fn gif_bombs_are_refused() {
    let mut file = file(ImageFormat::Gif);
    file[6..10].copy_from_slice(&[0xff; 4]);
    assert!(refused_soon(file.clone()).contains("65535 × 65535 pixels; at most"));
    file[6..10].copy_from_slice(&[0, 0x40, 0, 0x40]);
    assert!(refused_soon(file).contains("decoding it takes"));
}

#[test]
fn a_hundred_thousand_frames_are_counted_and_not_decoded() {
    let mut file = b"GIF89a\x10\0\x10\0\x80\0\0\0\0\0\xff\0\0".to_vec();
    let frame = b",\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0";
    file.extend(frame.repeat(100_000));
    file.push(b';');
    let start = Instant::now();
    let output = call(file).expect("succeeds");
    assert!(output.text.contains("100000 frames"), "{}", output.text);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn other_bombs_are_refused() {
    let mut bmp = file(ImageFormat::Bmp);
    bmp[18..26].copy_from_slice(&[0, 0x40, 0, 0, 0, 0x40, 0, 0]);
    assert!(refused_soon(bmp).contains("16384 × 16384 pixels; decoding it takes"));

    // 16384 × 16384 pixels in one strip.
    let entry =
        |tag: u16, value: u32| [&tag.to_le_bytes()[..], &[4, 0, 1, 0, 0, 0], &value.to_le_bytes()].concat();
    let entries = [
        (256, 16_384),
        (257, 16_384),
        (258, 8),
        (259, 5),
        (262, 1),
        (273, 8),
        (277, 1),
        (278, 16_384),
        (279, 4),
    ];
    let directory: Vec<u8> = entries.into_iter().flat_map(|(tag, value)| entry(tag, value)).collect();
    let tiff = [b"II*\0\x08\0\0\0\x09\0", &directory[..], &[0; 4]].concat();
    assert!(refused_soon(tiff).contains("16384 × 16384 pixels; decoding it takes"));

    let mut qoi = file(ImageFormat::Qoi);
    qoi[4..12].copy_from_slice(&[0, 0, 0x40, 0, 0, 0, 0x40, 0]);
    assert!(refused_soon(qoi).contains("16384 × 16384 pixels; decoding it takes"));
    let mut tga = file(ImageFormat::Tga);
    tga[12..16].copy_from_slice(&[0, 0x40, 0, 0x40]);
    tga.extend(b"TRUEVISION-XFILE.\0");
    assert!(refused_soon(tga).contains("16384 × 16384 pixels; decoding it takes"));
    assert!(refused_soon(b"P4 16384 16384 \0".to_vec()).contains("16384 × 16384 pixels; decoding it takes"));

    // An icon with a PNG that claims a larger size than it has.
    let png = png_claiming(16_384, 16_384, &[]);
    let length = u32::try_from(png.len()).expect("short");
    let ico =
        [b"\0\0\x01\0\x01\0\0\0\0\0\x01\0\x20\0", &length.to_le_bytes()[..], &22_u32.to_le_bytes(), &png]
            .concat();
    refused_soon(ico);
}

#[test]
fn a_file_over_the_limit_is_named_with_its_size() {
    let mut file = encoded(&noise(4, 4).into(), ImageFormat::Png);
    file.resize(64 * 1024 * 1024 + 1, 0);
    assert!(refused(file).starts_with("The file has 67108865 bytes; images of at most 67108864"));
}
