//! A single approved plugin.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::offers::{Offers, Served};
use parking_lot::Mutex;
use scorpiox_capabilities::approved::Approved;
use scorpiox_executor::Cancel;
use scorpiox_plugin::{
    Approval, Asks, ComponentName, Fingerprint, Hashes, ImageType, Installed, Limits, Pins, PluginFolder,
    PluginName, Status,
};
use scorpiox_policy::Refusal;
use scorpiox_workspace_config::Operator;
use serde::Deserialize;

use super::grants::{Ungrantable, grants, limits};
use super::secrets;
use crate::{Definition, Kind, Marks, Tool};
use scorpiox_runtime::{Binary, CodeCache, Component, Engines, PluginIdentity};

/// A plugin under one decision. Another decision creates a new entry; running calls keep the old one.
pub(super) struct Entry {
    pub(super) name: PluginName,
    decided_at: u64,
    approval: Box<Approval>,
    known: Mutex<Known>,
    /// Rule by which the plugin runs, or the policy's refusal. The policy is evaluated once.
    pub(super) standing: OnceLock<Result<String, Refusal>>,
}

/// Cached state of the plugin's files.
#[derive(Default)]
struct Known {
    /// The installed files at the last check, and why they differ from the approved ones.
    seen: Option<(Installed, Result<(), String>)>,
    /// Tools and offering, created when the files first match the approval.
    made: Option<Made>,
}

/// Tools and offering of a plugin that may run.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) tools: Vec<Arc<Tool>>,
    /// Prompts and resources, if the plugin has any.
    pub(super) offering: Option<Arc<Offering>>,
}

/// A plugin with prompts or resources.
pub struct Offering {
    /// Offers that clients see.
    pub served: Served,
    /// Component of the plugin.
    pub component: Arc<Component>,
    /// Time of approval in seconds since 1970. The earliest approval wins a contested name.
    pub decided_at: u64,
}

impl Entry {
    pub(super) fn new(name: &PluginName, decided_at: u64, approval: &Approval) -> Self {
        Self {
            name: name.clone(),
            decided_at,
            approval: Box::new(approval.clone()),
            known: Mutex::default(),
            standing: OnceLock::new(),
        }
    }

    /// Returns `true` if the entry belongs to this decision.
    pub(super) fn is_of(&self, decided_at: u64, approval: &Approval) -> bool {
        let pinned = |approval: &Approval| {
            let Approval {
                manifest,
                component,
                definitions,
                capabilities,
                folders,
                limits,
                signature,
                origin,
                signer,
                plain_names,
                ..
            } = approval;
            let vouched = (signature.clone(), origin.clone(), signer.clone());
            let files = (manifest.clone(), component.clone(), definitions.clone(), vouched);
            (files, capabilities.clone(), folders.clone(), limits.clone(), *plain_names)
        };
        self.decided_at == decided_at && pinned(&self.approval) == pinned(approval)
    }

    /// Returns the approval.
    pub(super) fn approval(&self) -> &Approval {
        &self.approval
    }

    /// Returns the author's name for the plugin, if it is installed under another name.
    pub(super) fn authors_name(&self) -> Option<&str> {
        self.approval.origin.as_ref()?.other_name(&self.name)
    }

    /// Returns `true` if this component was approved.
    pub(super) fn is_for(&self, component: &Fingerprint) -> bool {
        self.approval.component == *component
    }

    /// Returns the plugin's tools and offering, if its files match the approval.
    pub(super) fn made(
        &self,
        plugins: &PluginFolder,
        cache: &CodeCache,
        operator: &Arc<Operator>,
    ) -> Result<Made, String> {
        let mut known = self.known.lock();
        if !known.seen.as_ref().is_some_and(|(installed, _)| plugins.is_unchanged(installed)) {
            known.seen = None;
            let seen = plugins.find(&self.name).map(|installed| {
                let verdict = self.check(&installed);
                (installed, verdict)
            });
            // Reload a plugin that runs again, because its loading may have failed with other files.
            if !matches!(seen, Ok((_, Ok(())))) {
                known.made = None;
            }
            known.seen = Some(seen?);
        }
        match (&known.seen, &known.made) {
            (Some((_, Err(why))), _) => Err(why.clone()),
            (_, Some(made)) => Ok(made.clone()),
            (None, None) => Ok(Made { tools: Vec::new(), offering: None }),
            (Some((installed, Ok(()))), None) => {
                let made = self.make(installed, plugins, cache, operator)?;
                Ok(known.made.insert(made).clone())
            }
        }
    }

    /// Checks that the files match the approval. Reads the component if its stamp is inconclusive.
    fn check(&self, installed: &Installed) -> Result<(), String> {
        Status::of_approved(installed, &self.approval).map_err(|change| {
            format!(
                "{change}; look at it with `scorpiox-code plugin show {}`, and approve it again",
                self.name
            )
        })
    }

