//! Skills at a place that the user named, before they are added.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_plugin_manager::skills::{self, Left, SkillFiles, read_pack};
use scorpiox_server::Workspace;
use scorpiox_server::skills::report;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, wrapped};

use super::library;

/// A skill with its files.
pub(super) struct Offered {
    /// Name of the skill.
    pub(super) name: String,
    pub(super) files: SkillFiles,
    pub(super) left_out: Left,
    /// Absolute path that the user named, for updates.
    pub(super) source: PathBuf,
}

/// Reads the skills of a folder, a repository or a pack: those with the names `wanted`, or all. Prints remarks
/// about those that are left out.
pub(super) fn offered(workspace: &Workspace, source: &Path, wanted: &[String]) -> Result<Vec<Offered>> {
    let (found, remarks) = found(workspace, source, wanted)?;
    terminal::print(&Shown::text(&remarks));
    Ok(found)
}

/// Like [`offered`], but returns the remarks.
pub(super) fn found(
    workspace: &Workspace,
    source: &Path,
    wanted: &[String],
) -> Result<(Vec<Offered>, String)> {
    let is_address =
        source.to_str().is_some_and(|source| source.contains("://") || source.starts_with("git@"));
    ensure!(
        !is_address,
        "skills are not downloaded; clone the repository first, then add its folder: git clone {}",
        source.display()
    );
    ensure!(
        source.exists(),
        "{} does not exist; name a skill's folder, a pack, or a repository with skills",
        source.display()
    );
    let source = dunce::canonicalize(source).with_context(|| source.display().to_string())?;
    let (found, remarks) = if source.is_dir() {
        in_folder(workspace, &source, wanted)?
    } else {
        (in_pack(source)?, String::new())
    };
    for name in wanted {
        if !found.iter().any(|skill| skill.name == *name) {
            let known: Vec<_> = found.iter().map(|skill| skill.name.as_str()).collect();
            bail!("there is no skill {name:?}; there are: {}", known.join(", "));
        }
    }
    Ok((found, remarks))
}

fn in_pack(source: PathBuf) -> Result<Vec<Offered>> {
    let (name, files) = read_pack(&source)?;
    Ok(vec![Offered { name, files, left_out: Left::new(), source }])
}

fn in_folder(workspace: &Workspace, source: &Path, wanted: &[String]) -> Result<(Vec<Offered>, String)> {
    let library = library(workspace, Some(workspace.skills().only(source)))?;
    let mut remarks = String::new();
    if wanted.is_empty() {
        for skipped in &library.catalogue.skipped {
            remark(&mut remarks, &format!("{} is left out: {}", skipped.path, skipped.reason));
        }
        for (file, why) in library.folders().beyond() {
            remark(&mut remarks, &format!("{} is left out: {why}", file.display()));
        }
        for fault in report::of_repository(&library, source) {
            remark(&mut remarks, &fault);
        }
    }
    let skills = &library.catalogue.skills;
    if skills.is_empty() {
        let folder = source.display();
        let check = scorpiox_text::argument(&folder.to_string()).unwrap_or_else(|| "FOLDER".to_owned());
        bail!("{folder} has no skill that can be used; `scorpiox-code skills check {check}` says why");
    }
    let known: Vec<_> = skills.iter().map(|skill| skill.name.as_str()).collect();
    if let Some(name) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("{} has no skill {name:?}; it has: {}", source.display(), known.join(", "));
    }
    let is_wanted = |name: &String| wanted.is_empty() || wanted.contains(name);
    let read = |name: &String, path: &Path| {
        let (files, left_out) = SkillFiles::read(path)?;
        Ok(Offered { name: name.clone(), files, left_out, source: source.to_owned() })
    };
    let chosen = skills.iter().filter(|skill| is_wanted(&skill.name));
    let found: Result<_> =
        chosen.filter_map(|skill| Some(read(&skill.name, &library.source(skill)?.path))).collect();
    Ok((found?, remarks))
}

/// Packs the skill in a folder.
pub(super) fn pack(workspace: &Workspace, folder: &Path, out: Option<&Path>) -> Result<()> {
    ensure!(folder.is_dir(), "{} is no folder; name the folder that the SKILL.md is in", folder.display());
    let found = dunce::canonicalize(folder).with_context(|| folder.display().to_string())?;
    let library = library(workspace, Some(workspace.skills().only(&found)))?;
    if let Some(skipped) = library.catalogue.skipped.first() {
        bail!("{}: {}", skipped.path, skipped.reason);
    }
    let is_it = |path: &Path| dunce::canonicalize(path).is_ok_and(|path| path == found);
    let skill = library
        .catalogue
        .skills
        .iter()
        .find(|skill| library.source(skill).is_some_and(|source| is_it(&source.path)));
    let skill = skill.with_context(|| format!("{} has no SKILL.md of its own", folder.display()))?;
    let (files, left_out) = SkillFiles::read(&found)?;
    skills::pack(&skill.name, (&files, &left_out), out)
}

/// Appends a sentence, with a hanging indent.
pub(super) fn remark(out: &mut String, text: &str) {
    let rows = wrapped(&text.replace('\n', " "), columns() - 4);
    out.push_str(&rows.join("\n  "));
    out.push('\n');
}
