//! Status of a plugin: whether it may run.

use crate::decisions::{Approval, Decision, Record};
use crate::fingerprint::Fingerprint;
use crate::plugin_folder::Installed;

/// Status of a plugin.
#[derive(Debug, Clone, Copy)]
pub enum Status<'a> {
    /// There is no decision yet.
    Waiting,
    /// The plugin runs with this approval.
    Approved(&'a Approval),
    /// The plugin does not run.
    Denied,
    /// The plugin does not run until the user decides again.
    Changed(Change),
}

/// A change that invalidates an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum Change {
    #[error("its component is not the one that was approved")]
    Component,
    #[error("its plugin.toml is not the one that was approved")]
    Manifest,
    #[error("it was approved by an older version, which did not record where its folders lead")]
    Folders,
    #[error("its component cannot be read")]
    Unreadable,
}

impl<'a> Status<'a> {
    /// Returns the status of a plugin with the given decision.
    pub fn of(plugin: &Installed, record: Option<&'a Record>) -> Self {
        let approval = match record.map(|record| &record.decision) {
            None => return Self::Waiting,
            Some(Decision::Denied) => return Self::Denied,
            Some(Decision::Approved(approval)) => approval,
        };
        match Self::of_approved(plugin, approval) {
            Ok(()) => Self::Approved(approval),
            Err(change) => Self::Changed(change),
        }
    }

    /// Checks that a plugin still matches its approval. Reads the component only if its stamps differ from
    /// the recorded ones.
    pub fn of_approved(plugin: &Installed, approval: &Approval) -> Result<(), Change> {
        if plugin.manifest_fingerprint != approval.manifest {
            return Err(Change::Manifest);
        }
        // The approval covers the capabilities that these files request; the stored approval must agree with
        // them.
        let asks = &plugin.manifest;
        if asks.capabilities != approval.capabilities || asks.limits != approval.limits {
            return Err(Change::Manifest);
        }
        if !approval.has_its_definitions() {
            return Err(Change::Component);
        }
        if approval.capabilities.fixed_folders().iter().any(|folder| !approval.folders.contains_key(*folder))
        {
            return Err(Change::Folders);
        }
        if plugin.has_stamps(approval.stamps.as_ref()) {
            return Ok(());
        }
        match plugin.read_component() {
            Ok(bytes) if Fingerprint::of(&bytes) == approval.component => Ok(()),
            Ok(_) => Err(Change::Component),
            Err(_) => Err(Change::Unreadable),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::value::RawValue;

    use super::*;
    use crate::{PluginFolder, PluginName};

    const MANIFEST: &str = "name = \"a\"\ncomponent = \"a.wasm\"\n";

    fn installed(home: &Path) -> Installed {
        let name = PluginName::try_from("a".to_owned()).expect("a name");
        PluginFolder::new(home).find(&name).expect("a plugin")
    }

    fn approved(plugin: &Installed) -> Record {
        let approval = Approval {
            manifest: plugin.manifest_fingerprint.clone(),
            component: Fingerprint::of(&plugin.read_component().expect("bytes")),
            definitions: Fingerprint::of(b"[]"),
            stamps: plugin.settled_stamps().copied(),
            capabilities: plugin.manifest.capabilities.clone(),
            folders: crate::Pins::new(),
            limits: plugin.manifest.limits.clone(),
            signature: None,
            origin: None,
            signer: None,
            tools: RawValue::from_string("[]".to_owned()).expect("JSON"),
            offers: None,
            plain_names: false,
        };
        Record { decided_at: 0, decision: Decision::Approved(Box::new(approval)) }
    }

    #[test]
    fn an_approval_without_the_places_of_its_folders_is_none() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("plugins/a");
        fs::create_dir_all(&folder).expect("creates");
        let files = "[capabilities.files]\nwhy = \"x\"\nread = [\"workspace\", \"~/notes\"]\n";
        fs::write(folder.join("plugin.toml"), format!("{MANIFEST}{files}")).expect("writes");
        fs::write(folder.join("a.wasm"), "one").expect("writes");
        let plugin = installed(home.path());
        let mut record = approved(&plugin);
        assert!(matches!(Status::of(&plugin, Some(&record)), Status::Changed(Change::Folders)));
        let Decision::Approved(approval) = &mut record.decision else { panic!("approved") };
        approval.folders.insert("~/notes".to_owned(), "/home/ann/notes".into());
        assert!(matches!(Status::of(&plugin, Some(&record)), Status::Approved(_)));
    }

    #[test]
    fn a_change_of_either_file_ends_the_approval() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("plugins/a");
        fs::create_dir_all(&folder).expect("creates");
        fs::write(folder.join("plugin.toml"), MANIFEST).expect("writes");
        fs::write(folder.join("a.wasm"), "one").expect("writes");
        let plugin = installed(home.path());
        assert!(matches!(Status::of(&plugin, None), Status::Waiting));
        let record = approved(&plugin);
        assert!(matches!(Status::of(&plugin, Some(&record)), Status::Approved(_)));
        let denied = Record { decided_at: 0, decision: Decision::Denied };
        assert!(matches!(Status::of(&plugin, Some(&denied)), Status::Denied));
        // A different file with the same content is the same plugin.
        fs::write(folder.join("b"), "one").expect("writes");
        fs::rename(folder.join("b"), folder.join("a.wasm")).expect("renames");
        assert!(matches!(Status::of(&plugin, Some(&record)), Status::Approved(_)));
        fs::write(folder.join("b"), "two").expect("writes");
        fs::rename(folder.join("b"), folder.join("a.wasm")).expect("renames");
        assert!(matches!(Status::of(&plugin, Some(&record)), Status::Changed(Change::Component)));
        let more = format!("{MANIFEST}[capabilities.clock]\nwhy = \"times\"\n");
        fs::write(folder.join("plugin.toml"), more).expect("writes");
        let plugin = installed(home.path());
        assert!(matches!(Status::of(&plugin, Some(&record)), Status::Changed(Change::Manifest)));
        fs::remove_file(folder.join("plugin.toml")).expect("removes");
        fs::write(folder.join("plugin.toml"), MANIFEST).expect("writes");
        let plugin = installed(home.path());
        fs::remove_file(folder.join("a.wasm")).expect("removes");
        assert!(matches!(Status::of(&plugin, Some(&record)), Status::Changed(Change::Unreadable)));
    }
}
