//! The skills extension (`io.modelcontextprotocol/skills`) and its underlying resources: each file of a skill
//! is a resource `skill://<name>/<path>`.

use std::fs::File;
use std::io::Read as _;
use std::rc::Rc;
use std::sync::Arc;

use base64::Engine;
use scorpiox_mcp::jsonrpc::reply;
use scorpiox_plugin::Fingerprint;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::offers;
use crate::scope::{Answer, Scope};
use crate::skills::address::{self, is_servable, mime_type, split};
use crate::tool_call;
use scorpiox_capabilities::skills::{Opened, Reading, SkillReadError};
use scorpiox_mcp::RpcError;
use scorpiox_mcp::params::Text;
use scorpiox_mcp::result::Enveloped;
use scorpiox_runtime::bindings::skill_reader::exports::scorpiox::tool::skill_catalogue::Skill;
use scorpiox_workspace_config::Source;

const SKILL_TOOL: &str = "InvokeSkill";
const SKILL_FILE: &str = "SKILL.md";

/// Time to live of lists and files in a client.
const TTL_MS: u64 = 5000;

/// Maximum number and total size of a skill's files whose digests are published, as the extension defines
/// them. The files of a larger skill are declared dynamic.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Maximum size of a file that can be read as a resource. Base64 and JSON must fit into a client's line.
pub const MAX_RESOURCE_BYTES: u64 = 4 * 1024 * 1024;

/// A skill that can be served: its name is its path.
struct Served {
    skill: Skill,
    source: Source,
    reading: Rc<Reading>,
}

#[derive(Serialize)]
struct Entry<'a> {
    uri: String,
    frontmatter: &'a RawValue,
    resources: Value,
}

// Results with entries are structs, not `Value`s, so that front matter keeps its key order.

#[derive(Serialize)]
struct List<'a> {
    skills: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Single<'a> {
    skill: Entry<'a>,
}

/// Returns the skills that the extension can serve, in catalog order.
fn served(scope: &Scope<'_>) -> Result<Vec<Served>, RpcError> {
    let Some(component) = scope.access().tool(SKILL_TOOL).and(scope.workspace().component(SKILL_TOOL)) else {
        return Ok(Vec::new());
    };
    let setup = scope.setup();
    let (catalogue, sources) = scope
        .workspace()
        .runtime()
        .skill_catalogue(component, &setup)
        .map_err(|fault| RpcError::internal(format!("skills cannot be read: {fault}")))?;
    let reading = Rc::new(Reading::new(Arc::clone(setup.shell.operator()), scope.uses.clone()));
    let with_source = catalogue.skills.into_iter().filter_map(|skill| {
        let source = sources.get(skill.id as usize)?.clone();
        Some(Served { skill, source, reading: Rc::clone(&reading) })
    });
    Ok(with_source.filter(|served| is_servable(&served.skill)).collect())
}

/// Applies the policy's rules to the call of InvokeSkill that gives the same file or folder of a skill. Nobody picked
/// it, as a person picks a prompt, so a rule that asks refuses it.
fn permit(scope: &Scope<'_>, name: &str, path: &str) -> Result<(), RpcError> {
    // Without the tool, no skill is served.
    let Some(tool) = scope.access().tool(SKILL_TOOL) else { return Ok(()) };
    let file = if path.is_empty() { name.to_owned() } else { format!("{name}/{path}") };
    let instead = format!("call {SKILL_TOOL} with the skill_name {file:?}");
    let arguments = json!({ "skill_name": file }).to_string();
    let permitted = tool_call::unasked(scope, &tool, &arguments, &instead);
    permitted.map_err(|error| RpcError::invalid_params(error.to_string()))
}

impl Served {
    fn uri(&self, path: &str) -> String {
        address::uri(&self.skill.name, path)
    }

    fn open(&self) -> Result<Opened, SkillReadError> {
        self.reading.open(&self.source)
    }

    /// Returns the paths of all files, SKILL.md first. Returns `None` if there are too many to publish.
    fn paths(&self, skill: &Opened) -> Option<Vec<String>> {
        let (files, truncated) = self.reading.files(skill, MAX_FILES - 1);
        let bytes: u64 = files.iter().map(|file| file.size).sum();
        if truncated || bytes > MAX_BYTES {
            return None;
        }
        Some(std::iter::once(SKILL_FILE.to_owned()).chain(files.into_iter().map(|file| file.path)).collect())
    }

    /// Returns every file with its digest, or "dynamic".
    fn resources(&self) -> Value {
        let manifest = || -> Option<Vec<Value>> {
            let skill = self.open().ok()?;
            let mut left = MAX_BYTES;
            let mut file = |path: &String| {
                let (digest, size) = digest(self.reading.file(&skill, path).ok()?, left)?;
                left -= size;
                Some(json!({ "uri": self.uri(path), "digest": format!("sha256:{digest}"), "size": size }))
            };
            self.paths(&skill)?.iter().map(&mut file).collect()
        };
        manifest().map_or_else(|| json!("dynamic"), Value::Array)
    }

    fn entry(&self) -> Option<Entry<'_>> {
        Some(Entry {
            uri: self.uri(SKILL_FILE),
            frontmatter: serde_json::from_str(&self.skill.front_matter).ok()?,
            resources: self.resources(),
        })
    }
}

