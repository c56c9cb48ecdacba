//! Commands that reach no host because their profile has no network, as far as their output says so.
//!
//! Programs only see that a name cannot be looked up, and say that; some then try again for minutes.

use memchr::memmem;

/// Messages of programs that cannot look up a name or reach an address: the C library and what hands its words on,
/// curl, wget, Node, Go, Rust, Java, .NET; and those of package managers that keep the cause to themselves (pip, yarn, Bun).
const WORDS: [&[u8]; 21] = [
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
    b"trouble with your network",
    b"FailedToOpenSocket",
];
/// Bytes that are kept of what was printed before, since the words may come in pieces.
const KEPT_BYTES: usize = 64;

/// A command's output, as far as it speaks of the network.
#[derive(Debug, Default)]
pub struct Offline {
    /// The end of what was looked at.
    before: Vec<u8>,
    is_met: bool,
}

impl Offline {
    /// Takes what was printed next.
    pub fn look(&mut self, bytes: &[u8]) {
        if self.is_met {
            return;
        }
        let mut joined = std::mem::take(&mut self.before);
        joined.extend_from_slice(&bytes[..bytes.len().min(KEPT_BYTES)]);
        let holds = |text: &[u8]| WORDS.iter().any(|word| memmem::find(text, word).is_some());
        self.is_met = holds(&joined) || holds(bytes);
        let end = if bytes.len() < KEPT_BYTES { &joined } else { bytes };
        self.before = end[end.len().saturating_sub(KEPT_BYTES)..].to_vec();
    }

    /// Reports whether a program said that it reached nothing.
    pub fn is_met(&self) -> bool {
        self.is_met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_met(pieces: &[&str]) -> bool {
        let mut offline = Offline::default();
        for piece in pieces {
            offline.look(piece.as_bytes());
        }
        offline.is_met()
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
