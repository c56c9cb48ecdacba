//! Packing of skills, and reading of their packs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use scorpiox_plugin::package::{MAX_PACKAGE_BYTES, Package};
use scorpiox_signature::digest;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, one_line, size};

use crate::install::{bounded, listed, put_new};
use crate::skills::files::{Left, MAX_SKILL_BYTES, SkillFiles, is_folder_name};

/// File name suffix of packs.
const SUFFIX: &str = ".skill.tar";
/// Maximum size of a pack: the files, and a header and padding for each.
const MAX_PACK_BYTES: u64 = MAX_SKILL_BYTES + 2 * 1024 * 1024;
/// Maximum width of a name, in columns.
const MAX_NAME: usize = 40;

/// Packs a skill into a single file, and prints its hash and content.
pub fn pack(name: &str, (files, left_out): (&SkillFiles, &Left), out: Option<&Path>) -> Result<()> {
    ensure!(is_folder_name(name), "{name:?} cannot be a folder's name; change `name` in its SKILL.md");
    let bytes = files.to_bytes(name).context("it cannot be packed; shorten the names of its files")?;
    // The reader's limits hold for authors, too.
    SkillFiles::from_bytes(&bytes).context("it cannot be packed")?;
    let out = out.map_or_else(|| PathBuf::from(format!("{name}{SUFFIX}")), Path::to_owned);
    put_new(&out, &bytes, MAX_PACK_BYTES, "remove it, or choose another file with --out")?;
    let mut text = format!("{}: {}, sha256 {}\n", out.display(), size(bytes.len() as u64), digest(&bytes));
    let has: Vec<_> = files.names().map(|(name, _)| one_line(name, MAX_NAME)).collect();
    listed(&mut text, "It has", &has);
    let left_out: Vec<_> = left_out.iter().map(|name| one_line(name, MAX_NAME)).collect();
    listed(&mut text, "Left out", &left_out);
    terminal::print(&Shown::text(&text));
    Ok(())
}

/// Reads the pack of a skill. Returns the skill's name and its files.
pub fn read_pack(path: &Path) -> Result<(String, SkillFiles)> {
    let bytes = bounded(path, MAX_PACK_BYTES.max(MAX_PACKAGE_BYTES))?;
    let shown = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    ensure!(
        !path.ends_with("SKILL.md"),
        "{shown} is a file of a skill; name its folder: {}",
        folder.display()
    );
    ensure!(!Package::is_one(&bytes), "{shown} is a plugin; `scorpiox-code plugin add {shown}` installs it");
    SkillFiles::from_bytes(&bytes).with_context(|| {
        format!("{shown} is no pack of a skill, which `scorpiox-code skills pack FOLDER` makes")
    })
}
