//! Search in a plugin index, and lookup of newer versions.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_plugin::package::{Entry, Index, MAX_INDEX_BYTES, MAX_PACKAGE_BYTES};
use scorpiox_plugin::{Installed, Origin, PluginFolder, PluginName};
use scorpiox_policy::Sourced;
use scorpiox_signature::{MAX_SIGNATURE_BYTES, digest};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, one_line, rows};
use scorpiox_workspace_config::Site;
use semver::Version;

use crate::install::source::{Given, Keys, Overrides, Source, bounded, signature_beside};

/// Maximum number of displayed rows of a description.
const MAX_ROWS: usize = 3;
/// Maximum width of an address, in columns.
const MAX_ADDRESS: usize = 200;

/// Fetches files from URLs.
pub trait Fetch {
    /// Fetches a file of at most `most` bytes.
    fn file(&self, address: &str, most: u64) -> Result<Vec<u8>>;

    /// Fetches a pack or a component, with its signature.
    fn plugin(&self, address: &str) -> Result<Given>;
}

/// An index and its location.
pub struct Opened {
    index: Index,
    /// URL or path of the index.
    address: String,
}

/// An installed plugin with a newer version.
pub struct Found {
    /// Name of the installed plugin.
    pub name: PluginName,
    /// Installed version.
    pub version: Version,
    /// Index entry of the newer version.
    pub entry: Entry,
}

impl Opened {
    /// Reads the index that the policy names.
    pub fn read(index: Option<&Sourced<String>>, site: &Site, fetch: &dyn Fetch) -> Result<Self> {
        let index = index.context(
            "the policy names no index; write `index = \"/srv/plugins/index.json\"` in [plugins] of policy.toml",
        )?;
        let address = match (index.value.strip_prefix("~/"), &site.home) {
            (Some(inside), Some(home)) => home.join(inside).display().to_string(),
            (Some(_), None) => bail!("{}: the home folder is not known", index.value),
            (None, _) => index.value.clone(),
        };
        let named = || format!("`index` of [plugins] ({}): {address}", index.source);
        let bytes = if is_path(&address) {
            bounded(Path::new(&address), MAX_INDEX_BYTES)
        } else {
            fetch.file(&address, MAX_INDEX_BYTES)
        };
        let index = Index::parse(&bytes.with_context(named)?).with_context(named)?;
        Ok(Self { index, address })
    }

    /// Returns the installed plugins with a newer version in the index. Plugins are looked up by their
    /// authors' names.
    pub fn newer(&self, installed: &[Installed]) -> Vec<Found> {
        let newer = |plugin: &Installed| {
            let version = Version::parse(&plugin.manifest.version).ok()?;
            let original = plugin.author_name().unwrap_or_else(|| plugin.name.clone());
            let entry = self.index.newest(&original, Some(&version))?;
            let is_newer = entry.version.cmp_precedence(&version).is_gt();
            is_newer.then(|| Found { name: plugin.name.clone(), version, entry: entry.clone() })
        };
        installed.iter().filter_map(newer).collect()
    }

    /// Fetches a newer version under the installed plugin's name. Returns an error if it differs from the
    /// index entry.
    pub fn source(
        &self,
        found: &Found,
        overrides: Overrides<'_>,
        fetch: &dyn Fetch,
        keys: &Keys,
    ) -> Result<Source> {
        let entry = &found.entry;
        let overrides = Overrides { name: Some(&found.name), ..overrides };
        let source = Source::from_bytes(self.fetch(entry, fetch)?, overrides, keys)?;
        let Origin { name, version, address, .. } = &source.origin;
        ensure!(
            *name == entry.name && *version == entry.version.to_string(),
            "{address} is {name} {version}, and the index lists it as {} {}",
            entry.name,
            entry.version
        );
        Ok(source)
    }

