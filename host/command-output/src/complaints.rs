//! Detects messages of programs that cannot reach a resource outside their sandbox: the network, or the Git
//! directory.
//!
//! A program only notices that a name does not resolve, or that there is no repository, and reports that.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// Messages of programs that cannot resolve a name or reach an address: the C library and programs that pass
/// on its messages, curl, wget, Node, Go, Rust, Java, and .NET; also package managers that hide the cause
/// (pip, yarn, Bun). The first [`SENTENCES`] of them are rare in files that commands print for another reason.
const OFFLINE: [&[u8]; 26] = [
    b"ould not resolve host",
    b"emporary failure in name resolution",
    b"emporary failure resolving",
    b"ame or service not known",
    b"o address associated with hostname",
    b"ailed to lookup address information",
    b"etwork is unreachable",
    b"getaddrinfo EAI_AGAIN",
    b"getaddrinfo ENOTFOUND",
    b"trouble with your network",
    b"ould not resolve",
    b"unable to resolve",
    b"ailed to resolve",
    b"ailed to lookup address",
    b"NameResolutionError",
    b"UnknownHostException",
    b"getaddrinfo",
    b"EAI_AGAIN",
    b"ENOTFOUND",
    b"no such host",
    b"ENETUNREACH",
    b"dial tcp: lookup",
    b"dns error",
    b"from versions: none",
    b"No matching distribution found",
    b"FailedToOpenSocket",
];
/// Number of messages that are sentences, and no names that source code contains.
const SENTENCES: usize = 10;
/// Messages of Git, and of programs that use its library.
const NO_REPOSITORY: [&[u8]; 4] = [
    b"ot a git repository",
    b"could not find repository",
    b"unable to normalize alternate object path",
    b"/.git': Permission denied",
];
/// Messages of Git about files that it takes for changed, at the beginning of a line or in it.
const CHANGED: [&[u8]; 10] = [
    b"modified:   ",
    b"\n M ",
    b"local changes to the following files would be overwritten",
    b"have unstaged changes",
    b"annot save the current worktree state",
    b"stash failed",
    b"pdating files failed",
    b"nable to index file",
    b"ould not reset index file",
    b"not uptodate. Cannot merge",
];
/// Search automaton for all messages, those of [`OFFLINE`] first. It finds them in a single pass, because a
/// command can print gigabytes. The library vectorizes searches of this match kind.
static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = OFFLINE.iter().chain(&NO_REPOSITORY).chain(&CHANGED);
    AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(words).ok()
});
/// Number of bytes retained from earlier output, for messages that span two chunks.
const KEPT_BYTES: usize = 64;

/// Kind of report that a program could not reach the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Offline {
    Not,
    /// By a name that source code contains, too.
    Named,
    /// In a sentence.
    Said,
}

/// Complaints found in the output of a command.
#[derive(Debug)]
pub struct Complaints {
    /// Tail of the inspected output.
    before: Vec<u8>,
    offline: Offline,
    lacks_repository: bool,
    has_changed: bool,
}

impl Default for Complaints {
    fn default() -> Self {
        // Output begins like a line.
        let before = b"\n".to_vec();
        Self { before, offline: Offline::Not, lacks_repository: false, has_changed: false }
    }
}

impl Complaints {
    /// Inspects the next chunk of output.
    pub fn look(&mut self, bytes: &[u8]) {
        if self.has_all() {
            return;
        }
        let mut joined = std::mem::take(&mut self.before);
        joined.extend_from_slice(&bytes[..bytes.len().min(KEPT_BYTES)]);
        self.find(&joined);
        self.find(bytes);
        let end = if bytes.len() < KEPT_BYTES { &joined } else { bytes };
        self.before = end[end.len().saturating_sub(KEPT_BYTES)..].to_vec();
    }

    fn find(&mut self, text: &[u8]) {
        for found in WORDS.iter().flat_map(|words| words.find_iter(text)) {
            let number = found.pattern().as_usize();
            let is_of_network = number < OFFLINE.len();
            let is_of_changes = number >= OFFLINE.len() + NO_REPOSITORY.len();
            let offline = match number {
                ..SENTENCES => Offline::Said,
                _ if is_of_network => Offline::Named,
                _ => Offline::Not,
            };
            self.offline = self.offline.max(offline);
            self.lacks_repository |= !is_of_network && !is_of_changes;
            self.has_changed |= is_of_changes;
            if self.has_all() {
                return;
            }
        }
    }

