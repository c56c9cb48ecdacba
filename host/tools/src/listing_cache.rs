//! What was listed for some skills, kept while they do not change: in memory, and in a file for the
//! servers that start later.
//!
//! Reading the skills takes the first run of a component, which costs a start more than all else.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};
use scorpiox_home::private;
use scorpiox_paths::Stamp;
use serde::{Deserialize, Serialize};

use crate::Definition;
use scorpiox_capabilities::skills::Reading;
use scorpiox_operator::{Required, Scope, Source};

/// Longest file that is read: descriptions have 2 KiB.
const MAX_BYTES: u64 = 256 * 1024;

/// All that definitions depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Of the component that lists them.
    component: String,
    prefix: Option<String>,
    /// Names of those that are described first.
    #[serde(default)]
    required: Vec<String>,
    skills: Vec<SkillKey>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SkillKey {
    path: PathBuf,
    is_of_workspace: bool,
    /// Of its SKILL.md; `None` where that cannot be read.
    stamp: Option<Stamp>,
}

impl Key {
    /// Of these skills as they are now, for clients with one prefix.
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

    /// Names that files beside the skills require, whatever has them.
    pub fn required(&self) -> &[String] {
        &self.required
    }

    /// Whether any change from now on gives another key.
    fn is_settled(&self, now: SystemTime) -> bool {
        self.skills.iter().all(|skill| skill.stamp.is_none_or(|stamp| stamp.is_settled(now)))
    }
}

/// What was listed under a key.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cached {
    key: Key,
    /// What it was.
    pub listed: Listed,
}

/// What clients are told of skills.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Listed {
    /// Of all tools of the component.
    pub definitions: Vec<Definition>,
    /// What the server's instructions add to them.
    pub more: Vec<String>,
    /// Which of the required skills models can invoke.
    pub required: Vec<String>,
}

/// Definitions that depend on the skills.
#[derive(Debug)]
pub struct ListingCache {
    memory: Mutex<Option<Arc<Cached>>>,
    file: PathBuf,
}

impl ListingCache {
    /// The one of a workspace.
    pub fn new(own_home: &Path, workspace: &str) -> Self {
        Self {
            memory: Mutex::default(),
            file: own_home.join("cache/listings").join(format!("{workspace}.json")),
        }
    }

    /// What was listed under this key.
    pub fn get(&self, key: &Key) -> Option<Arc<Cached>> {
        let remembered = self.lock().clone();
        if let Some(listed) = remembered.filter(|listed| listed.key == *key) {
            return Some(listed);
        }
        let listed = Arc::new(self.read().filter(|listed| listed.key == *key)?);
        *self.lock() = Some(Arc::clone(&listed));
        Some(listed)
    }

    /// Keeps what was listed under a key that was taken before.
    pub fn put(&self, key: Key, listed: Listed) -> Arc<Cached> {
        let listed = Arc::new(Cached { key, listed });
        // The clock of the files may not tell these skills from what they become at once.
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
        // Another program may have written it in another form.
        serde_json::from_slice(&bytes).ok()
    }

    fn write(&self, listed: &Cached) {
        let cache = self.file.parent();
        let Some(own_home) = cache.and_then(Path::parent).and_then(Path::parent) else { return };
        // A list is no reason to make a home folder.
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
