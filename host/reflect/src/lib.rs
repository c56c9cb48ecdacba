//! Functions of any component as tools.
//!
//! [`Shape`] is a type of the component model as far as JSON can carry it. From it come the
//! JSON Schema, and values both ways, so that the three cannot disagree. Nothing is lost on the way:
//! what JSON cannot carry in every client (large integers, infinities, an option within an
//! option) has a spelling of its own, which the schema shows.
//!
//! | WIT | JSON |
//! | --- | --- |
//! | `u8` … `s32` | integer |
//! | `u64`, `s64` | integer; beyond 2⁵³ − 1 a string of digits, since many clients read numbers as doubles |
//! | `f32`, `f64` | number, or `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | `char` | string of one character |
//! | `list<u8>` | string of base64 |
//! | other `list<t>`, `tuple<…>` | array |
//! | `record` | object |
//! | `option<t>` | absent or `null`; inside of another option `{"some": …}` |
//! | `enum` | string |
//! | `flags` | array of strings |
//! | `variant` | string for a case without payload, else `{"case": payload}` |
//! | `result<t, e>` | `{"ok": …}` or `{"err": …}`; as a function's result an error of the tool |
//! | `map<k, v>` | array of `[key, value]` |
//! | `stream<u8>` that a function gives | string of base64 |
//! | a resource of the component itself | a handle: `"counter-1"` |
//! | other resources, other streams, futures | none: the function is no tool |

mod function;
mod handle;
mod number;
mod read;
mod schema;
mod shape;
mod write;

pub use function::{Function, Outcome};
pub use handle::{Handle, Resources};
pub use read::{Mismatch, Path};
pub use shape::{Field, Shape, Unmappable};
pub use write::Unexpected;

#[cfg(test)]
mod tests;
