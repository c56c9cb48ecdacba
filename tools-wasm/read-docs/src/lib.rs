//! `ReadDocs`: converts a web page or a file to Markdown, text or clean HTML.
//!
//! The host transfers bytes and drives a browser if one is installed ([`Web`]). This crate interprets the
//! bytes inside the sandbox. Every call ends with a result or an error, whatever a server sends: sizes,
//! depths and counts are limited during parsing, and recursion is limited by the depth.

mod announced;
mod ask;
mod charset;
#[cfg(target_arch = "wasm32")]
mod component;
mod delimited;
mod document;
mod docx;
mod feed;
mod file;
mod html;
mod json;
mod kind;
mod kinds;
mod load;
mod markdown;
mod notebook;
mod openapi;
mod pages;
mod pdf;
mod report;
mod status;
mod tree;
mod twin;
mod value;
mod write;
mod xml;

use scorpiox_tool_kit::web::{Progress, Web};
use scorpiox_tool_kit::{Args, Client, Definition, Failure, Files, Hints, Output};

use ask::Ask;
pub use ask::Format;
pub use document::Document;
pub use html::{convert, convert_fragment};

/// Returns the tool definition.
pub fn definition() -> Definition {
    Definition {
        name: "ReadDocs",
        title: "Read page or file",
        description: "Fetch URL content as markdown via headless browser".to_owned(),
        input_schema: include_str!("input-schema.json"),
        output_schema: Some(include_str!("output-schema.json")),
        hints: Hints { read_only: true, destructive: false, idempotent: true, open_world: true },
    }
}

/// Handles a call.
pub fn call(
    web: &mut impl Web,
    progress: &mut impl Progress,
    files: &mut impl Files,
    client: &impl Client,
    arguments: &str,
) -> Result<Output, Failure> {
    let ask = Ask::read(&Args::parse(arguments)?)?;
    let loaded = match &ask.file {
        Some(file) => file::load(files, client, &ask, file)?,
        None => load::load(web, progress, client, &ask)?,
    };
    report::output(&ask, &loaded, client.room())
}
