//! Contents of a result in addition to the component's return value.

use super::contents::{self, RichContent};
use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use wasmtime::component::Linker;
use wit::Host;

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/attachments@0.1.0; }",
        imports: { default: trappable },
        additional_derives: [PartialEq, Eq],
    });
    pub use scorpiox::tool::{attachments::*, contents};
}

/// Types of contents, for all interfaces that return contents.
pub use wit::contents as wit_contents;

/// Contents attached by a call.
pub struct AttachmentsCtx {
    /// The contents, in order.
    pub attached: Vec<RichContent>,
    /// Total size of the contents in bytes.
    pub bytes: usize,
    /// Maximum total size in bytes.
    most: usize,
}

impl Provided for AttachmentsCtx {
    const NAME: &'static str = "attachments";
    const MAY: &'static str = "give sounds and documents with its results";

    fn new(_: &Setup, grantee: &Grantee<'_>) -> Self {
        Self { attached: Vec::new(), bytes: 0, most: grantee.output_bytes }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl Host for View<'_, AttachmentsCtx> {
    fn attach(&mut self, content: RichContent) -> wasmtime::Result<Result<(), String>> {
        self.call.function = "attach";
        if let Err(why) = contents::check(&content) {
            return Ok(self.refused(why));
        }
        let bytes = self.ctx.bytes.saturating_add(contents::bytes(&content));
        if bytes > self.ctx.most {
            let most = self.ctx.most;
            return Ok(self.refused(format!(
                "what is attached would have {bytes} bytes; {most} are the most of a call (limits.output_kib)"
            )));
        }
        self.ctx.bytes = bytes;
        self.ctx.attached.push(content);
        Ok(Ok(()))
    }
}

impl View<'_, AttachmentsCtx> {
    fn refused(&self, why: String) -> Result<(), String> {
        self.call.failed_because("attachments", &why);
        Err(why)
    }
}
