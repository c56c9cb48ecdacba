//! Compiled code of components that others ship: compiled once, and kept.
//!
//! Loading compiled code is as trusting as loading a shared library. So the folder and the files are
//! this person's alone, and are looked at before each load; a file's name has the fingerprint of the
//! component, and of all settings of the engine, that its content was made from.

use std::borrow::Cow;
use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use scorpiox_plugin::Fingerprint;
use wasmtime::Engine;
use wasmtime::component::Component as Compiled;

/// Most bytes of all files; a component with a whole Python in it has about 60 MiB.
const MAX_BYTES: u64 = 4 << 30;

/// The folder of compiled code.
#[derive(Debug, Clone)]
pub struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// The one of a program's own folder.
    pub fn new(own_home: &Path) -> Self {
        Self { folder: own_home.join("cache/components") }
    }

    /// The code of a component: what was kept, or compiled now from what `read` gives, which must
    /// have the fingerprint.
    pub fn load<'a>(
        &self,
        engine: &Engine,
        fingerprint: &Fingerprint,
        read: impl FnOnce() -> io::Result<Cow<'a, [u8]>>,
    ) -> wasmtime::Result<Compiled> {
        let path = self.path(engine, fingerprint);
        match usable(&path) {
            Ok(()) => {
                // SAFETY: the file is in a folder that only this person can write, was written by
                // `keep` from the output of the compiler, and names the component and the engine.
                // wasmtime checks the engine again.
                #[allow(unsafe_code)]
                match unsafe { Compiled::deserialize_file(engine, &path) } {
                    Ok(compiled) => return Ok(compiled),
                    Err(error) => {
                        tracing::warn!("{} cannot be used, compiling again: {error}", path.display());
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!("{} is not used: {error}", path.display()),
        }
        let bytes = read()?;
        let found = Fingerprint::of(&bytes);
        if found != *fingerprint {
            return Err(wasmtime::Error::msg(format!("the component is {found}, not {fingerprint}")));
        }
        // From bytes alone: never a file that was compiled elsewhere.
        let compiled = Compiled::from_binary(engine, &bytes)?;
        self.keep(engine, fingerprint, &compiled);
        Ok(compiled)
    }

    /// Keeps compiled code; where that fails it is compiled again one day.
    fn keep(&self, engine: &Engine, fingerprint: &Fingerprint, compiled: &Compiled) {
        let path = self.path(engine, fingerprint);
        let kept = compiled.serialize().map_err(io::Error::other).and_then(|code| self.write(&path, &code));
        if let Err(error) = kept {
            tracing::warn!("compiled code cannot be kept at {}: {error}", path.display());
        }
        self.prune(&path);
    }

    /// Deletes what is oldest beyond the bound; `new` stays.
    fn prune(&self, new: &Path) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let about = |entry: fs::DirEntry| {
            let about = entry.metadata().ok()?;
            Some((about.modified().ok()?, about.len(), entry.path()))
        };
        let mut files: Vec<_> = entries.flatten().filter_map(about).collect();
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

    fn path(&self, engine: &Engine, fingerprint: &Fingerprint) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.folder.join(format!("{fingerprint}-{:016x}.cwasm", hasher.finish()))
    }

    fn write(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        private(&self.folder.symlink_metadata()?)?;
        // Whoever is first has it; nobody sees half a file.
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let written =
            file.write_all(code).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }
}

/// Whether a kept file is there, and nobody else can have written it.
fn usable(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("no folder"))?;
    private(&folder.symlink_metadata()?)?;
    private(&path.symlink_metadata()?)
}

fn private(about: &fs::Metadata) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    if about.uid() != own || about.mode() & 0o022 != 0 || about.is_symlink() {
        return Err(io::Error::other("others can write it"));
    }
    Ok(())
}
