//! Files below the granted directories.

use wasip3::filesystem::preopens::get_directories;
use wasip3::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};
use wasip3::wit_bindgen::StreamReader;

type Done<T> = Result<T, String>;

pub fn said(error: ErrorCode) -> String {
    format!("{error:?}").trim_start_matches("ErrorCode::").to_owned()
}

pub fn no_flags() -> PathFlags {
    PathFlags::empty()
}

/// Resolves a path into the preopened directory that is its prefix, and the rest. Falls back to the first
/// directory and the complete path.
pub fn place(path: &str) -> Done<(Descriptor, String)> {
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

async fn open(path: &str, create: OpenFlags, flags: DescriptorFlags) -> Done<Descriptor> {
    let (folder, path) = place(path)?;
    folder.open_at(PathFlags::SYMLINK_FOLLOW, path, create, flags).await.map_err(said)
}

pub async fn read(path: &str) -> Done<String> {
    let file = open(path, OpenFlags::empty(), DescriptorFlags::READ).await?;
    let (stream, ended) = file.read_via_stream(0);
    let bytes = stream.collect().await;
    ended.await.map_err(said)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub async fn write(path: &str, text: String, append: bool) -> Done<()> {
    let file = open(path, OpenFlags::CREATE, DescriptorFlags::WRITE).await?;
    let (mut writer, reader) = wasip3::wit_stream::new();
    let ended = if append { file.append_via_stream(reader) } else { file.write_via_stream(reader, 0) };
    let _ = writer.write_all(text.into_bytes()).await;
    drop(writer);
    ended.await.map_err(said)
}

pub async fn names(path: &str) -> Done<Vec<String>> {
    let folder = open(path, OpenFlags::DIRECTORY, DescriptorFlags::READ).await?;
    let (entries, ended) = folder.read_directory();
    let mut names: Vec<_> = entries.collect().await.into_iter().map(|entry| entry.name).collect();
    ended.await.map_err(said)?;
    for name in &names {
        folder.metadata_hash_at(no_flags(), name.clone()).await.map_err(said)?;
    }
    names.sort();
    Ok(names)
}

pub async fn size(path: &str) -> Done<u64> {
    let (folder, path) = place(path)?;
    Ok(folder.stat_at(PathFlags::SYMLINK_FOLLOW, path).await.map_err(said)?.size)
}

pub async fn touch(path: &str) -> Done<()> {
    let (folder, path) = place(path)?;
    folder.set_times_at(no_flags(), path, NewTimestamp::Now, NewTimestamp::Now).await.map_err(said)
}

/// Returns the content of a file with this number of zero bytes.
pub async fn zeros(path: &str, bytes: u64) -> Done<StreamReader<u8>> {
    let file = open(path, OpenFlags::CREATE, DescriptorFlags::READ | DescriptorFlags::WRITE).await?;
    file.set_size(bytes).await.map_err(said)?;
    Ok(file.read_via_stream(0).0)
}
