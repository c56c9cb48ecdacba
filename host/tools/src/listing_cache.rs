//! Caches the skill listing until the skills change: in memory, and in a file for servers that start later.
//!
//! Reading the skills requires the first component run, which is the most expensive part of a server's start.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};
use scorpiox_fs::Stamp;
use scorpiox_fs::home::private;
use serde::{Deserialize, Serialize};

use crate::Definition;
use scorpiox_capabilities::skills::Reading;
use scorpiox_workspace_config::{Required, Scope, Source};

/// Maximum size of the cache file. Descriptions have up to 2 KiB each.
const MAX_BYTES: u64 = 256 * 1024;

/// Everything that the definitions depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Hash of the component that lists the skills.
    component: String,
    prefix: Option<String>,
    /// Names of the skills that are described first.
    #[serde(default)]
    required: Vec<String>,
    skills: Vec<SkillKey>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SkillKey {
    path: PathBuf,
    is_of_workspace: bool,
    /// Stamp of the SKILL.md; `None` if it cannot be read.
    stamp: Option<Stamp>,
}

impl Key {
    /// Creates the key of these skills in their current state, for clients with this prefix.
    pub fn new(
        component: &str,
        prefix: Option<&str>,
        required: Required,
        sources: &[Source],
        reading: &Reading,
    ) -> Self {
        let key = |source: &Source| SkillKey {
            path: source.path.clone(),
            is_of_workspace: source.scope == Scope::Workspace,
            stamp: reading.stamp(source),
        };
        Self {
            component: component.to_owned(),
            prefix: prefix.map(str::to_owned),
            required: required.by_person.into_iter().chain(required.by_workspace).collect(),
            skills: sources.iter().map(key).collect(),
        }
    }

    /// Returns the skill names that files next to the skills require, whether or not those skills exist.
    pub fn required(&self) -> &[String] {
        &self.required
    }

    /// Returns `true` if any later change results in another key.
    fn is_settled(&self, now: SystemTime) -> bool {
        self.skills.iter().all(|skill| skill.stamp.is_none_or(|stamp| stamp.is_settled(now)))
    }
}

/// A cached listing with its key.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cached {
    key: Key,
    /// The listing.
    pub listed: Listed,
}

/// The skill listing for clients.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Listed {
    /// Definitions of all tools of the component.
    pub definitions: Vec<Definition>,
    /// Descriptions that the server's instructions add.
    pub more: Vec<String>,
    /// Required skills that models can invoke.
    pub required: Vec<String>,
}

/// Cache of the definitions that depend on skills.
#[derive(Debug)]
pub struct ListingCache {
    memory: Mutex<Option<Arc<Cached>>>,
    file: PathBuf,
}

impl ListingCache {
    /// Creates the cache of a workspace.
    pub fn new(own_home: &Path, workspace: &str) -> Self {
        Self {
            memory: Mutex::default(),
            file: own_home.join("cache/listings").join(format!("{workspace}.json")),
        }
    }

    /// Returns the listing for this key.
    pub fn get(&self, key: &Key) -> Option<Arc<Cached>> {
        let remembered = self.lock().clone();
        if let Some(listed) = remembered.filter(|listed| listed.key == *key) {
            return Some(listed);
        }
        let listed = Arc::new(self.read().filter(|listed| listed.key == *key)?);
        *self.lock() = Some(Arc::clone(&listed));
        Some(listed)
    }

    /// Stores the listing for a key that was computed before the listing.
    pub fn put(&self, key: Key, listed: Listed) -> Arc<Cached> {
        let listed = Arc::new(Cached { key, listed });
        // The file timestamps may be too coarse to detect an immediate change of these skills.
        if listed.key.is_settled(SystemTime::now()) {
            self.write(&listed);
            *self.lock() = Some(Arc::clone(&listed));
        }
        listed
    }

    fn read(&self) -> Option<Cached> {
        let file = private::open(&self.file).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        // Another version of the program may have written another format.
        serde_json::from_slice(&bytes).ok()
    }

    fn write(&self, listed: &Cached) {
        let cache = self.file.parent();
        let Some(own_home) = cache.and_then(Path::parent).and_then(Path::parent) else { return };
        // A cache file alone does not justify creating the home directory.
        if !own_home.is_dir() {
            return;
        }
        let bytes = serde_json::to_vec(listed).unwrap_or_default();
        if let Err(error) = private::write(&self.file, |file| file.write_all(&bytes)) {
            tracing::debug!("the list of tools cannot be kept at {}: {error}", self.file.display());
        }
        if let Some(folder) = cache {
            private::sweep(folder);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Cached>>> {
        self.memory.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seconds: u64) -> Key {
        let stamp = serde_json::json!({
            "device": 1, "inode": 2, "size": 3, "modified": [seconds, 5], "changed": [seconds, 5],
        });
        let stamp = Some(serde_json::from_value(stamp).expect("a stamp"));
        let skills = vec![SkillKey { path: "/a".into(), is_of_workspace: true, stamp }];
        Key { component: "built-in:1".to_owned(), prefix: None, required: Vec::new(), skills }
    }

    fn put(cache: &ListingCache, key: Key) {
        cache.put(key, Listed::default());
    }

    #[test]
    fn a_later_server_finds_what_was_listed_for_the_same_skills_alone() {
        let home = tempfile::tempdir().expect("a folder");
        put(&ListingCache::new(home.path(), "w"), key(1));
        let later = ListingCache::new(home.path(), "w");
        assert!(later.get(&key(1)).is_some() && later.get(&key(2)).is_none());
        assert!(ListingCache::new(home.path(), "other").get(&key(1)).is_none());
        let other = |change: fn(&mut Key)| {
            let mut key = key(1);
            change(&mut key);
            ListingCache::new(home.path(), "w").get(&key)
        };
        assert!(other(|_| ()).is_some());
        assert!(other(|key| key.component.push('2')).is_none());
        assert!(other(|key| key.prefix = Some("mcp_".to_owned())).is_none());
        assert!(other(|key| key.required.push("a".to_owned())).is_none());
        assert!(other(|key| key.skills[0].stamp = None).is_none());
        assert!(other(|key| key.skills[0].is_of_workspace = false).is_none());
    }

    #[test]
    fn what_has_just_changed_and_what_is_damaged_is_listed_again() {
        let home = tempfile::tempdir().expect("a folder");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time").as_secs();
        let cache = ListingCache::new(home.path(), "w");
        put(&cache, key(now + 60));
        assert!(cache.get(&key(now + 60)).is_none());
        put(&cache, key(1));
        std::fs::write(&cache.file, b"{").expect("a file");
        assert!(ListingCache::new(home.path(), "w").get(&key(1)).is_none());
    }

    #[test]
    fn workspaces_with_dots_in_their_names_have_files_of_their_own() {
        let file = |workspace| ListingCache::new(Path::new("/home"), workspace).file;
        assert_ne!(file("my.app-1"), file("my.shop-2"));
    }

    #[test]
    fn a_list_makes_no_home_folder() {
        let home = tempfile::tempdir().expect("a folder");
        let absent = home.path().join("none");
        put(&ListingCache::new(&absent, "w"), key(1));
        assert!(!absent.exists());
    }
}
