//! A component with resources: some count, some misbehave, and some hold what lies outside.

wit_bindgen::generate!({ path: ["../../../wit", "wit"], world: "test:holder/holder", generate_all });

mod counters;
mod outside;
mod trouble;

struct Holder;

export!(Holder);
