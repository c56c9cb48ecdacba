//! The built-in tools, one line each.

use std::sync::Arc;
use std::time::Duration;

use super::{Kind, Marks, NativeTool, Tool, ask, shell};
use scorpiox_capabilities::Capability::{
    self, Bounds, Clock, Engines, Files, Progress, Skills, Store, Timer, Web,
};
use scorpiox_runtime::{Binary, Component, Limits};

const MIB: usize = 1024 * 1024;

/// A component that was compiled with this program, and its definitions.
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
    /// What the audit calls it.
    hash: &'static str,
    code: &'static [u8],
    definitions: &'static str,
}

impl Embedded {
    /// The tools of this component, which may do what `grants` lists.
    fn tools(&self, names: &[&'static str], grants: &'static [Capability]) -> Vec<Tool> {
        self.limited(names, grants, Limits::default())
    }

    /// The same, with a budget of its own for each call.
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

/// The same tools; a model is to know the first one from the start.
fn at_once(mut tools: Vec<Tool>) -> Vec<Tool> {
    if let Some(first) = tools.first_mut() {
        first.marks.at_once = true;
    }
    tools
}

/// The same tools, whose results are of use whole.
fn whole(mut tools: Vec<Tool>) -> Vec<Tool> {
    for tool in &mut tools {
        tool.marks.whole = true;
    }
    tools
}

/// The tools of this program, in the order they are listed.
pub fn builtin() -> Vec<Tool> {
    [
        at_once(native("Bash", shell::Bash)),
        at_once(whole(embedded!("read-image").limited(
            &["ReadImage"],
            &[Files],
            // A hundred megapixels are read row by row.
            Limits {
                cpu: Duration::from_secs(15),
                memory_bytes: 256 * MIB,
                output_bytes: 2 * MIB,
                ..Limits::default()
            },
        ))),
        at_once(whole(embedded!("read-docs").limited(
            &["ReadDocs"],
            &[Web, Progress, Bounds],
            Limits { cpu: Duration::from_secs(10), memory_bytes: 192 * MIB, ..Limits::default() },
        ))),
        at_once(embedded!("web-search").limited(
            &["WebSearch"],
            &[Web, Engines, Progress, Store, Clock, Bounds],
            // Eleven pages are read, each of some megabytes at most.
            Limits { cpu: Duration::from_secs(10), memory_bytes: 128 * MIB, ..Limits::default() },
        )),
        at_once(embedded!("task-manager").tools(&["TaskManager"], &[Store, Clock, Bounds])),
        at_once(embedded!("plan-mode").tools(&["PlanMode"], &[Store, Clock, Bounds])),
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