    fn make(
        &self,
        installed: &Installed,
        plugins: &PluginFolder,
        cache: &CodeCache,
        operator: &Arc<Operator>,
    ) -> Result<Made, String> {
        let mut component = self.component(installed, cache, operator.site().home.as_deref())?;
        let secrets = secrets::reader(installed, &self.approval.capabilities, plugins.own_home(), operator);
        component.secrets = secrets.map_err(|error| error.to_string())?;
        let (component, tools) =
            tools(&self.name, component, self.approval.tools.get()).map_err(|error| error.to_string())?;
        let Some(offers) = &self.approval.offers else { return Ok(Made { tools, offering: None }) };
        let offers: Offers = serde_json::from_str(offers.get()).map_err(|error| error.to_string())?;
        let served = Served::new(self.name.clone(), self.approval.plain_names, offers);
        let offering = Some(Arc::new(Offering { served, component, decided_at: self.decided_at }));
        Ok(Made { tools, offering })
    }

    /// Returns the time of approval, if the approval includes the plugin's own names without the plugin's
    /// name.
    pub(super) fn plain_since(&self) -> Option<u64> {
        self.approval.plain_names.then_some(self.decided_at)
    }

    fn component(
        &self,
        installed: &Installed,
        cache: &CodeCache,
        home: Option<&Path>,
    ) -> Result<Component, String> {
        let Approval { capabilities, folders, limits, .. } = &*self.approval;
        let (names, hashes) = ((installed, self.authors_name()), self.approval.hashes(home));
        held_to(names, &hashes, (capabilities, folders), limits, cache).map_err(|error| error.to_string())
    }
}

/// Members of a definition for the host only.
#[derive(Deserialize)]
struct Called {
    /// Name of the function, if the tool is renamed.
    function: Option<String>,
    /// Type of the image that the function returns.
    image: Option<ImageType>,
}

/// Returns a plugin's component and its tools with full names, from their definitions in JSON.
pub fn tools(
    plugin: &PluginName,
    mut component: Component,
    definitions: &str,
) -> serde_json::Result<(Arc<Component>, Vec<Arc<Tool>>)> {
    let called: Vec<Called> = serde_json::from_str(definitions)?;
    let definitions: Vec<Definition> = serde_json::from_str(definitions)?;
    let function = |definition: &Definition, called: &Called| {
        called.function.clone().unwrap_or_else(|| definition.name.to_string())
    };
    let inner: Vec<String> =
        definitions.iter().zip(&called).map(|(tool, called)| function(tool, called)).collect();
    let images = inner.iter().zip(&called).filter_map(|(inner, called)| Some((inner.clone(), called.image?)));
    component.images = images.collect();
    let listed = inner.iter().zip(&definitions);
    component.listed =
        listed.map(|(inner, tool)| (inner.clone(), format!("{plugin}.{}", tool.name))).collect();
    let component = Arc::new(component);
    let of_tools = Arc::clone(&component);
    let tool = |(definition, inner): (Definition, String)| {
        let full = format!("{plugin}.{}", definition.name);
        let definition = Definition { name: full.clone().into(), ..definition };
        let component = Arc::clone(&of_tools);
        let kind = Kind::Plugin { component, listed: definition.digest(), definition, inner };
        Arc::new(Tool { name: full.into(), kind, marks: Marks::default() })
    };
    let tools = definitions.into_iter().zip(inner).map(tool).collect();
    Ok((component, tools))
}

/// Returns the identity of a plugin, as audit records contain it.
pub(super) fn identity(installed: &Installed, hashes: &Hashes) -> PluginIdentity {
    PluginIdentity {
        name: installed.name.as_str().into(),
        version: installed.manifest.version.as_str().into(),
        hash: hashes.plugin.as_str().into(),
        component: hashes.component.as_str().into(),
    }
}

/// Returns a plugin's component, limited to these capabilities, resolved folders, and limits. The policy
/// compares grants with the author's name of the plugin, if that is different.
pub fn held_to(
    (installed, authors_name): (&Installed, Option<&str>),
    hashes: &Hashes,
    (capabilities, folders): (&Asks, &Pins),
    limits: &Limits,
    cache: &CodeCache,
) -> Result<Component, Ungrantable> {
    let (grants, approved) = grants(capabilities, folders)?;
    let authors_name = authors_name.map(|name| ComponentName::of_plugin(name).to_string());
    let approved = Approved { config: installed.manifest.config.clone(), authors_name, ..approved };
    let (cache, pinned, source) = (cache.clone(), hashes.component.clone(), installed.clone());
    let load = move |engines: &Engines, cancel: &Cancel| {
        cache.load(engines, &pinned, cancel, || Ok(source.read_component()?.into()))
    };
    // The namespace keeps its data separate from a built-in tool with the same name.
    let mut component =
        Component::new(&ComponentName::of_plugin(&installed.name), Binary::Shipped(Box::new(load)), grants);
    component.plugin = Some(identity(installed, hashes));
    component.limits = self::limits(limits);
    component.most_calls = limits.calls;
    component.approved = Some(Arc::new(approved));
    Ok(component)
}
