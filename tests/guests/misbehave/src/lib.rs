//! Component in which each tool commits one violation of the rules for tools.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package scorpiox:test;
        world misbehave {
            import scorpiox:tool/store@0.1.0;
            import scorpiox:tool/log@0.1.0;
            export scorpiox:tool/tool@0.1.0;
        }
    ",
    world: "scorpiox:test/misbehave",
    generate_all,
});

use exports::scorpiox::tool::tool::{Guest, ToolDefinition, ToolError, ToolResult};
use scorpiox::tool::types::Content;
use scorpiox::tool::{log, store};

struct Misbehave;

/// State that leaks into the next call unless instances are separate.
static mut LEFT_BEHIND: u32 = 0;

impl Guest for Misbehave {
    fn list_tools() -> Vec<ToolDefinition> {
        Vec::new()
    }

    fn call(name: String, arguments: String) -> Result<ToolResult, ToolError> {
        match name.as_str() {
            "echo" => text(arguments),
            "loop" => loop {
                std::hint::black_box(());
            },
            "allocate" => {
                let mut kept = Vec::new();
                loop {
                    kept.push(vec![1u8; 1024 * 1024]);
                }
            }
            "recurse" => text(recurse(1).to_string()),
            "trap" => std::process::abort(),
            "panic" => panic!("on purpose"),
            "store-then-trap" => {
                set("trap", "written");
                std::process::abort()
            }
            "store-then-fail" => {
                set("fail", "written");
                Err(ToolError::Failed("on purpose".to_owned()))
            }
            "store-then-loop" => {
                set("loop", "written");
                loop {
                    std::hint::black_box(());
                }
            }
            "fill-store" => fill_store(),
            "get" => {
                let value = store::get(&arguments).map_err(|e| ToolError::Failed(format!("{e:?}")))?;
                text(value.map_or("nothing".to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned()))
            }
            "set" => {
                set("key", &arguments);
                text("stored".to_owned())
            }
            "uncaught" => {
                store::set(&arguments, &[]).expect("it is stored");
                text("stored".to_owned())
            }
            "increment" => {
                let sum = store::increment("counter", 1).map_err(|e| ToolError::Failed(format!("{e:?}")))?;
                text(sum.to_string())
            }
            "output" => {
                let bytes: usize = arguments.parse().unwrap_or(0);
                text("x".repeat(bytes))
            }
            "log" => {
                for line in 0..1000 {
                    log::write(log::Level::Warn, &format!("line {line} \u{1b}[31m{}", "y".repeat(10_000)));
                }
                text("logged".to_owned())
            }
            "remember" => {
                // SAFETY: a component runs on one thread.
                unsafe { LEFT_BEHIND += 1 };
                text(unsafe { LEFT_BEHIND }.to_string())
            }
            other => Err(ToolError::NotFound(format!("no fault {other}"))),
        }
    }
}

fn text(text: String) -> Result<ToolResult, ToolError> {
    Ok(ToolResult { content: vec![Content::Text(text)], structured: None })
}

fn set(key: &str, value: &str) {
    let _ = store::set(key, value.as_bytes());
}

/// Writes until the quota is exceeded, and reports the error.
fn fill_store() -> Result<ToolResult, ToolError> {
    let value = vec![7u8; 100_000];
    for at in 0..100_000 {
        if let Err(error) = store::set(&format!("fill/{at}"), &value) {
            return Err(ToolError::Failed(format!("{error:?} after {at}")));
        }
    }
    text("never full".to_owned())
}

#[allow(unconditional_recursion)]
fn recurse(depth: u64) -> u64 {
    std::hint::black_box(depth) + recurse(depth + 1)
}

export!(Misbehave);
