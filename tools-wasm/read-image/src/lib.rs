//! `ReadImage`: converts an image file to an image for a model with vision.
//!
//! A file passes through `format` (detection), `decode` (pixels, at most twice the size that is sent),
//! `resize` and `encode` (at most 1568 pixels and 700 KB), and `report`. Small, upright files of a common
//! format are sent unchanged, but are decoded too, which ensures that they are intact. No file makes the
//! component allocate more memory than it has: `limits` defines the amount, and each decoder checks it before
//! it allocates.

#[cfg(target_arch = "wasm32")]
mod component;
mod decode;
mod encode;
mod format;
mod limits;
mod picture;
mod problem;
mod recognise;
mod reduce;
mod report;
mod resize;
mod room;
mod tga;

use image::metadata::Orientation;
use scorpiox_tool_kit::{Args, Definition, Failure, Files, FilesError, Hints, Output};

use encode::Encoded;
use limits::{MAX_FILE_BYTES, SENT_BYTES, SENT_EDGE};
use picture::Picture;
use report::{Report, Sent};

/// Returns the tool definition.
pub fn definition() -> Definition {
    Definition {
        name: "ReadImage",
        title: "Read image",
        description: "Read an image file and display it visually".to_owned(),
        input_schema: include_str!("input-schema.json"),
        output_schema: Some(include_str!("output-schema.json")),
        hints: Hints { read_only: true, destructive: false, idempotent: true, open_world: false },
    }
}

/// Handles a call.
pub fn call(files: &mut impl Files, arguments: &str) -> Result<Output, Failure> {
    let args = Args::parse(arguments)?;
    let path = path(&args)?;
    if let Some((scheme @ ("http" | "https" | "data" | "ftp"), _)) = path.split_once(':') {
        return Err(Failure::InvalidInput(format!(
            "file_path is the path of a file, and no address ({scheme}:). Save the image to a file of the workspace, for \
             example with curl, and give its path."
        )));
    }
    let bytes = files.read(&path, MAX_FILE_BYTES).map_err(unread)?;
    let length = bytes.len();
    let picture = decode::decode(&bytes)?;
    let (format, (width, height)) = (picture.format, picture.size);
    if let Some(mime_type) = untouched(&picture, length) {
        let sent = Sent { mime_type, width, height, bytes: length };
        let report = Report { path, format, width, height, bytes: length, sent, notes: Vec::new() };
        return Ok(report.output(bytes));
    }
    // Frees memory for encoding.
    drop(bytes);
    let (encoded, notes) = prepare(picture);
    let sent = Sent {
        mime_type: encoded.mime_type,
        width: encoded.width,
        height: encoded.height,
        bytes: encoded.data.len(),
    };
    let report = Report { path, format, width, height, bytes: length, sent, notes };
    Ok(report.output(encoded.data))
}

fn unread(error: FilesError) -> Failure {
    match error {
        FilesError::TooLarge(bytes) => Failure::Failed(format!(
            "The file has {bytes} bytes; images of at most {MAX_FILE_BYTES} bytes are read. Make a smaller copy of it and read that."
        )),
        error => error.into(),
    }
}

fn path(args: &Args<'_>) -> Result<String, Failure> {
    args.string("file_path")?.filter(|path| !path.is_empty()).ok_or_else(|| {
        Failure::InvalidInput(
            "file_path is missing; give the path of an image file, absolute or from the workspace on."
                .to_owned(),
        )
    })
}

/// Returns the media type if the file can be sent unchanged.
fn untouched(picture: &Picture, length: usize) -> Option<&'static str> {
    let (width, height) = picture.size;
    let small = length <= SENT_BYTES && width.max(height) <= SENT_EDGE;
    let upright = picture.orientation == Orientation::NoTransforms;
    if small && upright && picture.plain { picture.format.sent_as() } else { None }
}

/// Encodes an image for sending, and returns notes about the changes.
fn prepare(picture: Picture) -> (Encoded, Vec<String>) {
    let Picture { format, size, orientation, pixels, mut notes, .. } = picture;
    if orientation != Orientation::NoTransforms {
        notes.push(format!("Turned upright (EXIF orientation {}).", orientation.to_exif()));
    }
    let encoded = encode::encode(resize::fit(pixels, SENT_EDGE).turned(orientation));
    let long = size.0.max(size.1);
    let sent = encoded.width.max(encoded.height);
    if sent < long {
        notes.push(format!("Reduced to {} %.", (u64::from(sent) * 100).div_ceil(long.into())));
    }
    if encoded.flattened {
        notes.push("Transparent parts are white.".to_owned());
    }
    if format.sent_as() != Some(encoded.mime_type) {
        let kind = if encoded.mime_type == "image/png" { "PNG" } else { "JPEG" };
        notes.push(format!("Converted from {format} to {kind}."));
    } else if notes.is_empty() {
        notes.push("Compressed more.".to_owned());
    }
    (encoded, notes)
}
