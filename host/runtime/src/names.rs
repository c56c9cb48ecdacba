//! Derives tool names from the names of a component's exports.

use std::collections::HashSet;

use super::offers::is_offer;
use super::program::is_program;
use super::service::{self, is_service};
use scorpiox_wasi::{is_newer, is_wasi};

/// Tool name of a program.
const PROGRAM_TOOL: &str = "run";

/// Prefix of a function that drops a resource. WIT has no such name; the host adds the function for each
/// resource.
const DROP: &str = "[drop]";

/// Exports of a component that influence each other's names.
pub struct Exports {
    /// `true` if the component uses WASI, which programs and services need.
    has_wasi: bool,
    /// Names of the exported programs and services.
    of_wasi: Vec<String>,
}

impl Exports {
    /// Collects the exports that affect names.
    pub fn of<'a>(
        mut imports: impl Iterator<Item = &'a str>,
        exports: impl Iterator<Item = &'a str>,
    ) -> Self {
        let exports: Vec<_> = exports.collect();
        // Exports of WASI 0.3 are asynchronous, regardless of the imports.
        let has_wasi = imports.any(is_wasi) || exports.iter().any(|name| is_newer(name));
        let of_wasi = exports.into_iter().filter(|name| is_program(name) || is_service(name));
        Self { has_wasi, of_wasi: of_wasi.map(str::to_owned).collect() }
    }

    /// Reports whether an export is a program, which is called with command-line arguments.
    pub fn is_program(&self, export: &str) -> bool {
        self.has_wasi && is_program(export)
    }

    /// Reports whether an export is a service, which is called with an HTTP request.
    pub fn is_service(&self, export: &str) -> bool {
        self.has_wasi && is_service(export)
    }

    /// Reports whether an interface contains no tools. These are the interfaces for prompts, resources and
    /// completion, and the one that componentize-py uses to start its interpreter at build time.
    pub fn is_passed_over(export: &str) -> bool {
        is_offer(export) || export == "exports"
    }

    /// Returns the tool name of a function.
    pub fn name(&self, interface: Option<&str>, function: &str) -> String {
        let Some(interface) = interface else { return function_name(function) };
        let own = match interface {
            program if self.is_program(program) => PROGRAM_TOOL,
            service if self.is_service(service) => service::NAME,
            other => return tool_name(other, function),
        };
        if self.is_older(interface) { format!("{own}-{}", release(interface)) } else { own.to_owned() }
    }

    /// Reports whether `export` is a program or a service that the component also exports for a newer WASI.
    pub fn is_older(&self, export: &str) -> bool {
        let same = self.of_wasi.iter().filter(|other| is_program(other) == is_program(export));
        self.of_wasi.iter().any(|own| own == export)
            && same.into_iter().any(|other| version(other) > version(export))
    }
}

/// Names of a component's tools: no two tools have the same name. An installation and an inspection both name
/// tools with it, so that they list the same.
#[derive(Default)]
pub struct ToolNames(HashSet<String>);

impl ToolNames {
    /// Reserves the name of an exported function that can be a tool. Returns `false` if another function has
    /// it.
    pub fn take(&mut self, name: &str) -> bool {
        self.0.insert(name.to_owned())
    }

    /// Names the tools that drop resources, for each resource of which a tool returns handles: `is_given` says
    /// so by its position in `resources`, which are pairs of an interface and a name. All functions must have
    /// their names already, because a function named `drop` keeps its name.
    pub fn drops<'r>(
        &mut self,
        resources: impl IntoIterator<Item = (Option<&'r str>, &'r str)>,
        is_given: impl Fn(usize) -> bool,
    ) -> Vec<(usize, String)> {
        let given = resources.into_iter().enumerate().filter(|(index, _)| is_given(*index));
        given.map(|(index, (interface, resource))| (index, self.drop_name(interface, resource))).collect()
    }

    /// Reserves the name of the tool that drops a resource.
    fn drop_name(&mut self, interface: Option<&str>, resource: &str) -> String {
        let function = format!("{DROP}{resource}");
        let name =
            interface.map_or_else(|| function_name(&function), |interface| tool_name(interface, &function));
        let others = (1_u32..).map(|n| match n {
            1 => format!("{name}-handle"),
            n => format!("{name}-handle-{n}"),
        });
        let mut names = std::iter::once(name.clone()).chain(others);
        names.find(|name| self.take(name)).unwrap_or(name)
    }
}

