//! Agreements between the compiler of components and the host that runs them.
//!
//! [`engine`] configures wasmtime, identically for both. [`anatomy`] reads the sections of a component.

pub mod anatomy;
pub mod engine;
