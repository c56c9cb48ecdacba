//! Packing of plugins.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_plugin::MANIFEST;
use scorpiox_plugin::package::{Collected, MAX_PACKAGE_BYTES, Package, collect};
use scorpiox_signature::digest;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, one_line, size, wrapped};

use crate::install::source::{Keys, Overrides, Source, bounded};

/// Maximum number of displayed file names.
const MAX_LEFT_OUT: usize = 12;
/// Maximum width of a name, in columns.
const MAX_NAME: usize = 40;

/// Packs a plugin's folder into a single file, and returns its path.
pub fn pack(folder: &Path, out: Option<&Path>) -> Result<PathBuf> {
    ensure!(folder.exists(), "{} does not exist; name a folder with {MANIFEST}", folder.display());
    let is_plugin = folder.join(MANIFEST).is_file();
    ensure!(is_plugin, "{} has no {MANIFEST}; `scorpiox-code plugin init` drafts one", folder.display());
    let source = Source::read(folder, Overrides::default(), &Keys::default())?;
    let Collected { files, left_out } = collect(folder, &source.component_name)?;
    let (manifest, component) = source.parts();
    let package = Package::new(manifest.to_owned(), component.to_vec(), files)
        .with_context(|| format!("{} cannot be packed", folder.display()))?;
    let bytes = package.to_bytes()?;
    let out = out.map_or_else(|| PathBuf::from(package.file_name()), Path::to_owned);
    put_new(&out, &bytes, MAX_PACKAGE_BYTES, "give the plugin another version, or remove the file")?;
    let mut text = format!("{}: {}\n  sha256 {}\n", out.display(), size(bytes.len() as u64), digest(&bytes));
    let others: Vec<_> = package.files().map(|(name, _)| one_line(name, MAX_NAME)).collect();
    let has = [&[MANIFEST.to_owned(), package.manifest().component.clone()][..], &others].concat();
    listed(&mut text, "It has", &has);
    let left_out: Vec<_> = left_out.iter().map(|name| one_line(name, MAX_NAME)).collect();
    listed(&mut text, "Left out", &left_out);
    terminal::print(&Shown::text(&text));
    Ok(out)
}

pub(crate) fn listed(text: &mut String, what: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let more = names.len().saturating_sub(MAX_LEFT_OUT);
    let shown = names.iter().take(MAX_LEFT_OUT).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let row = format!("{what} {shown}{more}");
    let _ = writeln!(text, "{}", wrapped(&row, columns() - 2).join("\n  "));
}

/// Writes a pack. An existing file with different content is not overwritten: it may be published with a
/// signature. `next` is the user's way out.
pub(crate) fn put_new(out: &Path, bytes: &[u8], most: u64, next: &str) -> Result<()> {
    match fs::File::create_new(out) {
        Ok(mut file) => {
            use std::io::Write as _;
            let written = file.write_all(bytes).and_then(|()| file.sync_all());
            if let Err(error) = written {
                let _ = fs::remove_file(out);
                return Err(error).with_context(|| out.display().to_string());
            }
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if bounded(out, most).is_ok_and(|there| there == bytes) {
                return Ok(());
            }
            bail!("{} exists and is another file; {next}", out.display())
        }
        Err(error) => Err(error).with_context(|| format!("{} cannot be written", out.display())),
    }
}
