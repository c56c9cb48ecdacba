//! Lists the tools that a component would have as a plugin, by the rules of an installation without `plugin.toml`.

use std::collections::HashSet;
use std::fmt::Write as _;

use scorpiox_component_abi::anatomy::{Anatomy, Function};
use scorpiox_plugin::{PluginName, USUAL_TOOLS};
use scorpiox_runtime::{Exports, PROGRAM_TAKES, SERVICE_TAKES, is_service};
use scorpiox_terminal::{columns, one_line, rows, wrapped};
use scorpiox_tools::plugins::{own_comments, surplus};

use super::inspect::MAX_ROWS;

/// Maximum number of displayed functions that are no tools.
const MAX_REFUSED: usize = 100;
/// Prefix of functions that the host adds. They follow all others.
const DROP: &str = "[drop]";

/// Describes the tools of a component that lists none itself, as a plugin of this name.
pub(super) fn tools(anatomy: &Anatomy, plugin: &PluginName) -> String {
    let exports = Exports::of(
        anatomy.imports.iter().chain(&anatomy.types).map(String::as_str),
        anatomy.exports.iter().map(|export| export.name.as_str()),
    );
    let comments = own_comments(anatomy);
    let functions = || anatomy.functions().filter(|(of, _)| !of.is_some_and(Exports::is_passed_over));
    let (drops, own): (Vec<_>, Vec<_>) = functions().partition(|(_, of)| of.name.starts_with(DROP));
    let (mut taken, mut text) = (HashSet::new(), String::new());
    let (mut count, mut refused) = (0, 0);
    for (interface, function) in own.into_iter().chain(drops) {
        let name = if function.name.starts_with(DROP) {
            exports.dropping(interface, &function.name, |name| taken.contains(name))
        } else {
            exports.name(interface, &function.name)
        };
        let why = hindrance(&exports, interface, function)
            .or_else(|| {
                (!taken.insert(name.clone())).then(|| "another function has the same name".to_owned())
            })
            .or_else(|| {
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
            None => rows(&mut text, "    ", &function.wit, MAX_ROWS),
        }
        rows(&mut text, "    ", comments.get(&name).map_or("", String::as_str), MAX_ROWS);
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
