//! Doc comments of WIT as tool descriptions.
//!
//! Not every language toolchain keeps the comments in the component, so they are read from the WIT next to
//! it. This module reads the files; the compiler crate parses them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use scorpiox_component_abi::anatomy::{Anatomy, Comment};
use scorpiox_plugin::read_file;
use scorpiox_runtime::compile::Package;

use scorpiox_runtime::{SERVICE_TOOL, function_name, is_program, is_service, tool_name};

/// Maximum total size and number of WIT files. The WIT of all of WASI has a tenth of the size.
const MAX_BYTES: usize = 4 * 1024 * 1024;
const MAX_FILES: usize = 1000;

/// Returns the comments of the functions that the worlds in a WIT directory or file export, by tool name.
pub fn comments(wit: &Path) -> Result<BTreeMap<String, String>> {
    let found = scorpiox_runtime::compile::comments(&packages(wit)?, || false)?;
    Ok(found.into_iter().map(named).collect())
}

/// Returns the comments that a component itself contains for its exported functions, by tool name.
pub fn own_comments(anatomy: &Anatomy) -> BTreeMap<String, String> {
    let exported = exported(anatomy);
    let mut comments = BTreeMap::new();
    for (name, text) in
        anatomy.comments.iter().cloned().map(named).filter(|(name, _)| exported.contains(name))
    {
        // The first comment belongs to the world, which is the closest to the component.
        comments.entry(name).or_insert(text);
    }
    comments
}

/// Returns the default tool names of the exported functions.
pub fn exported(anatomy: &Anatomy) -> Vec<String> {
    anatomy.functions().map(|(interface, function)| name(interface, &function.name)).collect()
}

fn named(comment: Comment) -> (String, String) {
    (name(comment.interface.as_deref(), &comment.function), comment.text)
}

/// Returns the default tool name of an exported function, without renaming by `plugin.toml`.
pub fn name(interface: Option<&str>, function: &str) -> String {
    match interface {
        Some(interface) if is_program(interface) => "run".to_owned(),
        Some(interface) if is_service(interface) => SERVICE_TOOL.to_owned(),
        Some(interface) => tool_name(interface, function),
        None => function_name(function),
    }
}

/// Returns the directory's own package and its dependencies in `deps`, which are directories or single files. A
/// single file is a package of its own.
fn packages(wit: &Path) -> Result<Vec<Package>> {
    let mut reading = Reading::default();
    if wit.is_file() {
        return Ok(vec![vec![reading.file(wit)?]]);
    }
    let mut packages = vec![reading.folder(wit)?];
    let deps = wit.join("deps");
    if deps.is_dir() {
        for path in entries(&deps)? {
            if path.is_dir() {
                packages.push(reading.folder(&path)?);
            } else if is_wit(&path) {
                packages.push(vec![reading.file(&path)?]);
            }
        }
    }
    Ok(packages)
}

/// Totals of the files read so far.
#[derive(Default)]
struct Reading {
    bytes: usize,
    files: usize,
}

impl Reading {
    fn folder(&mut self, folder: &Path) -> Result<Package> {
        let files = entries(folder)?.into_iter().filter(|path| path.is_file() && is_wit(path));
        files.map(|path| self.file(&path)).collect()
    }

    fn file(&mut self, path: &Path) -> Result<(String, String)> {
        let said = || path.display().to_string();
        self.files += 1;
        ensure!(self.files <= MAX_FILES, "there are more than {MAX_FILES} files of WIT");
        let bytes = read_file(path, (MAX_BYTES - self.bytes) as u64).with_context(said)?;
        self.bytes += bytes.len();
        Ok((said(), String::from_utf8(bytes).with_context(said)?))
    }
}

fn is_wit(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("wit"))
}

/// Returns the paths in a directory, in a stable order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let found: Result<Vec<_>, _> = fs::read_dir(folder).and_then(Iterator::collect);
    let found: Vec<fs::DirEntry> = found.with_context(|| folder.display().to_string())?;
    let mut paths: Vec<_> = found.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use scorpiox_component_abi::anatomy::{Export, Function};

    use super::*;

    #[test]
    fn comments_have_the_names_of_tools() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("creates");
            fs::write(path, text).expect("writes");
        };
        put(
            "sums.wit",
            "package a:b@1.0.0;\ninterface sums {\n use c:d/types.{n};\n use e:f/types.{m};\n /// Adds.\n add: func(a: n) -> m;\n }",
        );
        put(
            "all.wit",
            "world all {\n export sums;\n /// Says hello.\n ///\n /// Loudly.\n export greet: func();\n }",
        );
        put("deps/cd/types.wit", "package c:d;\ninterface types { type n = u32; }");
        put("deps/ef.wit", "package e:f;\ninterface types { type m = u32; }");
        put("deps/read.me", "nothing");
        let expected = [("greet", "Says hello.\n\nLoudly."), ("sums.add", "Adds.")];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(comments(folder.path()).expect("comments"), expected.into());
        put("other/one.wit", "package g:h;\nworld one {\n /// Waves.\n export wave: func();\n }");
        let expected = [("wave".to_owned(), "Waves.".to_owned())];
        assert_eq!(comments(&folder.path().join("other/one.wit")).expect("comments"), expected.into());
    }

    #[test]
    fn a_component_has_comments_of_what_it_exports() {
        let comment = |interface: Option<&str>, function: &str, text: &str| Comment {
            interface: interface.map(str::to_owned),
            function: function.to_owned(),
            text: text.to_owned(),
        };
        let function = |name: &str| Function {
            name: name.to_owned(),
            wit: "func()".to_owned(),
            unfit: None,
            gives: Vec::new(),
        };
        let export = |name: &str, kind: &str, functions| Export {
            name: name.to_owned(),
            kind: kind.to_owned(),
            functions,
        };
        let anatomy = Anatomy {
            exports: vec![
                export("greet", "func", vec![function("greet")]),
                export("a:b/sums@1.0.0", "instance", vec![function("add")]),
            ],
            comments: vec![
                comment(None, "greet", "Says hello."),
                comment(None, "imported", "Not of this one."),
                comment(Some("sums"), "add", "Adds."),
                comment(Some("sums"), "add", "Something else."),
            ],
            ..Anatomy::default()
        };
        let expected = [("greet", "Says hello."), ("sums.add", "Adds.")];
        assert_eq!(
            own_comments(&anatomy),
            expected.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
        );
        assert_eq!(name(Some("wasi:cli/run@0.2.0"), "run"), "run");
        assert_eq!(name(Some("wasi:http/incoming-handler@0.2.3"), "handle"), "request");
    }

    #[test]
    fn wit_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(comments(&folder.path().join("none")).is_err());
        fs::write(folder.path().join("world.wit"), "nothing").expect("writes");
        let error = comments(folder.path()).expect_err("an error").to_string();
        assert!(error.contains("world.wit"), "{error}");
        fs::write(folder.path().join("large.wit"), vec![b' '; MAX_BYTES + 1]).expect("writes");
        assert!(comments(folder.path()).is_err());
    }
}