/// Returns a file's digest and size, reading in chunks. Returns `None` if it has more than `most` bytes.
fn digest(file: File, most: u64) -> Option<(String, u64)> {
    let mut bytes = file.take(most + 1);
    let digest = Fingerprint::of_all(&mut bytes).ok()?;
    let size = most + 1 - bytes.limit();
    (size <= most).then(|| (digest.to_string(), size))
}

pub(crate) fn list(scope: &Scope<'_>) -> Answer {
    let served = served(scope)?;
    let mut skills = Vec::new();
    for served in &served {
        // Each entry reads all files of its skill.
        if scope.cancel().is_set() {
            return Err(RpcError::internal("cancelled"));
        }
        // An entry has the front matter of the instructions.
        if permit(scope, &served.skill.name, SKILL_FILE).is_ok() {
            skills.extend(served.entry());
        }
    }
    let result = Enveloped::cacheable(scope.request.revision, TTL_MS, List { skills });
    Ok(reply::result(&scope.request.id, &result))
}

pub(crate) fn get(scope: &Scope<'_>) -> Answer {
    let uri = uri(scope)?;
    if let Some((name, path)) = split(&uri) {
        permit(scope, &name, &path)?;
    }
    let served = served(scope)?;
    let entry = served.iter().find(|served| served.uri(SKILL_FILE) == uri).and_then(Served::entry);
    let Some(entry) = entry else {
        return Err(RpcError::invalid_params(format!("no skill is served at {uri}")));
    };
    let result = Enveloped::cacheable(scope.request.revision, TTL_MS, Single { skill: entry });
    Ok(reply::result(&scope.request.id, &result))
}

/// Returns the instructions of each skill as a resource for a list.
pub(super) fn resources(scope: &Scope<'_>) -> Result<Vec<Value>, RpcError> {
    let served = served(scope)?;
    let resource = |served: &Served| {
        json!({
            "uri": served.uri(SKILL_FILE),
            "name": served.skill.name,
            "description": scorpiox_text::clean(&served.skill.description),
            "mimeType": mime_type(SKILL_FILE),
        })
    };
    Ok(served.iter().map(resource).collect())
}

/// Reads a file of a skill.
pub(super) fn read(scope: &Scope<'_>, uri: &str) -> Answer {
    let missing = || offers::no_resource(scope, uri);
    let (name, path) = split(uri).ok_or_else(missing)?;
    permit(scope, &name, &path)?;
    let served = served(scope)?;
    let skill = served.iter().find(|served| served.skill.name == name).ok_or_else(missing)?;
    let read = skill.open().and_then(|opened| skill.reading.whole(&opened, &path, MAX_RESOURCE_BYTES));
    let bytes = read.map_err(|error| match error {
        SkillReadError::NotFound => missing(),
        error => RpcError::invalid_params(format!("{uri} cannot be read: {error}")),
    })?;
    let content = match String::from_utf8(bytes) {
        Ok(text) => json!({ "uri": uri, "mimeType": mime_type(&path), "text": text }),
        Err(binary) => {
            let blob = base64::engine::general_purpose::STANDARD.encode(binary.as_bytes());
            json!({ "uri": uri, "mimeType": mime_type(&path), "blob": blob })
        }
    };
    let result = Enveloped::cacheable(scope.request.revision, TTL_MS, json!({ "contents": [content] }));
    Ok(reply::result(&scope.request.id, &result))
}

pub(crate) fn directory(scope: &Scope<'_>) -> Answer {
    let uri = uri(scope)?;
    let missing = || RpcError::invalid_params(format!("{uri} is not a directory resource"));
    let (name, path) = split(uri.trim_end_matches('/')).ok_or_else(missing)?;
    permit(scope, &name, &path)?;
    let served = served(scope)?;
    let skill = served.iter().find(|served| served.skill.name == name).ok_or_else(missing)?;
    let children = children(skill, &path).ok_or_else(missing)?;
    let result = Enveloped::complete(scope.request.revision, json!({ "resources": children }));
    Ok(reply::result(&scope.request.id, &result))
}

/// Returns the direct children of a directory of a skill, or `None` if it is not a directory.
fn children(skill: &Served, folder: &str) -> Option<Vec<Value>> {
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let opened = skill.open().ok()?;
    let files = skill.reading.files(&opened, usize::MAX).0;
    let mut paths: Vec<String> = files.into_iter().map(|file| file.path).collect();
    paths.push(SKILL_FILE.to_owned());
    let below = paths.iter().filter_map(|path| path.strip_prefix(&prefix));
    let mut names: Vec<(&str, bool)> =
        below.map(|rest| rest.split_once('/').map_or((rest, false), |(first, _)| (first, true))).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return None;
    }
    let child = |(name, is_folder): (&str, bool)| {
        let uri = skill.uri(&format!("{prefix}{name}"));
        let mime_type = if is_folder { "inode/directory" } else { mime_type(name) };
        json!({ "uri": uri, "name": name, "mimeType": mime_type })
    };
    Some(names.into_iter().map(child).collect())
}

fn uri(scope: &Scope<'_>) -> Result<String, RpcError> {
    Ok(scope.request.params.required::<Text<'_>>("uri", "a resource's address")?.0.into_owned())
}
