//! Contents of a result beside what the component returns.

use super::contents::{self, RichContent};
use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use wasmtime::component::Linker;
use wit::Host;

/// What its WIT file generates.
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

/// The types of contents, for all that give some.
pub use wit::contents as wit_contents;

/// What was attached.
pub struct AttachmentsCtx {
    /// In order.
    pub attached: Vec<RichContent>,
    /// Their bytes.
    pub bytes: usize,
    /// Most of these.
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
        if let Err(why) = contents::check(&content) {
            return Ok(Err(why));
        }
        let bytes = self.ctx.bytes.saturating_add(contents::bytes(&content));
        if bytes > self.ctx.most {
            let most = self.ctx.most;
            return Ok(Err(format!(
                "what is attached would have {bytes} bytes; {most} are the most of a call (limits.output_kib)"
            )));
        }
        self.ctx.bytes = bytes;
        self.ctx.attached.push(content);
        Ok(Ok(()))
    }
}
