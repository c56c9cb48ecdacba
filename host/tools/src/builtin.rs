//! The built-in tools, one line each.

use std::sync::Arc;
use std::time::Duration;

use super::{Kind, Marks, NativeTool, Tool, ask, shell};
use scorpiox_capabilities::Capability::{
    self, Bounds, Clock, Engines, Files, Progress, Skills, Store, Timer, Web,
};
use scorpiox_runtime::{Binary, Component, Limits};

const MIB: usize = 1024 * 1024;

/// Embeds a component that was compiled with this program, and its definitions.
macro_rules! embedded {
    ($name:literal) => {
        Embedded {
            name: $name,
            hash: concat!("built-in:", env!(concat!("SCORPIOX_HASH_", $name))),
            code: include_bytes!(concat!(env!("SCORPIOX_COMPONENTS"), "/", $name, ".cwasm")),
            definitions: include_str!(concat!(env!("SCORPIOX_COMPONENTS"), "/", $name, ".tools.json")),
        }
    };
}

struct Embedded {
    name: &'static str,
    /// Component hash for the audit.
    hash: &'static str,
    code: &'static [u8],
    definitions: &'static str,
}

impl Embedded {
    /// Returns the tools of this component, with these grants.
    fn tools(&self, names: &[&'static str], grants: &'static [Capability]) -> Vec<Tool> {
        self.limited(names, grants, Limits::default())
    }

    /// Returns the tools with custom limits for each call.
    fn limited(&self, names: &[&'static str], grants: &'static [Capability], limits: Limits) -> Vec<Tool> {
        let mut component = Component::new(self.name, Binary::Precompiled(self.code), grants);
        component.limits = limits;
        component.built_in = self.hash;
        let component = Arc::new(component);
        let tool = |(at, name): (usize, &&'static str)| Tool {
            name: (*name).into(),
            kind: Kind::Wasm {
                component: Arc::clone(&component),
                definitions: self.definitions,
                conditional: at > 0,
            },
            marks: Marks::default(),
        };
        names.iter().enumerate().map(tool).collect()
    }
}

fn native(name: &'static str, tool: impl NativeTool + 'static) -> Vec<Tool> {
    vec![Tool { name: name.into(), kind: Kind::Native(Arc::new(tool)), marks: Marks::default() }]
}

/// Marks the first tool as one that a model should know from the start.
fn at_once(mut tools: Vec<Tool>) -> Vec<Tool> {
    if let Some(first) = tools.first_mut() {
        first.marks.at_once = true;
    }
    tools
}

/// Marks the tools as ones whose results should reach the model completely.
fn whole(mut tools: Vec<Tool>) -> Vec<Tool> {
    for tool in &mut tools {
        tool.marks.whole = true;
    }
    tools
}

/// Returns the built-in tools in listing order.
pub fn builtin() -> Vec<Tool> {
    [
        at_once(native("Bash", shell::Bash)),
        at_once(whole(embedded!("read-image").limited(
            &["ReadImage"],
            &[Files],
            // An image of a hundred megapixels is decoded row by row.
            Limits {
                cpu: Duration::from_secs(15),
                memory_bytes: 256 * MIB,
                output_bytes: 2 * MIB,
                ..Limits::default()
            },
        ))),
        at_once(whole(embedded!("read-docs").limited(
            &["ReadDocs"],
            &[Web, Files, Progress, Bounds],
            Limits { cpu: Duration::from_secs(10), memory_bytes: 192 * MIB, ..Limits::default() },
        ))),
        at_once(embedded!("web-search").limited(
            &["WebSearch"],
            &[Web, Engines, Progress, Store, Clock, Bounds],
            // A search reads eleven pages of a few megabytes each at most.
            Limits { cpu: Duration::from_secs(10), memory_bytes: 128 * MIB, ..Limits::default() },
        )),
        at_once(embedded!("task-manager").tools(&["TaskManager"], &[Store, Clock, Bounds])),
        at_once(embedded!("plan-mode").tools(&["PlanMode"], &[Store, Clock, Files, Bounds])),
        at_once(native("AskUserQuestion", ask::AskUserQuestion)),
        at_once(embedded!("invoke-skill").tools(&["InvokeSkill", "SearchSkills"], &[Skills, Bounds])),
        native("BackgroundBash", shell::BackgroundBash),
        native("ReadBgOutput", shell::ReadBgOutput),
        native("ListBgTasks", shell::ListBgTasks),
        native("KillBgTask", shell::KillBgTask),
        embedded!("set-callback").tools(&["SetCallback"], &[Store, Clock, Timer]),
    ]
    .into_iter()
    .flatten()
    .collect()
}
