//! Protocol revisions, with all of their differences in one table.

/// A published protocol revision, ordered by publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// First revision.
    V2024_11_05,
    /// Adds annotations, audio and batches.
    V2025_03_26,
    /// Adds structured results, elicitation and titles. Removes batches.
    V2025_06_18,
    /// Adds icons and descriptions. Last revision with a handshake.
    V2025_11_25,
    /// Has no handshake: each request states the client's revision.
    V2026_07_28,
}

/// Features of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent features
pub struct Features {
    /// Name in the protocol.
    pub name: &'static str,
    /// `true` if a session starts with `initialize`.
    pub handshake: bool,
    /// `true` if a line may contain an array of messages.
    pub batches: bool,
    /// `true` if tools have annotations.
    pub annotations: bool,
    /// `true` if content can be audio.
    pub audio: bool,
    /// `true` if progress notifications have a message.
    pub progress_message: bool,
    /// `true` if tools, prompts and implementations have titles, and tools may have `_meta`.
    pub titles: bool,
    /// `true` if tools have output schemas, and results structured content.
    pub structured: bool,
    /// `true` if an implementation has a description.
    pub descriptions: bool,
    /// `true` if results have a type and server info, and lists a time to live.
    pub result_envelope: bool,
    /// `true` if clients can show forms to the user.
    pub elicitation: bool,
    /// `true` if a form declares its mode, because there are other modes.
    pub form_mode: bool,
    /// `true` if forms can offer titled choices, and several of them.
    pub form_choices: bool,
    /// `true` if a server may end a stream of events that its client then resumes.
    pub ends_streams: bool,
    /// `true` if notifications may be sent outside of a request.
    pub unsolicited: bool,
    /// `true` if capabilities have extensions.
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
    form_choices: false,
    ends_streams: false,
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
    let r2025_11_25 = Features {
        name: "2025-11-25",
        descriptions: true,
        form_mode: true,
        form_choices: true,
        ends_streams: true,
        ..r2025_06_18
    };
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
    /// Newest revision with a handshake.
    pub const NEWEST_HANDSHAKE: Self = Self::V2025_11_25;

    /// Returns all revisions, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(revision, _)| *revision)
    }

    /// Returns the revision of that name.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|(_, features)| features.name == name).map(|(revision, _)| *revision)
    }

    /// Returns the features of the revision.
    pub fn features(self) -> &'static Features {
        &TABLE[self as usize].1
    }

    /// Returns the revision's name in the protocol.
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
        let choices: Vec<_> = Revision::all().filter(|revision| revision.features().form_choices).collect();
        assert_eq!(choices, [Revision::V2025_11_25, Revision::V2026_07_28]);
        let without: Vec<_> = Revision::all().filter(|r| !r.features().handshake).collect();
        assert_eq!(without, [Revision::V2026_07_28]);
    }
}
