//! Lists the tools that a component would have as a plugin, by the rules of an installation without `plugin.toml`.

use std::fmt::Write as _;

use scorpiox_component_abi::anatomy::{Anatomy, Function};
use scorpiox_plugin::{PluginName, USUAL_TOOLS};
use scorpiox_runtime::{DROP_SAID, Exports, PROGRAM_TAKES, SERVICE_TAKES, TAKEN, ToolNames, is_service};
use scorpiox_terminal::{columns, one_line, rows, wrapped};
use scorpiox_tools::plugins::{own_comments, surplus};

use super::inspect::MAX_ROWS;

/// Maximum number of displayed functions that are no tools.
const MAX_REFUSED: usize = 100;

/// A function of a component, named as an installation names it.
pub(super) struct Named<'a> {
    pub(super) name: String,
    interface: Option<&'a str>,
    /// Type in WIT.
    wit: String,
    /// `true` if the host adds the function, which drops a resource.
    is_drop: bool,
    /// Reason why the function cannot be a tool, whatever the plugin is named.
    pub(super) unfit: Option<String>,
}

/// Names the functions of a component that lists no tools itself.
pub(super) fn named(anatomy: &Anatomy) -> Vec<Named<'_>> {
    let exports = exports_of(anatomy);
    let (mut taken, mut given, mut all) = (ToolNames::default(), Vec::new(), Vec::new());
    for (interface, function) in anatomy.functions() {
        if interface.is_some_and(Exports::is_passed_over) {
            continue;
        }
        let name = exports.name(interface, &function.name);
        let unfit = hindrance(&exports, interface, function)
            .or_else(|| (!taken.take(&name)).then(|| TAKEN.to_owned()));
        if unfit.is_none() {
            given.extend(&function.gives);
        }
        all.push(Named { name, interface, wit: function.wit.clone(), is_drop: false, unfit });
    }
    let resources = || anatomy.resources.iter().map(|own| (own.interface.as_deref(), own.name.as_str()));
    for (index, name) in taken.drops(resources(), |index| given.contains(&index)) {
        let own = &anatomy.resources[index];
        let wit = format!("func(self: {})", own.name);
        all.push(Named { name, interface: own.interface.as_deref(), wit, is_drop: true, unfit: None });
    }
    all
}

fn exports_of(anatomy: &Anatomy) -> Exports {
    Exports::of(
        anatomy.imports.iter().chain(&anatomy.types).map(String::as_str),
        anatomy.exports.iter().map(|export| export.name.as_str()),
    )
}

/// Describes the tools of a component that lists none itself, as a plugin of this name.
pub(super) fn tools(anatomy: &Anatomy, plugin: &PluginName) -> String {
    let (exports, comments) = (exports_of(anatomy), own_comments(anatomy));
    let mut text = String::new();
    let (mut count, mut refused) = (0, 0);
    for Named { name, interface, wit, is_drop, unfit } in named(anatomy) {
        let why = unfit.or_else(|| {
            (!plugin.fits_tool(&name)).then(|| format!("{}; see `rename`", plugin.tool_name_rule()))
        });
        let (counter, most) =
            if why.is_some() { (&mut refused, MAX_REFUSED) } else { (&mut count, USUAL_TOOLS) };
        *counter += 1;
        if *counter > most {
            continue;
        }
        text.push_str(if text.is_empty() { "\nIts tools\n" } else { "" });
        let _ = writeln!(text, "  {}", one_line(&name, columns().saturating_sub(2)));
        match interface.and_then(|interface| takes(&exports, interface)) {
            Some(own) => {
                let rows = wrapped(own, columns().saturating_sub(4)).join("\n    ");
                let _ = writeln!(text, "    {rows}");
            }
            None => rows(&mut text, "    ", &wit, MAX_ROWS),
        }
        let said = if is_drop { DROP_SAID } else { comments.get(&name).map_or("", String::as_str) };
        rows(&mut text, "    ", said, MAX_ROWS);
        if let Some(why) = why {
            let why = format!("cannot be a tool: {why}");
            let _ = writeln!(text, "    {}", wrapped(&why, columns().saturating_sub(6)).join("\n      "));
        }
    }
    if refused > MAX_REFUSED {
        let _ = writeln!(text, "  and {} more that cannot be tools", refused - MAX_REFUSED);
    }
    if let Some(more) = surplus(count, USUAL_TOOLS) {
        let _ = writeln!(text, "  {}", wrapped(&more, columns().saturating_sub(4)).join("\n    "));
    }
    text
}

/// Returns the reason why a function cannot be a tool, if its type or its interface determines that.
fn hindrance(exports: &Exports, interface: Option<&str>, function: &Function) -> Option<String> {
    if interface.is_some_and(|interface| exports.is_older(interface)) {
        return Some(
            "the component has the same for a newer WASI; `select` in plugin.toml can name this one"
                .to_owned(),
        );
    }
    // For a service, this program defines the parameters and the result of the tool.
    function.unfit.clone().filter(|_| !interface.is_some_and(is_service))
}

/// Describes the parameters of a tool whose interface this program calls by its own convention.
fn takes(exports: &Exports, interface: &str) -> Option<&'static str> {
    match interface {
        program if exports.is_program(program) => Some(PROGRAM_TAKES),
        service if exports.is_service(service) => Some(SERVICE_TAKES),
        _ => None,
    }
}
