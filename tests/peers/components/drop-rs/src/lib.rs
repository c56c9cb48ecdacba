//! A resource with a method named like what a host does at the end of a resource.

wit_bindgen::generate!({ world: "peer", path: "wit" });

use exports::peers::drops::boxes::{Guest, GuestCrate};

struct Peer;

struct Box(String);

impl GuestCrate for Box {
    fn new(name: String) -> Self {
        Self(name)
    }

    fn name(&self) -> String {
        self.0.clone()
    }

    fn drop(&self, onto: String) -> String {
        format!("{} falls onto {onto}", self.0)
    }
}

impl Guest for Peer {
    type Crate = Box;
}

export!(Peer);
