//! What an index offers, and what of it is newer than what is installed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_minisign::{MAX_SIGNATURE_BYTES, SIGNATURE_SUFFIX, digest};
use scorpiox_operator::Site;
use scorpiox_package::{Entry, Index, MAX_INDEX_BYTES, MAX_PACKAGE_BYTES};
use scorpiox_plugin::{Installed, PluginFolder, PluginName};
use scorpiox_policy::Sourced;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, one_line, rows};
use semver::Version;

use crate::source::{Given, bounded};

/// Rows of a description that are shown.
const MAX_ROWS: usize = 3;
/// Columns of an address.
const MAX_ADDRESS: usize = 200;

/// Fetches an address that is no path, up to a size.
pub type Fetch<'f> = &'f dyn Fn(&str, u64) -> Result<Vec<u8>>;

/// An index that was read, and where it lies.
pub struct Opened {
    index: Index,
    /// Its own address or path.
    address: String,
}

/// An installed plugin, and a newer version of it.
pub struct Found {
    /// Its name here.
    pub name: PluginName,
    /// Its version here.
    pub version: Version,
    /// What there is.
    pub entry: Entry,
}

impl Opened {
    /// Reads the index that a policy names.
    pub fn read(index: Option<&Sourced<String>>, site: &Site, fetch: Fetch<'_>) -> Result<Self> {
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
            fetch(&address, MAX_INDEX_BYTES)
        };
        let index = Index::parse(&bytes.with_context(named)?).with_context(named)?;
        Ok(Self { index, address })
    }

    /// The plugins that are installed and have a newer version in the index, by their authors' names.
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

    /// The pack of an entry, if it is the one that the index lists.
    pub fn fetch(&self, entry: &Entry, fetch: Fetch<'_>) -> Result<Given> {
        let address = self.whole(&entry.address)?;
        let read = |address: &str, most: u64| {
            if is_path(address) { bounded(Path::new(address), most) } else { fetch(address, most) }
        };
        let bytes = read(&address, MAX_PACKAGE_BYTES)?;
        let is = digest(&bytes);
        ensure!(is == entry.sha256, "{address} has the sha256 {is}, and the index lists {}", entry.sha256);
        let signature = match &entry.signature {
            Some(address) => Some(read(&self.whole(address)?, MAX_SIGNATURE_BYTES)?),
            // Beside a pack on this machine; elsewhere the index says where.
            None if is_path(&address) => {
                let beside = PathBuf::from(format!("{address}{SIGNATURE_SUFFIX}"));
                fs::exists(&beside)?.then(|| bounded(&beside, MAX_SIGNATURE_BYTES)).transpose()?
            }
            None => None,
        };
        let signature = signature.map(String::from_utf8).transpose();
        let signature = signature.with_context(|| format!("the signature of {address} is no text"))?;
        Ok(Given { bytes, signature, address, name: Ok(entry.name.clone()) })
    }

    /// An address in the index; a path there is relative to it, and leads nowhere else.
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

/// Plugins for a list.
pub struct Listed(Vec<Installed>);

impl Listed {
    /// Those that are installed.
    pub fn of(site: &Site) -> Self {
        Self(PluginFolder::new(&site.own_home).scan().into_iter().flatten().collect())
    }

    /// Them.
    pub fn plugins(&self) -> &[Installed] {
        &self.0
    }
}

/// Says which plugins have newer versions.
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

/// Says what the index offers about some words.
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
