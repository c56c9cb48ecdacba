//! Files below the granted directories.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};

type Done<T> = Result<T, String>;

fn said(error: ErrorCode) -> String {
    error.name().to_owned()
}

/// Resolves a path into the preopened directory that is its prefix, and the rest. Falls back to the first
/// directory and the complete path.
fn place(path: &str) -> Done<(Descriptor, String)> {
    let mut folders = get_directories();
    let found = folders.iter().position(|(_, name)| name != "." && path.starts_with(name.as_str()));
    let index = found.or_else(|| folders.iter().position(|(_, name)| name == ".")).unwrap_or(0);
    if folders.is_empty() {
        return Err("no folder".to_owned());
    }
    let (folder, name) = folders.swap_remove(index);
    let rest = if found.is_some() { path[name.len()..].trim_start_matches('/') } else { path };
    Ok((folder, if rest.is_empty() { ".".to_owned() } else { rest.to_owned() }))
}

pub fn at<T>(path: &str, act: impl FnOnce(&Descriptor, &str) -> Result<T, ErrorCode>) -> Done<T> {
    let (folder, path) = place(path)?;
    act(&folder, &path).map_err(said)
}

fn open(path: &str, create: OpenFlags, flags: DescriptorFlags) -> Done<Descriptor> {
    at(path, |folder, path| folder.open_at(PathFlags::SYMLINK_FOLLOW, path, create, flags))
}

pub fn read(path: &str) -> Done<String> {
    text(&open(path, OpenFlags::empty(), DescriptorFlags::READ)?)
}

fn text(file: &Descriptor) -> Done<String> {
    let (bytes, _) = file.read(1 << 20, 0).map_err(said)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub fn read_from(folder: &str, path: &str) -> Done<String> {
    let folder = open(folder, OpenFlags::DIRECTORY, DescriptorFlags::READ)?;
    let file = folder.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ);
    text(&file.map_err(said)?)
}

pub fn write(path: &str, content: &str) -> Done<u64> {
    let file = open(path, OpenFlags::CREATE, DescriptorFlags::WRITE)?;
    file.write(content.as_bytes(), 0).map_err(said)
}

pub fn create_new(path: &str) -> Done<()> {
    open(path, OpenFlags::CREATE | OpenFlags::EXCLUSIVE, DescriptorFlags::WRITE).map(drop)
}

pub fn truncate(path: &str) -> Done<()> {
    open(path, OpenFlags::TRUNCATE, DescriptorFlags::WRITE).map(drop)
}

pub fn names(path: &str) -> Done<Vec<String>> {
    let folder = open(path, OpenFlags::DIRECTORY, DescriptorFlags::READ)?;
    let entries = folder.read_directory().map_err(said)?;
    let mut names = Vec::new();
    while let Some(entry) = entries.read_directory_entry().map_err(said)? {
        // WASI's C library does the same, for the number of the file.
        folder.metadata_hash_at(PathFlags::empty(), &entry.name).map_err(said)?;
        names.push(entry.name);
    }
    names.sort();
    Ok(names)
}

pub fn size(path: &str) -> Done<u64> {
    at(path, |folder, path| Ok(folder.stat_at(PathFlags::SYMLINK_FOLLOW, path)?.size))
}

pub fn move_to(old: &str, new: &str) -> Done<()> {
    let (from, old) = place(old)?;
    let (to, new) = place(new)?;
    from.rename_at(&old, &to, &new).map_err(said)
}

pub fn hard_link(old: &str, new: &str) -> Done<()> {
    let (from, old) = place(old)?;
    let (to, new) = place(new)?;
    from.link_at(PathFlags::empty(), &old, &to, &new).map_err(said)
}

pub fn touch(path: &str) -> Done<()> {
    let now = || NewTimestamp::Now;
    at(path, |folder, path| folder.set_times_at(PathFlags::empty(), path, now(), now()))
}
