//! Calls, and checks that apply to every result.

use scorpiox_tool_kit::{Failure, Files, FilesError, Output};
use serde_json::Value;

pub(crate) const SENT_BYTES: usize = 700_000;
pub(crate) const SENT_EDGE: u32 = 1568;

/// File system with the same file at every path.
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

/// Checks every result.
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

pub(crate) fn data(output: &Output) -> Value {
    serde_json::from_str(output.structured.as_deref().expect("data")).expect("JSON")
}
