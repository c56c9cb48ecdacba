//! File access with the standard library alone.

use std::fs;

wit_bindgen::generate!({ world: "peer", path: "wit" });

struct Peer;

fn said(path: &str) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{path}: {error}")
}

impl Guest for Peer {
    fn names(path: String) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(said(&path))? {
            let entry = entry.map_err(said(&path))?;
            let is_folder = entry.file_type().map_err(said(&path))?.is_dir();
            let name = entry.file_name().to_string_lossy().into_owned();
            names.push(name + if is_folder { "/" } else { "" });
        }
        names.sort();
        Ok(names)
    }

    fn read_file(path: String) -> Result<String, String> {
        fs::read_to_string(&path).map_err(said(&path))
    }

    fn write_file(path: String, text: String) -> Result<(), String> {
        fs::write(&path, text).map_err(said(&path))
    }

    fn move_to(path: String, to: String) -> Result<(), String> {
        fs::rename(&path, to).map_err(said(&path))
    }
}

export!(Peer);
