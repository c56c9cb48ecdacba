//! Shared code of the image tests: calls, results and test images.
#![allow(clippy::cast_possible_truncation)] // colors are truncated to bytes

pub(crate) mod call;
pub(crate) mod pixel;

use std::path::Path;

use image::{DynamicImage, ImageFormat, RgbImage, RgbaImage};
use scorpiox_tool_kit::{Failure, Output};

pub(crate) use self::call::{OneFile, SENT_EDGE, call, data};
use self::pixel::photo_pixel;

/// Formats that clients accept.
pub(crate) const TAKEN: [ImageFormat; 4] =
    [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP];
/// Single-image color formats that the `image` crate writes, and clients do not accept.
pub(crate) const CONVERTED: [ImageFormat; 6] = [
    ImageFormat::Bmp,
    ImageFormat::Tiff,
    ImageFormat::Ico,
    ImageFormat::Pnm,
    ImageFormat::Tga,
    ImageFormat::Qoi,
];

pub(crate) fn ok(bytes: Vec<u8>) -> Output {
    call(bytes).expect("succeeds")
}

pub(crate) fn refused(bytes: Vec<u8>) -> String {
    match call(bytes) {
        Err(Failure::Failed(text)) => text,
        Ok(output) => panic!("not refused: {}", output.text),
        Err(other) => panic!("refused otherwise: {other:?}"),
    }
}

pub(crate) fn sent(output: &Output) -> DynamicImage {
    image::load_from_memory(&output.images[0].data).expect("a whole image")
}

/// Returns the files of a directory, sorted by name.
pub(crate) fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| !path.extension().is_none_or(|e| e == "LICENSE" || e == "README" || e == "md"))
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read(&path).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

/// Creates a photo-like image of this size.
pub(crate) fn photo(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| image::Rgb(photo_pixel(x, y, width, height)))
}

/// Creates noise with alpha, which no format compresses.
pub(crate) fn noise(width: u32, height: u32) -> RgbaImage {
    let mut state = 1_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as u8
    };
    RgbaImage::from_fn(width, height, |_, _| image::Rgba([next(), next(), next(), next()]))
}

pub(crate) fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).expect("encodes");
    bytes.into_inner()
}

/// Creates EXIF data that contain only an orientation.
pub(crate) fn exif(orientation: u8) -> Vec<u8> {
    let mut exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0?\0\0\0\0\0\0".to_vec();
    exif[19] = orientation;
    exif
}

/// Inserts EXIF data before the end of a PNG file.
pub(crate) fn with_png_exif(bytes: &[u8], orientation: u8) -> Vec<u8> {
    let (body, end) = bytes.split_at(bytes.len() - 12);
    [body, &chunk(*b"eXIf", &exif(orientation)), end].concat()
}

/// Creates a PNG chunk.
pub(crate) fn chunk(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(&kind);
    crc.update(data);
    let length = u32::try_from(data.len()).expect("short");
    [&length.to_be_bytes()[..], &kind, data, &crc.sum().to_be_bytes()].concat()
}