    /// Fetches the pack of an entry, and checks its hash against the index.
    fn fetch(&self, entry: &Entry, fetch: &dyn Fetch) -> Result<Given> {
        let address = self.whole(&entry.address)?;
        let (bytes, beside) = if is_path(&address) {
            let path = Path::new(&address);
            (bounded(path, MAX_PACKAGE_BYTES)?, signature_beside(path)?)
        } else {
            let Given { bytes, signature, .. } = fetch.plugin(&address)?;
            (bytes, signature)
        };
        let is = digest(&bytes);
        ensure!(is == entry.sha256, "{address} has the sha256 {is}, and the index lists {}", entry.sha256);
        let signature = match &entry.signature {
            Some(named) => Some(self.signature(named, fetch)?),
            None => beside,
        };
        Ok(Given { bytes, signature, address, name: Ok(entry.name.clone()) })
    }

    /// Fetches a signature from a location of its own.
    fn signature(&self, address: &str, fetch: &dyn Fetch) -> Result<String> {
        let address = self.whole(address)?;
        let bytes = if is_path(&address) {
            bounded(Path::new(&address), MAX_SIGNATURE_BYTES)?
        } else {
            fetch.file(&address, MAX_SIGNATURE_BYTES)?
        };
        String::from_utf8(bytes).with_context(|| format!("the signature {address} is no text"))
    }

    /// Resolves an address in the index. Paths are relative to the index and must not lead out of its
    /// directory.
    fn whole(&self, address: &str) -> Result<String> {
        if !is_path(address) {
            return Ok(address.to_owned());
        }
        let leads_out = address.starts_with('/') || address.contains('\\') || address.contains(':');
        ensure!(
            !leads_out && !address.split('/').any(|part| part == ".."),
            "the index has the path {address:?}; paths in it are relative to it, without .."
        );
        if is_path(&self.address) {
            let folder = Path::new(&self.address).parent().context("the index has no folder")?;
            return Ok(folder.join(address).display().to_string());
        }
        let base = self.address.rsplit_once('/').map_or(&*self.address, |(base, _)| base);
        Ok(format!("{base}/{address}"))
    }
}

fn is_path(address: &str) -> bool {
    !address.contains("://")
}

/// Installed plugins, as a list.
pub struct Listed(Vec<Installed>);

impl Listed {
    /// Lists the installed plugins.
    pub fn of(site: &Site) -> Self {
        Self(PluginFolder::new(&site.own_home).scan().into_iter().flatten().collect())
    }

    /// Returns the plugins.
    pub fn plugins(&self) -> &[Installed] {
        &self.0
    }
}

/// Prints the plugins that have newer versions.
pub fn outdated(opened: &Opened, installed: &Listed) {
    let mut text = String::new();
    for Found { name, version, entry } in opened.newer(installed.plugins()) {
        let _ = writeln!(
            text,
            "{name} {version}: {} is there; `scorpiox-code plugin update {name}`",
            entry.version
        );
    }
    for plugin in
        installed.plugins().iter().filter(|plugin| Version::parse(&plugin.manifest.version).is_err())
    {
        let _ = writeln!(text, "{}: its version cannot be compared", plugin.name);
    }
    if text.is_empty() {
        text.push_str("Nothing that is installed has a newer version in the index.\n");
    }
    terminal::print(&Shown::text(&text));
}

/// Prints the index entries that match the search words.
pub fn search(opened: &Opened, words: &str, installed: &Listed) {
    let mut text = String::new();
    for entry in opened.index.search(words) {
        let is_here = installed.plugins().iter().any(|plugin| plugin.name == entry.name);
        let _ =
            writeln!(text, "{} {}{}", entry.name, entry.version, if is_here { "  (installed)" } else { "" });
        rows(&mut text, "  ", &entry.description, MAX_ROWS);
        let address = opened.whole(&entry.address).unwrap_or_else(|error| error.to_string());
        let _ = writeln!(text, "  {}", one_line(&address, MAX_ADDRESS));
    }
    if text.is_empty() {
        text.push_str("The index has nothing with these words.\n");
    }
    terminal::print(&Shown::text(&text));
}
