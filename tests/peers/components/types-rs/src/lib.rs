//! A function whose types come from an interface without functions.

wit_bindgen::generate!({ world: "peer", path: "wit" });

struct Peer;

impl Guest for Peer {
    fn twice(item: Item) -> Result<Item, String> {
        let count = item.count.checked_mul(2).ok_or_else(|| format!("{} of {} are too many", item.count, item.name))?;
        Ok(Item { count, ..item })
    }
}

export!(Peer);
