//! Caches the compiled code of plugin components.
//!
//! Loading compiled code requires as much trust as loading a shared library. Therefore only the user may own
//! and write the directory and its files, which is checked before each load. A file's name contains the
//! fingerprint of the component, the name of the compiler, and the hash of the file's content.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File};
#[cfg(not(target_os = "linux"))]
use std::io::Seek as _;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::compile::{COMPILER_NAME, Code, CompileError, compile, hash};
use scorpiox_plugin::Fingerprint;
use wasmtime::component::Component as Compiled;

use super::Engines;
use scorpiox_executor::{Cancel, Reason};
use scorpiox_fs::home::private;

/// Reason why a component's code could not be loaded.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LoadError {
    /// The call that needed the code was cancelled.
    #[error("the call was cancelled")]
    Cancelled(Reason),
    /// Temporary failure: a later attempt may succeed.
    #[error("{0}")]
    NotNow(String),
    /// The component is unusable: another attempt fails the same way.
    #[error("{0}")]
    Never(String),
}

impl LoadError {
    fn of(error: &CompileError, cancel: &Cancel) -> Self {
        match (error, cancel.reason()) {
            (CompileError::Stopped, Some(reason)) => Self::Cancelled(reason),
            (error, _) if error.is_lasting() => Self::Never(error.to_string()),
            (error, _) => Self::NotNow(error.to_string()),
        }
    }
}

/// Maximum total size of all files. A component that bundles Python has about 60 MiB.
const MAX_BYTES: u64 = 4 << 30;

/// Directory of compiled code.
#[derive(Debug, Clone)]
pub struct CodeCache {
    folder: PathBuf,
}

impl CodeCache {
    /// Opens the cache in the program's home directory.
    pub fn new(own_home: &Path) -> Self {
        Self { folder: own_home.join("cache/components") }
    }

    /// Returns `true` if the cache contains code of a component, so that it need not be compiled unless the
    /// file is damaged.
    pub fn has(&self, fingerprint: &Fingerprint) -> bool {
        !self.find(fingerprint).is_empty()
    }

    /// Returns the code of a component from the cache. On a miss, compiles the bytes returned by `read`,
    /// which must match the fingerprint.
    pub fn load<'a>(
        &self,
        engines: &Engines,
        fingerprint: &Fingerprint,
        cancel: &Cancel,
        read: impl FnOnce() -> io::Result<Cow<'a, [u8]>>,
    ) -> Result<Compiled, LoadError> {
        for path in self.find(fingerprint) {
            match open(&path).and_then(|file| load(engines, &file)) {
                Ok(compiled) => return Ok(compiled),
                Err(error) => {
                    tracing::warn!("{} cannot be used: {error}", path.display());
                    // Invalid data stays invalid and would be tried on each load.
                    if error.kind() == ErrorKind::InvalidData {
                        let _ = fs::remove_file(&path);
                    }
                }
            }
        }
        let bytes = read().map_err(|error| LoadError::NotNow(error.to_string()))?;
        let found = Fingerprint::of(&bytes);
        if found != *fingerprint {
            return Err(LoadError::Never(format!("the component is {found}, not {fingerprint}")));
        }
        let code = compile(&bytes, || cancel.is_set());
        let mut code = code.map_err(|error| LoadError::of(&error, cancel))?;
        let path = self.path(fingerprint, code.hash());
        let kept = Self::write(&path, &mut code);
        self.prune(&path);
        let loaded = kept.and_then(|()| load(engines, &open(&path)?));
        loaded.or_else(|error| {
            tracing::warn!("compiled code cannot be kept at {}: {error}", path.display());
            let mut bytes = Vec::new();
            code.read()
                .and_then(|code| code.read_to_end(&mut bytes))
                .map_err(|error| LoadError::NotNow(error.to_string()))?;
            // SAFETY: the compiler produced these bytes, and they are complete: see `load`.
            #[allow(unsafe_code)]
            engines
                .load(|engine| unsafe { Compiled::deserialize(engine, &bytes) })
                .map_err(|error| LoadError::Never(format!("{error:#}")))
        })
    }

    /// Deletes the oldest files above the size limit, and drafts left by killed writers. Keeps `new`.
    fn prune(&self, new: &Path) {
        private::sweep(&self.folder);
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let about = |entry: fs::DirEntry| {
            let about = entry.metadata().ok()?;
            Some((about.modified().ok()?, about.len(), entry.path()))
        };
        let whole = entries.flatten().filter(|entry| !private::is_draft(&entry.path()));
        let mut files: Vec<_> = whole.filter_map(about).collect();
        files.sort_unstable();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, size, path) in files.iter().filter(|(_, _, path)| path != new) {
            if bytes <= MAX_BYTES {
                return;
            }
            if fs::remove_file(path).is_ok() {
                bytes -= size;
            }
        }
    }

    /// Returns the paths of a component's files that were written for this compiler.
    fn find(&self, fingerprint: &Fingerprint) -> Vec<PathBuf> {
        let begins = format!("{fingerprint}-{COMPILER_NAME}-");
        let is_it = |path: &PathBuf| {
            let name = path.file_name().and_then(OsStr::to_str);
            let is_code = path.extension().is_some_and(|extension| extension == "cwasm");
            is_code && name.is_some_and(|name| name.starts_with(&begins))
        };
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        entries.flatten().map(|entry| entry.path()).filter(is_it).collect()
    }

    fn path(&self, fingerprint: &Fingerprint, code: &str) -> PathBuf {
        self.folder.join(format!("{fingerprint}-{COMPILER_NAME}-{code}.cwasm"))
    }

    fn write(path: &Path, code: &mut Code) -> io::Result<()> {
        private::write(path, |file| {
            io::copy(code.read()?, file)?;
            file.sync_all()
        })
    }
}

