//! Explains what the marketplace file of a repository lists and nothing is read of.

use std::io::Read as _;
use std::path::Path;

use scorpiox_fs::Folder;
use serde_json::Value;

use super::repository::{MARKETPLACE, MAX_MARKETPLACE_BYTES, MAX_PLUGINS, SKILLS, plain};

/// Maximum number of reported faults.
const MAX_FAULTS: usize = 20;

/// Returns the faults of the marketplace file in a repository, as sentences without a full stop; none without such a
/// file.
pub fn marketplace_faults(repository: &Path) -> Vec<String> {
    let mut text = String::new();
    let file = Folder::open(repository).and_then(|folder| folder.file(Path::new(MARKETPLACE)));
    let read = file.and_then(|file| file.take(MAX_MARKETPLACE_BYTES).read_to_string(&mut text));
    if let Err(error) = read {
        let is_absent = error.kind() == std::io::ErrorKind::NotFound;
        return if is_absent { Vec::new() } else { vec![format!("{MARKETPLACE} cannot be read: {error}")] };
    }
    let listed: Value = match serde_json::from_str(&text) {
        Ok(listed) => listed,
        Err(error) => return vec![format!("{MARKETPLACE} is no JSON, so no plugin of it is read: {error}")],
    };
    let Some(plugins) = listed["plugins"].as_array() else {
        return vec![format!("{MARKETPLACE} has no list `plugins`, so nothing of it is read")];
    };
    let root = listed["metadata"]["pluginRoot"].as_str();
    let faults = plugins.iter().take(MAX_PLUGINS).flat_map(|plugin| of_plugin(repository, root, plugin));
    faults.take(MAX_FAULTS).collect()
}

fn of_plugin(repository: &Path, root: Option<&str>, plugin: &Value) -> Vec<String> {
    let name = plugin["name"].as_str().unwrap_or("without a name");
    let told = |what: String| vec![format!("{MARKETPLACE}: the plugin {name} {what}")];
    let Some(source) = plugin["source"].as_str() else {
        return told("comes from elsewhere, and nothing is downloaded; clone its repository".to_owned());
    };
    let (Some(inside), Some(root)) = (plain(source), root.map_or_else(|| plain(""), plain)) else {
        return told(format!("has the source {source:?}, which leads out of the repository"));
    };
    let place = repository.join(if inside.starts_with(&root) { inside } else { root.join(inside) });
    if !place.is_dir() {
        return told(format!("has the source {source:?}, which is no folder of the repository"));
    }
    let named = plugin["skills"].as_array().map_or(std::slice::from_ref(&plugin["skills"]), Vec::as_slice);
    let missing = named.iter().filter_map(Value::as_str).filter(|skill| {
        let there = plain(skill).is_some_and(|inside| place.join(inside).is_dir());
        !there && *skill != SKILLS
    });
    missing.flat_map(|skill| told(format!("names the skills {skill:?}, which are not there"))).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_thing_that_is_listed_and_not_read_is_named() {
        let home = tempfile::tempdir().expect("a folder");
        assert!(marketplace_faults(home.path()).is_empty());
        fs::create_dir_all(home.path().join(".claude-plugin")).expect("a folder");
        fs::create_dir_all(home.path().join("good/skills")).expect("a folder");
        let write = |text: &str| fs::write(home.path().join(MARKETPLACE), text).expect("writes");
        write("{bad");
        assert!(marketplace_faults(home.path())[0].contains("is no JSON"));
        write(r#"{"plugins": "x"}"#);
        assert!(marketplace_faults(home.path())[0].contains("has no list `plugins`"));
        write(
            r#"{"plugins": [{"name": "good", "source": "./good", "skills": ["./skills", "./nothere"]},
                {"name": "gone", "source": "./gone"}, {"name": "odd", "source": "../odd"},
                {"name": "far", "source": {"source": "github", "repo": "a/b"}}]}"#,
        );
        let ends = [
            "the plugin good names the skills \"./nothere\", which are not there",
            "the plugin gone has the source \"./gone\", which is no folder of the repository",
            "the plugin odd has the source \"../odd\", which leads out of the repository",
            "the plugin far comes from elsewhere, and nothing is downloaded; clone its repository",
        ];
        let faults = marketplace_faults(home.path());
        assert_eq!(faults.len(), ends.len(), "{faults:?}");
        assert!(faults.iter().zip(ends).all(|(fault, end)| fault.ends_with(end)), "{faults:?}");
    }
}
