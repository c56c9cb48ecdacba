//! Plugins at addresses: what these commands download and upload, by the policy's rules for the web.
//!
//! Nobody is known to a registry here: what it gives to everybody can be had.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use scorpiox_author::name_of;
use scorpiox_executor::AsyncRuntime;
use scorpiox_install::{Content, Fetch, Given, Keys, Parcel, Source};
use scorpiox_operator::Operator;
use scorpiox_plugin::PluginName;
use scorpiox_registry::{
    Address, Annotations, Artifact, NoCredentials, Patience, fetch, fetch_file, push as upload,
};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_web::Courier;

use super::add::keys;
use crate::cli::environment::Environment;

/// What a person names: files on this machine, and what is elsewhere.
pub(super) struct Addresses<'e> {
    environment: &'e Environment,
    keys: Keys,
    /// Made for the first address.
    courier: OnceCell<Courier>,
}

impl<'e> Addresses<'e> {
    pub(super) fn new(environment: &'e Environment) -> Self {
        Self { environment, keys: keys(environment), courier: OnceCell::new() }
    }

    /// Whose signatures count.
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The plugin at a path or an address.
    pub(super) fn source(&self, what: &Path, name: Option<&PluginName>) -> Result<Source> {
        match what.to_str().filter(|text| Address::is_one(text)) {
            Some(address) => Source::from_bytes(self.plugin(address)?, name, &self.keys),
            None => Source::read(what, name, &self.keys),
        }
    }

    fn courier(&self) -> Result<&Courier> {
        if let Some(courier) = self.courier.get() {
            return Ok(courier);
        }
        let policy = Operator::new(self.environment.site()).policy()?.web.clone();
        let courier = Courier::new(policy, Arc::new(AsyncRuntime::default()))
            .map_err(|error| anyhow!("nothing can be downloaded: {error}"))?;
        Ok(self.courier.get_or_init(|| courier))
    }
}

impl Fetch for Addresses<'_> {
    fn file(&self, address: &str, most: u64) -> Result<Vec<u8>> {
        match Address::parse(address)? {
            Address::File(file) => Ok(fetch_file(&file, self.courier()?, most, Patience::default())?),
            Address::Registry(_) => bail!("{address}: a registry has plugins alone; write https://HOST/FILE"),
        }
    }

    fn plugin(&self, text: &str) -> Result<Given> {
        let address = Address::parse(text)?;
        let fetched = fetch(&address, self.courier()?, &NoCredentials, Patience::default())?;
        if let Some(pinned) = fetched.pinned.as_ref().filter(|pinned| *pinned != text) {
            // Not to standard output, where a hash may be all that is wanted.
            terminal::complain(&format!("{text} is {pinned} now"));
        }
        Ok(Given {
            signature: self.keys.chosen(&fetched.bytes, &fetched.signatures),
            bytes: fetched.bytes,
            address: text.to_owned(),
            name: name_of(Path::new(address.last_part())),
        })
    }
}

/// Uploads a pack or a component, and the signature beside it.
pub(super) fn push(environment: &Environment, file: &Path, to: &str) -> Result<()> {
    let Address::Registry(reference) = Address::parse(to)? else {
        bail!("{to} is no registry; write oci://REGISTRY/NAME:TAG");
    };
    let Parcel { bytes, signature, content } = Parcel::read(file)?;
    let (artifact, annotations) = match &content {
        Content::Pack(manifest) => {
            let said = [
                ("title", manifest.name.to_string()),
                ("version", manifest.version.clone()),
                ("description", manifest.description.clone()),
            ];
            let said = said.into_iter().filter(|(_, text)| !text.is_empty());
            let named = said.map(|(key, text)| (format!("org.opencontainers.image.{key}"), text));
            (Artifact::Pack { bytes: &bytes, format: "tar" }, Annotations(named.collect()))
        }
        Content::Component(anatomy) => {
            let exports = anatomy.exports.iter().map(|export| export.name.clone()).collect();
            let imports = anatomy.imports.clone();
            let is_module = anatomy.module.is_some();
            (Artifact::Wasm { bytes: &bytes, is_module, imports, exports }, Annotations(BTreeMap::new()))
        }
    };
    let addresses = Addresses::new(environment);
    let way = (addresses.courier()?, &NoCredentials as _);
    let pushed = upload(&reference, &artifact, &annotations, signature.as_deref(), way)
        .with_context(|| format!("{} was not pushed", file.display()))?;
    let signed = if pushed.is_signed { "with its signature" } else { "without a signature" };
    terminal::print(&Shown::text(&format!(
        "{to} has it, {signed}. This address is of exactly these bytes for ever:\n  {}\n",
        pushed.pinned
    )));
    Ok(())
}
