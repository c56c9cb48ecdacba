//! Building blocks for implementations of [`Store`](crate::Store): the writer queue, value sizes seen by a
//! transaction, and quotas.

mod damage;
mod seen;
mod usages;
mod wait;

pub use damage::tell_damaged;
pub use seen::Seen;
pub use usages::{Usage, Usages};
pub use wait::{Turn, Writers, retry_while_locked};

pub use crate::transaction::check_sizes;
