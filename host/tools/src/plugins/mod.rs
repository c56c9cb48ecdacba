//! Plugins: external components as tools.
//!
//! [`describe`] inspects a component before its approval, without granting it anything. [`Plugins`] offers
//! the approved plugins, as long as their files match the approval. Files and decisions belong to
//! `scorpiox-plugin`.

mod bare;
mod choice;
mod comments;
mod definitions;
mod describe;
mod entry;
mod fit;
mod grants;
mod offer;
mod schema;
mod secrets;

pub use comments::{comments, exported, name, own_comments};
pub use definitions::{BadDefinition, surplus};
pub use describe::{Described, Undescribed, check_kind, describe};
pub use entry::{Offering, held_to, tools};
pub use fit::{Import, check_anatomy, check_exports, import, notes, requests};
pub use grants::{Ungrantable, grants, limits, pins};
pub use offer::{NotThere, Plugins, candidate, signed};
pub use schema::schema_faults;
pub use secrets::{OF_TRIAL, untried};
