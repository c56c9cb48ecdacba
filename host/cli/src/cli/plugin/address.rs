//! Downloads and uploads of plugins, subject to the policy's rules for the web.
//!
//! Each transfer is recorded in the audit, with the contacted hosts and the received content. Only the policy
//! provides credentials for registries.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use parking_lot::Mutex;
use scorpiox_audit::{BUILT_IN, Outcome, Uses};
use scorpiox_capabilities::rules::of_host;
use scorpiox_executor::AsyncRuntime;
use scorpiox_metering::records::NO_POLICY;
use scorpiox_oci_registry::{
    Address, Annotations, Artifact, Digest, OperatorKeyring, Patience, RegistryError, fetch, fetch_file,
    push as upload,
};
use scorpiox_plugin_manager::author::name_of;
use scorpiox_plugin_manager::install::{Content, Fetch, Given, Keys, Overrides, Parcel, Source};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_web::{Courier, Watch};
use scorpiox_workspace_config::Operator;

use super::add::keys;
use crate::cli::environment::Environment;
use crate::cli::recorder::Recorder;

/// Names of the actions in the audit.
const FETCH: &str = "download";
const PUSH: &str = "upload";

/// Resolves plugins given as local files or as addresses.
pub(super) struct Addresses<'e> {
    environment: &'e Environment,
    operator: Operator,
    keys: Keys,
    /// HTTP client, created for the first address.
    courier: OnceCell<Courier>,
    /// Uses of the current download or upload. Only one transfer runs at a time.
    noted: Arc<Mutex<Noted>>,
}

/// Uses of a download or upload.
#[derive(Default)]
struct Noted {
    uses: Uses,
    /// Rule that decided about the most recently contacted host.
    rule: String,
}

impl<'e> Addresses<'e> {
    pub(super) fn new(environment: &'e Environment) -> Self {
        let (operator, courier) = (Operator::new(environment.site()), OnceCell::new());
        Self { environment, operator, keys: keys(environment), courier, noted: Arc::default() }
    }

    /// Returns the keys of trusted signers.
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Reads the plugin at a path or an address.
    pub(super) fn source(&self, what: &Path, overrides: Overrides<'_>) -> Result<Source> {
        match what.to_str().filter(|text| Address::is_one(text)) {
            Some(address) => Source::from_bytes(self.plugin(address)?, overrides, &self.keys),
            None => Source::read(what, overrides, &self.keys),
        }
    }

    fn courier(&self) -> Result<&Courier> {
        if let Some(courier) = self.courier.get() {
            return Ok(courier);
        }
        let policy = self.operator.policy()?.web.clone();
        let (noted, rules) = (Arc::clone(&self.noted), policy.clone());
        let watch: Watch = Arc::new(move |host, port, decided| {
            let (mut noted, what) = (noted.lock(), format_args!("{host}:{port}"));
            noted.rule = of_host(&rules, None, (host, port), decided);
            match decided {
                Ok(()) => noted.uses.allowed("web", what, &noted.rule),
                Err(why) => noted.uses.denied("web", what, why, &noted.rule),
            }
        });
        let courier = Courier::new(policy, Arc::new(AsyncRuntime::default()))
            .map_err(|error| anyhow!("nothing can be downloaded: {error}"))?;
        Ok(self.courier.get_or_init(|| courier.watched(watch)))
    }

    fn keyring(&self) -> OperatorKeyring<'_> {
        OperatorKeyring::new(&self.operator)
    }

    /// Downloads or uploads, and records the outcome. If the policy requires a record and none can be
    /// written, the transfer does not start, or its result is discarded.
    fn recorded<T>(
        &self,
        (what, address): (&'static str, &str),
        work: impl FnOnce(&Courier) -> Result<T, RegistryError>,
        content: impl FnOnce(&T) -> (usize, Digest),
    ) -> Result<T> {
        let (recorder, courier) = (Recorder::new(self.environment), self.courier()?);
        recorder.check()?;
        *self.noted.lock() = Noted::default();
        let done = work(courier);
        let Noted { uses, rule } = std::mem::take(&mut *self.noted.lock());
        let rule = if rule.is_empty() { BUILT_IN.to_owned() } else { rule };
        // The query string may contain a secret.
        let place = address.split(['?', '#']).next().unwrap_or_default();
        let outcome = match &done {
            Ok(got) => {
                let (bytes, digest) = content(got);
                uses.allowed("plugins", place, &rule);
                uses.allowed("plugins", format_args!("{digest}, {bytes} bytes"), BUILT_IN);
                Outcome::Ok
            }
            Err(_) if uses.was_denied() => Outcome::Refused(NO_POLICY),
            Err(error) => {
                uses.denied("plugins", place, &error.to_string(), BUILT_IN);
                Outcome::Error
            }
        };
        recorder.record(what, None, &uses, outcome)?;
        Ok(done?)
    }
}

impl Fetch for Addresses<'_> {
    fn file(&self, address: &str, most: u64) -> Result<Vec<u8>> {
        match Address::parse(address)? {
            Address::File(file) => {
                let get = |courier: &Courier| fetch_file(&file, courier, most, Patience::default());
                self.recorded((FETCH, address), get, |bytes| (bytes.len(), Digest::of(bytes)))
            }
            Address::Registry(_) => bail!("{address}: a registry has plugins alone; write https://HOST/FILE"),
        }
    }

    fn plugin(&self, text: &str) -> Result<Given> {
        let address = Address::parse(text)?;
        let keyring = self.keyring();
        let get = |courier: &Courier| fetch(&address, courier, &keyring, Patience::default());
        let fetched = self.recorded((FETCH, text), get, |got| (got.bytes.len(), got.digest.clone()))?;
        if let Some(pinned) = fetched.pinned.as_ref().filter(|pinned| *pinned != text) {
            // Standard output may be reserved for a hash.
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

/// Uploads a pack or a component, with the signature next to it.
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
            let imports = anatomy.imports.iter().chain(&anatomy.types).cloned().collect();
            let is_module = anatomy.module.is_some();
            (Artifact::Wasm { bytes: &bytes, is_module, imports, exports }, Annotations(BTreeMap::new()))
        }
    };
    let addresses = Addresses::new(environment);
    let keyring = addresses.keyring();
    let put = |courier: &Courier| {
        upload(&reference, &artifact, &annotations, signature.as_deref(), (courier, &keyring))
    };
    let pushed = addresses.recorded((PUSH, to), put, |pushed| (bytes.len(), pushed.layer.clone()));
    let pushed = pushed.with_context(|| format!("{} was not pushed", file.display()))?;
    let signed = if pushed.is_signed { "with its signature" } else { "without a signature" };
    terminal::print(&Shown::text(&format!(
        "{to} has it, {signed}. This address is of exactly these bytes for ever:\n  {}\n",
        pushed.pinned
    )));
    Ok(())
}
