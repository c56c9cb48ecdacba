//! Command-line program with the standard library, built by `rustc` for wasm32-wasip2. Each argument names an
//! operation on a path.

use std::fs;
use std::path::Path;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let path = words.get(1).map_or("", String::as_str);
    let done = match words.first().map(String::as_str) {
        Some("read") => fs::read_to_string(path),
        Some("write") => fs::write(path, "written").map(|()| "done".to_owned()),
        Some("make") => fs::create_dir_all(path).map(|()| "done".to_owned()),
        Some("list") => names(path),
        Some("exists") => Path::new(path).try_exists().map(|is_there| is_there.to_string()),
        Some("remove") => fs::remove_file(path).map(|()| "done".to_owned()),
        other => Ok(format!("{other:?} is not known")),
    };
    match done {
        Ok(text) => println!("{text}"),
        Err(error) => {
            eprintln!("{:?}", error.kind());
            std::process::exit(1);
        }
    }
}

fn names(path: &str) -> std::io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names.join(" "))
}
