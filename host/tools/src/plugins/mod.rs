//! Plugins: components that others ship, as tools.
//!
//! [`describe`] says what a component is before anybody approved it, without giving it anything;
//! [`Plugins`] offers those that were approved, for as long as their files are what was approved.
//! Files and decisions are `scorpiox-plugin`'s.

mod bare;
mod choice;
mod comments;
mod definitions;
mod describe;
mod entry;
mod fit;
mod grants;
mod offer;
mod secrets;

pub use comments::{comments, name, own_comments};
pub use definitions::BadDefinition;
pub use describe::{Described, Undescribed, check_kind, describe};
pub use entry::{Offering, held_to, namespace, tools};
pub use fit::{Import, check_anatomy, import, notes, requests};
pub use grants::{Ungrantable, grants, limits, pins};
pub use offer::{NotThere, Plugins, candidate, signed};
pub use secrets::untried;
