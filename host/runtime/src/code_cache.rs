//! Compiled code of components that others ship: compiled once, and kept.
//!
//! Loading compiled code is as trusting as loading a shared library. So the folder and the files are
//! this person's alone, and are looked at before each load; a file's name has the fingerprint of the
//! component and of the compiler that its content was made from, and the hash of the content.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File};
#[cfg(not(target_os = "linux"))]
use std::io::Seek as _;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use scorpiox_compile::{COMPILER_NAME, Code, CompileError, compile, hash};
use scorpiox_plugin::Fingerprint;
use wasmtime::component::Component as Compiled;

use super::Engines;
use scorpiox_executor::{Cancel, Reason};
use scorpiox_home::private;

/// Why there is no code of a component.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LoadError {
    /// The call that it was for was cancelled.
    #[error("the call was cancelled")]
    Cancelled(Reason),
    /// Another time there may be.
    #[error("{0}")]
    NotNow(String),
    /// There is something about the component: trying again gives the same.
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

/// Most bytes of all files; a component with a whole Python in it has about 60 MiB.
const MAX_BYTES: u64 = 4 << 30;

/// The folder of compiled code.
#[derive(Debug, Clone)]
pub struct CodeCache {
    folder: PathBuf,
}

impl CodeCache {
    /// The one of a program's own folder.
    pub fn new(own_home: &Path) -> Self {
        Self { folder: own_home.join("cache/components") }
    }

    /// Whether code of a component was kept, so that nothing has to be compiled, unless the code is damaged.
    pub fn has(&self, fingerprint: &Fingerprint) -> bool {
        !self.find(fingerprint).is_empty()
    }

    /// The code of a component: what was kept, or compiled now from what `read` gives, which must
    /// have the fingerprint.
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
                    // It never will be, and would be tried each time.
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
            // SAFETY: the compiler gave it, and it is whole: see `load`.
            #[allow(unsafe_code)]
            engines
                .load(|engine| unsafe { Compiled::deserialize(engine, &bytes) })
                .map_err(|error| LoadError::Never(format!("{error:#}")))
        })
    }

    /// Deletes what is oldest beyond the bound, and what writers left that were killed; `new` stays.
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

    /// Where code of a component may be, which this compiler made and was kept.
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

/// A kept file, if nobody else can have written it and it is what its name says; one with another
/// content has invalid data.
fn open(path: &Path) -> io::Result<File> {
    let mut file = private::open(path)?;
    let hash = hash(&mut file)?;
    let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if !name.ends_with(&format!("-{hash}")) {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is damaged"));
    }
    Ok(file)
}

/// The code in a file.
#[cfg(target_os = "linux")]
fn load(engines: &Engines, file: &File) -> io::Result<Compiled> {
    use std::os::fd::AsRawFd as _;

    // The file that was looked at, whatever has its name now.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the file is in a folder that only this person can write, was written by `CodeCache` from what
    // the compiler gave, and has the hash of that. wasmtime checks the engine again.
    #[allow(unsafe_code)]
    engines
        .load(|engine| unsafe { Compiled::deserialize_file(engine, &path) })
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))
}

/// The code in a file.
#[cfg(not(target_os = "linux"))]
fn load(engines: &Engines, mut file: &File) -> io::Result<Compiled> {
    let mut code = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut code)?;
    // SAFETY: as where it is mapped: of a file that only this person can write, with the hash of what the compiler gave.
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
        // Some are listed before the whole one, some after.
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
