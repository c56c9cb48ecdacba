//! Component with resources: counters, misbehaving ones, and ones that refer to external objects.

wit_bindgen::generate!({ path: ["../../../wit", "wit"], world: "test:holder/holder", generate_all });

mod counters;
mod outside;
mod trouble;

struct Holder;

export!(Holder);
