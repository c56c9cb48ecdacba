//! Complaints of programs in their output where commands do not see something: the network, or git's folder.
//!
//! A program only sees that a name cannot be looked up, or that there is no repository, and says that.

use memchr::memmem;

/// Messages of programs that cannot look up a name or reach an address: the C library and what hands its words on,
/// curl, wget, Node, Go, Rust, Java, .NET; and those of package managers that keep the cause to themselves (pip, yarn, Bun).
const OFFLINE: [&[u8]; 22] = [
    b"ould not resolve",
    b"unable to resolve",
    b"ailed to resolve",
    b"emporary failure in name resolution",
    b"emporary failure resolving",
    b"ame or service not known",
    b"o address associated with hostname",
    b"ailed to lookup address",
    b"NameResolutionError",
    b"UnknownHostException",
    b"getaddrinfo",
    b"EAI_AGAIN",
    b"ENOTFOUND",
    b"no such host",
    b"etwork is unreachable",
    b"ENETUNREACH",
    b"dial tcp: lookup",
    b"dns error",
    b"from versions: none",
    b"No matching distribution found",
    b"trouble with your network",
    b"FailedToOpenSocket",
];
/// Messages of git, and of programs that use its library.
const NO_REPOSITORY: [&[u8]; 3] =
    [b"ot a git repository", b"could not find repository", b"unable to normalize alternate object path"];
/// Bytes that are kept of what was printed before, since the words may come in pieces.
const KEPT_BYTES: usize = 64;

/// Complaints in a command's output.
#[derive(Debug, Default)]
pub struct Complaints {
    /// The end of what was looked at.
    before: Vec<u8>,
    is_offline: bool,
    lacks_repository: bool,
}

impl Complaints {
    /// Takes what was printed next.
    pub fn look(&mut self, bytes: &[u8]) {
        if self.is_offline && self.lacks_repository {
            return;
        }
        let mut joined = std::mem::take(&mut self.before);
        joined.extend_from_slice(&bytes[..bytes.len().min(KEPT_BYTES)]);
        let holds = |words: &[&[u8]]| {
            let is_in = |text: &[u8]| words.iter().any(|word| memmem::find(text, word).is_some());
            is_in(&joined) || is_in(bytes)
        };
        self.is_offline = self.is_offline || holds(&OFFLINE);
        self.lacks_repository = self.lacks_repository || holds(&NO_REPOSITORY);
        let end = if bytes.len() < KEPT_BYTES { &joined } else { bytes };
        self.before = end[end.len().saturating_sub(KEPT_BYTES)..].to_vec();
    }

    /// Reports whether a program said that it reached nothing.
    pub fn is_offline(&self) -> bool {
        self.is_offline
    }

    /// Reports whether a program said that it found no repository, or not all of one.
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
