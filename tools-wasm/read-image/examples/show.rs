//! Shows the result that a model receives: `cargo run --release --example show -- FILE…` prints the text, and
//! writes the image to the directory for temporary files.
#![allow(clippy::print_stdout)] // the purpose of this example

use std::error::Error;
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use scorpiox_tool_kit::{Files, FilesError};

struct Disk;

impl Files for Disk {
    fn read(&mut self, path: &str, limit: u64) -> Result<Vec<u8>, FilesError> {
        let bytes = fs::read(path).map_err(|error| FilesError::Failed(format!("{path}: {error}.")))?;
        if bytes.len() as u64 > limit { Err(FilesError::TooLarge(bytes.len() as u64)) } else { Ok(bytes) }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    for file in env::args().skip(1) {
        let path = fs::canonicalize(&file)?;
        let arguments = serde_json::json!({ "file_path": path }).to_string();
        let start = Instant::now();
        match read_image::call(&mut Disk, &arguments) {
            Ok(output) => {
                println!("{} [{:.2?}]", output.text, start.elapsed());
                for image in output.images {
                    let extension = image.mime_type.trim_start_matches("image/");
                    let name =
                        Path::new(&file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    let to = env::temp_dir().join(format!("show-{name}.{extension}"));
                    fs::write(&to, image.data)?;
                    println!("-> {}\n", to.display());
                }
            }
            Err(failure) => println!("{file}: {failure:?} [{:.2?}]\n", start.elapsed()),
        }
    }
    Ok(())
}
