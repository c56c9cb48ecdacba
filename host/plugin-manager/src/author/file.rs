//! Input files for authors' commands.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use scorpiox_component_abi::anatomy::{Anatomy, Kind};
use scorpiox_plugin::{MAX_COMPONENT_BYTES, NameError, PluginName};
use scorpiox_tools::plugins::check_kind;

/// Derives a plugin name from the name of a component's file, up to the first dot.
pub fn name_of(file: &Path) -> Result<PluginName, NameError> {
    let file = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    PluginName::try_from(file.split('.').next().unwrap_or_default().replace(['_', ' '], "-"))
}

/// Reads a regular file of limited size.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let said = || format!("{} cannot be read", path.display());
    ensure!(
        path.exists(),
        "{} does not exist; name a WebAssembly file (.wasm); `scorpiox-code plugin new` starts a plugin from nothing",
        path.display()
    );
    let about = path.metadata().with_context(said)?;
    ensure!(
        about.is_file(),
        "{} is not a file; name a WebAssembly file (`scorpiox-code plugin test` describes a plugin's folder)",
        path.display()
    );
    let mut bytes = Vec::new();
    // One extra byte detects an oversized file, even if the file grows while it is read.
    File::open(path)
        .and_then(|file| file.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes))
        .with_context(said)?;
    ensure!(
        bytes.len() as u64 <= MAX_COMPONENT_BYTES,
        "{} has {} bytes; the limit is {MAX_COMPONENT_BYTES}",
        path.display(),
        about.len()
    );
    Ok(bytes)
}

/// Analyzes a component. A core module is converted to a component first.
pub(crate) fn anatomy(bytes: &[u8]) -> Result<Anatomy> {
    if Kind::of(bytes) == Kind::Module {
        return anatomy(&scorpiox_runtime::compile::encode(bytes, || false)?);
    }
    check_kind(bytes)?;
    Ok(scorpiox_runtime::compile::inspect(bytes, || false)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_the_name_up_to_its_first_dot() {
        for (file, name) in
            [("a/My_Plugin.component.wasm", "my-plugin"), ("b.wasm", "b"), ("two words.wasm", "two-words")]
        {
            assert_eq!(name_of(Path::new(file)).expect("a name").as_str(), name);
        }
        assert!(name_of(Path::new("2.wasm")).is_err() && name_of(Path::new("..")).is_err());
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(read(folder.path()).expect_err("an error").to_string().contains("is not a file"));
        let none = read(&folder.path().join("none")).expect_err("an error").to_string();
        assert!(none.contains("none does not exist; name a WebAssembly file (.wasm); `"), "{none}");
    }
}
