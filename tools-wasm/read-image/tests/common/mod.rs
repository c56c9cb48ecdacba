//! What the tests share: files in memory, calls, and pictures to call with.
#![allow(dead_code)] // each test uses a part
#![allow(clippy::cast_possible_truncation)] // colours are cut to bytes

use std::path::{Path, PathBuf};

use image::{DynamicImage, RgbImage, RgbaImage};
use read_image::{Files, FilesError};
use scorpiox_tool_kit::{Failure, Output};
use serde_json::Value;

pub(crate) const SENT_BYTES: usize = 700_000;
pub(crate) const SENT_EDGE: u32 = 1568;

/// One file, whatever its path.
pub(crate) struct OneFile(pub(crate) Vec<u8>);

impl Files for OneFile {
    fn read(&mut self, _path: &str, limit: u64) -> Result<Vec<u8>, FilesError> {
        let length = self.0.len() as u64;
        if length > limit { Err(FilesError::TooLarge(length)) } else { Ok(std::mem::take(&mut self.0)) }
    }
}

pub(crate) fn call(bytes: Vec<u8>) -> Result<Output, Failure> {
    let result = read_image::call(&mut OneFile(bytes), r#"{"file_path":"/some/file"}"#);
    if let Ok(output) = &result {
        check(output);
    }
    result
}

/// What holds for every result.
fn check(output: &Output) {
    let data = data(output);
    let [image] = &output.images[..] else { panic!("{} images", output.images.len()) };
    assert!(image.data.len() <= SENT_BYTES, "{} bytes", image.data.len());
    assert!(image.data.len().div_ceil(3) * 4 < 1024 * 1024);
    let sent = &data["sent"];
    assert_eq!(sent["mime_type"], image.mime_type);
    assert_eq!(sent["bytes"], image.data.len());
    let format = image::guess_format(&image.data).expect("a known format");
    assert_eq!(format.to_mime_type(), image.mime_type);
    let decoded = image::load_from_memory(&image.data).expect("a whole image");
    assert_eq!(
        (sent["width"].as_u64(), sent["height"].as_u64()),
        (Some(decoded.width().into()), Some(decoded.height().into()))
    );
    assert!(decoded.width().max(decoded.height()) <= SENT_EDGE);
    assert!(output.structured.as_ref().is_some_and(|json| json.len() < 2000));
}

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

pub(crate) fn data(output: &Output) -> Value {
    serde_json::from_str(output.structured.as_deref().expect("data")).expect("JSON")
}

pub(crate) fn sent(output: &Output) -> DynamicImage {
    image::load_from_memory(&output.images[0].data).expect("a whole image")
}

/// The folder of pictures from public test suites, if this machine has it.
pub(crate) fn suite(name: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = std::env::var_os("SCORPIOX_DATA")
        .map(PathBuf::from)
        .or_else(|| here.ancestors().map(|folder| folder.join("shared/data")).find(|data| data.is_dir()));
    let folder = data.map(|data| data.join("images").join(name)).filter(|folder| folder.is_dir());
    if folder.is_none() {
        eprintln!("skipped: there is no folder {name} of test pictures; SCORPIOX_DATA says where they are");
    }
    folder
}

/// The files of a folder, by name.
pub(crate) fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| !path.extension().is_none_or(|e| e == "LICENSE" || e == "README"))
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read(&path).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

/// Smooth colours with noise, as of a photo; red in the upper left corner, green in the upper
/// right one, blue in the lower left one.
pub(crate) fn photo(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| image::Rgb(photo_pixel(x, y, width, height)))
}

pub(crate) fn photo_pixel(x: u32, y: u32, width: u32, height: u32) -> [u8; 3] {
    match (x * 4 / width, y * 4 / height) {
        (0, 0) => [255, 0, 0],
        (3, 0) => [0, 255, 0],
        (0, 3) => [0, 0, 255],
        _ => {
            let noise = x.wrapping_mul(2_654_435_761).wrapping_add(y.wrapping_mul(2_246_822_519));
            let noise = (noise ^ (noise >> 15)).wrapping_mul(2_246_822_519) >> 28;
            [x * 200 / width + noise, y * 200 / height + noise, 100 + noise].map(|value| value as u8)
        }
    }
}

/// Noise with alpha, which no format makes small.
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

pub(crate) fn encoded(image: &DynamicImage, format: image::ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).expect("encodes");
    bytes.into_inner()
}

/// EXIF data that say an orientation and nothing else.
pub(crate) fn exif(orientation: u8) -> Vec<u8> {
    let mut exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0?\0\0\0\0\0\0".to_vec();
    exif[19] = orientation;
    exif
}

/// A PNG file with EXIF data before its end.
pub(crate) fn with_png_exif(bytes: &[u8], orientation: u8) -> Vec<u8> {
    let (body, end) = bytes.split_at(bytes.len() - 12);
    [body, &chunk(*b"eXIf", &exif(orientation)), end].concat()
}

/// A chunk of a PNG file.
pub(crate) fn chunk(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(&kind);
    crc.update(data);
    let length = u32::try_from(data.len()).expect("short");
    [&length.to_be_bytes()[..], &kind, data, &crc.sum().to_be_bytes()].concat()
}
