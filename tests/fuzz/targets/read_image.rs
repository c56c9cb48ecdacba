//! Fuzzes image files for every decoder, and checks that the output is a complete, small image.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_tool_kit::{Failure, Files, FilesError, Output};
use serde_json::Value;

/// Directory in which each path leads to this file.
struct Everywhere<'a>(&'a [u8]);

impl Files for Everywhere<'_> {
    fn read(&mut self, _: &str, limit: u64) -> Result<Vec<u8>, FilesError> {
        let bytes = self.0.len() as u64;
        if bytes > limit { Err(FilesError::TooLarge(bytes)) } else { Ok(self.0.to_vec()) }
    }
}

fn read(bytes: &[u8]) -> Result<(Output, Value), Failure> {
    let output = read_image::call(&mut Everywhere(bytes), r#"{"file_path":"/a"}"#)?;
    let data = serde_json::from_str(output.structured.as_deref().expect("data")).expect("JSON");
    Ok((output, data))
}

fuzz_target!(|bytes: &[u8]| {
    match read(bytes) {
        Ok((output, data)) => {
            let [image] = output.images.as_slice() else { panic!("{} images", output.images.len()) };
            assert!(image.data.len() <= 700_000);
            let sent = &data["sent"];
            assert_eq!(sent["bytes"], image.data.len());
            assert_eq!(sent["mime_type"], image.mime_type);
            let edge = |name: &str| sent[name].as_u64().expect("an edge");
            assert!((1..=1568).contains(&edge("width")) && (1..=1568).contains(&edge("height")));
            let (_, again) = read(&image.data).expect("what is sent can be read");
            assert_eq!((&again["width"], &again["height"]), (&sent["width"], &sent["height"]));
        }
        Err(Failure::Failed(why) | Failure::InvalidInput(why)) => assert!(!why.is_empty()),
        Err(other) => panic!("{other:?}"),
    }
});