/// Opens a cached file. Fails if others can write it; fails with `InvalidData` if its content does not match
/// the hash in its name.
fn open(path: &Path) -> io::Result<File> {
    let mut file = private::open(path)?;
    let hash = hash(&mut file)?;
    let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if !name.ends_with(&format!("-{hash}")) {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is damaged"));
    }
    Ok(file)
}

/// Loads the code in a file.
#[cfg(target_os = "linux")]
fn load(engines: &Engines, file: &File) -> io::Result<Compiled> {
    use std::os::fd::AsRawFd as _;

    // The checked file, even if its name refers to another file in the meantime.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the file is in a directory that only the user can write, was written by `CodeCache` from the
    // compiler's output, and has the hash of that output. wasmtime checks the engine again.
    #[allow(unsafe_code)]
    engines
        .load(|engine| unsafe { Compiled::deserialize_file(engine, &path) })
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))
}

/// Loads the code in a file.
#[cfg(not(target_os = "linux"))]
fn load(engines: &Engines, mut file: &File) -> io::Result<Compiled> {
    let mut code = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut code)?;
    // SAFETY: same as for the mapped file: only the user can write it, and it has the hash of the compiler's
    // output.
    #[allow(unsafe_code)]
    engines
        .load(|engine| unsafe { Compiled::deserialize(engine, &code) })
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component that was compiled with this program.
    const CODE: &[u8] =
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/components/plan-mode.cwasm"));

    #[test]
    fn damaged_code_is_removed_and_hides_none_that_is_whole() {
        let home = tempfile::tempdir().expect("a folder");
        let kept = CodeCache::new(home.path());
        private::folder(&kept.folder).expect("a folder");
        let fingerprint = Fingerprint::of(b"a component");
        let put = |hash: &str, code: &[u8]| {
            let path = kept.path(&fingerprint, hash);
            fs::write(&path, code).expect("a file");
            path
        };
        let hash_of = |mut code: &[u8]| hash(&mut code).expect("a hash");
        // Some sort before the intact file, some after it.
        let damaged: Vec<_> = (0..16).map(|n| put(&format!("{n:064}"), CODE)).collect();
        let foreign = put(&hash_of(b"no code"), b"no code");
        let whole = put(&hash_of(CODE), CODE);
        let engines = Engines::new().expect("engines");
        let load = || {
            let compile = || Err(io::Error::other("it is compiled again"));
            kept.load(&engines, &fingerprint, &Cancel::default(), compile)
        };
        load().expect("the whole one");
        assert!(whole.exists());
        fs::remove_file(&whole).expect("removed");
        let missing = load().map(drop).expect_err("none is left");
        assert_eq!(missing.to_string(), "it is compiled again");
        assert!(damaged.iter().chain([&foreign]).all(|path| !path.exists()));
    }
}
