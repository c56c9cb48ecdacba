//! Which capabilities there are: the one place that knows all of them.
//!
//! Invariant: a component gets the capabilities its registration lists and no others. They are put into its
//! linker one by one; a component that imports more than it was granted cannot be instantiated.

use scorpiox_store::LazyTransaction;
use wasmtime::component::Linker;

use super::setup::{Grantee, Setup};
use super::view::{CallCtx, HasCtx, Provided, View};

/// Makes the list of capabilities, the contexts of a call, and a view of each.
macro_rules! assembly {
    ($($(#[$about:meta])* $variant:ident: $field:ident as $context:ty,)+) => {
        /// A right that a component is given by being linked with it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Capability {
            $($(#[$about])* $variant,)+
        }

        impl Capability {
            /// Its name, which is its WIT interface's.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => <$context as Provided>::NAME,)+
                }
            }

            /// What it allows, for people: it follows "may".
            pub fn describe(self) -> &'static str {
                match self {
                    $(Self::$variant => <$context as Provided>::MAY,)+
                }
            }

            /// Puts it into a linker.
            pub fn add_to_linker<T: HasContexts>(self, linker: &mut Linker<T>) -> wasmtime::Result<()> {
                match self {
                    $(Self::$variant => <$context as Provided>::add_to_linker(linker),)+
                }
            }
        }

        /// The contexts of all capabilities, for one call. Which of them a guest can reach is decided by
        /// what is linked to it.
        pub struct Contexts {
            /// The call.
            pub call: CallCtx,
            $($(#[$about])* pub $field: $context,)+
        }

        impl Contexts {
            /// Those of a call that begins now.
            pub fn new(setup: &Setup, grantee: &Grantee<'_>, transaction: LazyTransaction) -> Self {
                Self {
                    call: CallCtx::new(setup, grantee, transaction),
                    $($field: <$context as Provided>::new(setup, grantee),)+
                }
            }
        }

        $(impl<T: HasContexts> HasCtx<$context> for T {
            fn view(&mut self) -> View<'_, $context> {
                let contexts = self.contexts();
                View { ctx: &mut contexts.$field, call: &mut contexts.call }
            }
        })+
    };
}

/// The state of a store that holds the contexts.
pub trait HasContexts: 'static {
    /// Them.
    fn contexts(&mut self) -> &mut Contexts;
}

assembly! {
    /// Contents of results beside what is returned.
    Attachments: attachments as super::attachments::AttachmentsCtx,
    /// Its own data in the workspace's store.
    Store: store as super::store::StoreCtx,
    /// The time of day.
    Clock: clock as super::clock::ClockCtx,
    /// Questions to the person.
    Ask: ask as super::ask::AskCtx,
    /// How long results may be, and what the client calls tools.
    Bounds: bounds as super::bounds::BoundsCtx,
    /// Questions to the client's model.
    Sampling: sampling as super::sampling::SamplingCtx,
    /// What the operator set about search engines.
    Engines: engines as super::engines::EnginesCtx,
    /// Files of the workspace and of granted folders, to read.
    Files: files as super::files::FilesCtx,
    /// Requests to the client, as far as they were approved.
    Inputs: inputs as super::inputs::InputsCtx,
    /// Lines in the operator's log.
    Log: log as super::log::LogCtx,
    /// What the client is told meanwhile.
    Notices: notices as super::notices::NoticesCtx,
    /// Telling how far a call is.
    Progress: progress as super::progress::ProgressCtx,
    /// Commands, under the profile that the policy grants.
    Shell: shell as super::shell::ShellCtx,
    /// The skill folders' files, to read.
    Skills: skills as super::skills::SkillsCtx,
    /// Timers, and messages that reach the client later.
    Timer: timer as super::timer::TimerCtx,
    /// Pages, as far as the policy allows.
    Web: web as super::web::WebCtx,
}

impl Capability {
    /// What no component can do without a capability, and which gives it.
    pub const POWERS: [(&str, &[Self]); 3] = [
        ("open files", &[Self::Files, Self::Skills]),
        ("start programs", &[Self::Shell]),
        ("reach the network", &[Self::Web]),
    ];
}