/// Returns the version of an export in comparable form: a draft precedes each release.
fn version(export: &str) -> (bool, Vec<u64>) {
    let version = export.split_once('@').map_or("", |(_, version)| version);
    let numbers = version.split(['.', '-', '+']).map_while(|number| number.parse().ok());
    (!version.contains('-'), numbers.collect())
}

/// Returns the WASI release that an export belongs to, such as `0.2`.
fn release(export: &str) -> String {
    version(export).1.iter().take(2).map(u64::to_string).collect::<Vec<_>>().join(".")
}

/// Returns the tool name of an interface's function.
pub fn tool_name(interface: &str, function: &str) -> String {
    format!("{}.{}", short_name(interface), function_name(function))
}

/// Returns the tool name of a function without its interface. Names of a resource's functions begin with the
/// resource.
pub fn function_name(function: &str) -> String {
    let Some((kind, name)) = function.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return function.to_owned();
    };
    match kind {
        "constructor" => format!("{name}.new"),
        "drop" => format!("{name}.drop"),
        _ => name.to_owned(),
    }
}

/// Returns the short name of an interface: `add` for `docs:adder/add@0.1.0`.
fn short_name(interface: &str) -> &str {
    let name = interface.rsplit_once('/').map_or(interface, |(_, name)| name);
    name.split_once('@').map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(imports: &[&str], exports: &[&str]) -> Vec<String> {
        let known = Exports::of(imports.iter().copied(), exports.iter().copied());
        exports.iter().map(|export| known.name(Some(export), "run")).collect()
    }

    #[test]
    fn interfaces_have_short_names() {
        let names = ["docs:adder/add@0.1.0", "wasi:cli/run@0.2.3", "plain"].map(short_name);
        assert_eq!(names, ["add", "run", "plain"]);
    }

    #[test]
    fn functions_of_resources_begin_with_its_name() {
        let names =
            ["[constructor]counter", "[method]counter.add", "[static]counter.merge", "[drop]counter", "add"];
        assert_eq!(
            names.map(|name| tool_name("a:b/c@1.0.0", name)),
            ["c.counter.new", "c.counter.add", "c.counter.merge", "c.counter.drop", "c.add"]
        );
        assert_eq!(dropping(&[], (None, "counter")), "counter.drop");
    }

    fn dropping(taken: &[&str], resource: (Option<&str>, &str)) -> String {
        let mut names = ToolNames::default();
        assert!(taken.iter().all(|name| names.take(name)));
        names.drops([resource], |_| true).remove(0).1
    }

    #[test]
    fn a_function_keeps_its_name_and_letting_go_has_another_one() {
        let taken = ["c.counter.drop", "c.counter.drop-handle"];
        let name = |taken: &[&str]| dropping(taken, (Some("a:b/c"), "counter"));
        assert_eq!(name(&taken[..0]), "c.counter.drop");
        assert_eq!(name(&taken[..1]), "c.counter.drop-handle");
        assert_eq!(name(&taken), "c.counter.drop-handle-2");
    }

    #[test]
    fn only_resources_that_a_tool_gives_are_let_go_of_each_by_its_own_tool() {
        let resources = [(Some("a:b/c"), "one"), (Some("a:b/c"), "two"), (Some("d:e/c"), "one")];
        assert_eq!(
            ToolNames::default().drops(resources, |index| index != 1),
            [(0, "c.one.drop".to_owned()), (2, "c.one.drop-handle".to_owned())]
        );
    }

    #[test]
    fn the_newest_program_is_run_whatever_stands_first() {
        let wasi = ["wasi:cli/stdout@0.2.3"];
        let both = ["wasi:cli/run@0.2.3", "wasi:cli/run@0.3.0"];
        assert_eq!(names(&wasi, &both), ["run-0.2", "run"]);
        assert_eq!(names(&wasi, &["wasi:cli/run@0.3.0", "wasi:cli/run@0.2.10"]), ["run", "run-0.2"]);
        assert_eq!(names(&wasi, &["wasi:cli/run@0.2.10", "wasi:cli/run@0.2.9"]), ["run", "run-0.2"]);
        assert_eq!(
            names(&wasi, &["wasi:cli/run@0.2.0", "wasi:cli/run@0.3.0-rc-2026-01-01"]),
            ["run", "run-0.3"],
            "a draft is older than each release"
        );
        let services = ["wasi:http/incoming-handler@0.2.0", "wasi:http/handler@0.3.0", "wasi:cli/run@0.2.0"];
        assert_eq!(names(&[], &services), ["request-0.2", "request", "run"]);
        // Without WASI, it is an ordinary interface.
        assert_eq!(names(&["a:b/c"], &["wasi:cli/run@0.2.3"]), ["run.run"]);
    }
}