    /// Returns `true` if further output says nothing new.
    fn has_all(&self) -> bool {
        self.says_offline() && self.lacks_repository && self.has_changed
    }

    /// Returns `true` if git reported files that it takes for changed.
    pub fn has_changed_files(&self) -> bool {
        self.has_changed
    }

    /// Returns `true` if a program reported that it could not reach the network.
    pub fn is_offline(&self) -> bool {
        self.offline >= Offline::Named
    }

    /// Returns `true` if a program reported this in a sentence, which files with source code rarely contain. That counts
    /// for a command that succeeded, too: it may have caught the error.
    pub fn says_offline(&self) -> bool {
        self.offline == Offline::Said
    }

    /// Returns `true` if a program reported a missing or incomplete repository.
    pub fn lacks_repository(&self) -> bool {
        self.lacks_repository
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&str]) -> Complaints {
        let mut complaints = Complaints::default();
        for piece in pieces {
            complaints.look(piece.as_bytes());
        }
        complaints
    }

    fn is_met(pieces: &[&str]) -> bool {
        of(pieces).is_offline()
    }

    #[test]
    fn a_repository_that_is_not_found_is_no_network() {
        let complaints = of(&["fatal: not a git repo", "sitory: /x/.git\n"]);
        assert!(complaints.lacks_repository() && !complaints.is_offline());
        let complaints = of(&["Could not resolve host: example.com\n", "fatal: not a git repository\n"]);
        assert!(complaints.lacks_repository() && complaints.is_offline());
        assert!(!of(&["a git repository"]).lacks_repository());
    }

    #[test]
    fn files_that_git_takes_for_changed_are_noticed() {
        for said in [
            " M .env.test\n",
            "## main\n M .env.test\n",
            "\tmodified:   .env.test\n",
            "error: cannot rebase: You have unstaged changes.\n",
            "fatal: stash failed\n",
            "error: Your local changes to the following files would be overwritten by checkout:\n",
        ] {
            assert!(of(&[said]).has_changed_files(), "{said}");
            assert!(!of(&[said]).lacks_repository() && !of(&[said]).is_offline(), "{said}");
        }
        assert!(!of(&["nothing to commit\n10 M x\n"]).has_changed_files());
        assert!(of(&["\n", " M x"]).has_changed_files());
    }

    #[test]
    fn names_in_source_code_are_no_sentences() {
        for code in
            ["int getaddrinfo(const char *node);", "catch (UnknownHostException e)", "case ENETUNREACH:"]
        {
            assert!(of(&[code]).is_offline() && !of(&[code]).says_offline(), "{code}");
        }
        let caught = "<urlopen error [Errno -3] Temporary failure in name resolution>";
        for said in [caught, "getaddrinfo EAI_AGAIN example.com", "[Errno 101] Network is unreachable"] {
            assert!(of(&[said]).is_offline() && of(&["getaddrinfo ", said]).says_offline(), "{said}");
        }
    }

    #[test]
    fn programs_that_reach_no_host_are_understood() {
        for said in [
            "curl: (6) Could not resolve host: example.com",
            "fatal: unable to access 'https://example.com/': Could not resolve host: example.com",
            "wget: unable to resolve host address 'example.com'",
            "npm error request to https://example.com/x failed, reason: getaddrinfo EAI_AGAIN example.com",
            "[Errno -3] Temporary failure in name resolution",
            "ssh: Could not resolve hostname example.com: Name or service not known",
            "dial tcp: lookup example.com: no such host",
            "failed to lookup address information: Name or service not known",
            "connect: Network is unreachable",
            "Get \"https://example.com/x\": dial tcp: lookup example.com on [::1]:53: connection refused",
            "ERROR: Could not find a version that satisfies the requirement six (from versions: none)",
            "ERROR: No matching distribution found for six",
            "error sending request for url (https://example.com/): dns error",
        ] {
            assert!(is_met(&[said]), "{said}");
            let bytes: Vec<String> = said.chars().map(String::from).collect();
            assert!(is_met(&bytes.iter().map(String::as_str).collect::<Vec<_>>()), "{said}, byte by byte");
            assert!(is_met(&[&"x".repeat(5000), said, &"x".repeat(5000)]), "{said}, among others");
        }
        assert!(!is_met(&["make: *** No rule to make target 'network'.", "exit 1", ""]));
    }
}
