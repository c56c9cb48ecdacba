//! The protocol's revisions, and all that differs between them, in one table.

/// A published revision of the protocol, in the order of publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first.
    V2024_11_05,
    /// Annotations, audio, batches.
    V2025_03_26,
    /// Structured results, elicitation, titles.
    V2025_06_18,
    /// Icons, descriptions; the last with a handshake.
    V2025_11_25,
    /// Without a handshake: each request says what its client speaks.
    V2026_07_28,
}

/// What a revision has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // a row of a table of yes and no
pub struct Features {
    /// Its name on the wire.
    pub name: &'static str,
    /// A session begins with `initialize`.
    pub handshake: bool,
    /// Several messages may come in one array.
    pub batches: bool,
    /// Tools have annotations.
    pub annotations: bool,
    /// Contents can be sounds.
    pub audio: bool,
    /// Progress has a message.
    pub progress_message: bool,
    /// Tools, prompts and implementations have titles, and tools may have `_meta`.
    pub titles: bool,
    /// Tools have output schemas, and results structured content.
    pub structured: bool,
    /// An implementation has a description.
    pub descriptions: bool,
    /// Results say their type and who sent them; lists say how long they hold.
    pub result_envelope: bool,
    /// Clients show forms to the person.
    pub elicitation: bool,
    /// A form says that it is one: there are other ways, too.
    pub form_mode: bool,
    /// Notifications may come outside of a request.
    pub unsolicited: bool,
    /// Capabilities have extensions.
    pub extensions: bool,
}

const FIRST: Features = Features {
    name: "2024-11-05",
    handshake: true,
    batches: false,
    annotations: false,
    audio: false,
    progress_message: false,
    titles: false,
    structured: false,
    descriptions: false,
    result_envelope: false,
    elicitation: false,
    form_mode: false,
    unsolicited: true,
    extensions: false,
};

const TABLE: [(Revision, Features); 5] = {
    let r2024_11_05 = FIRST;
    let r2025_03_26 = Features {
        name: "2025-03-26",
        batches: true,
        annotations: true,
        audio: true,
        progress_message: true,
        ..r2024_11_05
    };
    let r2025_06_18 = Features {
        name: "2025-06-18",
        batches: false,
        titles: true,
        structured: true,
        elicitation: true,
        ..r2025_03_26
    };
    let r2025_11_25 = Features { name: "2025-11-25", descriptions: true, form_mode: true, ..r2025_06_18 };
    let r2026_07_28 = Features {
        name: "2026-07-28",
        handshake: false,
        result_envelope: true,
        unsolicited: false,
        extensions: true,
        ..r2025_11_25
    };
    [
        (Revision::V2024_11_05, r2024_11_05),
        (Revision::V2025_03_26, r2025_03_26),
        (Revision::V2025_06_18, r2025_06_18),
        (Revision::V2025_11_25, r2025_11_25),
        (Revision::V2026_07_28, r2026_07_28),
    ]
};

impl Revision {
    /// The newest that is negotiated by a handshake.
    pub const NEWEST_HANDSHAKE: Self = Self::V2025_11_25;

    /// All of them, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(revision, _)| *revision)
    }

    /// The revision of that name.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|(_, features)| features.name == name).map(|(revision, _)| *revision)
    }

    /// What it has.
    pub fn features(self) -> &'static Features {
        &TABLE[self as usize].1
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        self.features().name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (at, (revision, features)) in TABLE.iter().enumerate() {
            assert_eq!(*revision as usize, at);
            assert_eq!(Revision::named(features.name), Some(*revision));
        }
    }

    #[test]
    fn only_one_revision_has_batches_and_only_one_has_no_handshake() {
        let batches: Vec<_> = Revision::all().filter(|r| r.features().batches).collect();
        assert_eq!(batches, [Revision::V2025_03_26]);
        let without: Vec<_> = Revision::all().filter(|r| !r.features().handshake).collect();
        assert_eq!(without, [Revision::V2026_07_28]);
    }
}
