//! List of all capabilities: the only module that knows all of them.
//!
//! Invariant: a component gets only the capabilities that its registration lists. They are added to its
//! linker individually; a component that imports more than it was granted cannot be instantiated.

use scorpiox_store::LazyTransaction;
use wasmtime::component::Linker;

use super::setup::{Grantee, Setup};
use super::view::{CallCtx, HasCtx, Provided, View};

/// Generates the list of capabilities, the contexts of a call, and a view of each.
macro_rules! assembly {
    ($($(#[$about:meta])* $variant:ident: $field:ident as $context:ty,)+) => {
        /// A permission that a component gets when it is linked with the capability's interface.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Capability {
            $($(#[$about])* $variant,)+
        }

        impl Capability {
            /// Returns the name of the capability, which is also the name of its WIT interface.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => <$context as Provided>::NAME,)+
                }
            }

            /// Describes the permission for users; the text follows "may".
            pub fn describe(self) -> &'static str {
                match self {
                    $(Self::$variant => <$context as Provided>::MAY,)+
                }
            }

            /// Adds the capability to a linker.
            pub fn add_to_linker<T: HasContexts>(self, linker: &mut Linker<T>) -> wasmtime::Result<()> {
                match self {
                    $(Self::$variant => <$context as Provided>::add_to_linker(linker),)+
                }
            }
        }

        /// Contexts of all capabilities, for one call. The linked interfaces determine which of them a guest
        /// can reach.
        pub struct Contexts {
            /// State of the call.
            pub call: CallCtx,
            $($(#[$about])* pub $field: $context,)+
        }

        impl Contexts {
            /// Creates the contexts of a new call.
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

/// State of a store that contains the contexts.
pub trait HasContexts: 'static {
    /// Returns the contexts.
    fn contexts(&mut self) -> &mut Contexts;
}

assembly! {
    /// Contents of a result in addition to the returned value.
    Attachments: attachments as super::attachments::AttachmentsCtx,
    /// The component's data in the workspace's store.
    Store: store as super::store::StoreCtx,
    /// The time of day.
    Clock: clock as super::clock::ClockCtx,
    /// Questions to the user.
    Ask: ask as super::ask::AskCtx,
    /// The maximum length of results, and the client's names for tools.
    Bounds: bounds as super::bounds::BoundsCtx,
    /// Requests to the client's model.
    Sampling: sampling as super::sampling::SamplingCtx,
    /// The operator's settings for search engines.
    Engines: engines as super::engines::EnginesCtx,
    /// Read access to files of the workspace and of granted folders.
    Files: files as super::files::FilesCtx,
    /// Approved requests to the client.
    Inputs: inputs as super::inputs::InputsCtx,
    /// Lines in the operator's log.
    Log: log as super::log::LogCtx,
    /// Notifications to the client during a call.
    Notices: notices as super::notices::NoticesCtx,
    /// Progress of a call.
    Progress: progress as super::progress::ProgressCtx,
    /// Commands, under the profile that the policy grants.
    Shell: shell as super::shell::ShellCtx,
    /// Read access to the files of skill folders.
    Skills: skills as super::skills::SkillsCtx,
    /// Timers, and messages that reach the client later.
    Timer: timer as super::timer::TimerCtx,
    /// Web pages, as far as the policy allows.
    Web: web as super::web::WebCtx,
}

impl Capability {
    /// Capabilities that cannot reach the user's data. A summary omits them.
    pub const MINOR: [Self; 6] =
        [Self::Attachments, Self::Clock, Self::Bounds, Self::Log, Self::Notices, Self::Progress];

    /// Powers that a component has only through a capability, with the capabilities that grant them.
    pub const POWERS: [(&str, &[Self]); 3] = [
        ("open files", &[Self::Files, Self::Skills]),
        ("start programs", &[Self::Shell]),
        ("reach the network", &[Self::Web]),
    ];
}
