//! Native code produced by the compiler.
//!
//! Two hashes precede the code: the hash of the component, and the hash of the code.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};

use sha2::{Digest as _, Sha256};

use crate::compile::CompileError;

/// Size of a SHA-256 hash in bytes.
const HASH_BYTES: usize = 32;
/// Offset of the code.
const HEAD_BYTES: usize = 2 * HASH_BYTES;

/// Native code in an in-memory file.
#[derive(Debug)]
pub struct Code {
    file: File,
    hash: String,
}

impl Code {
    /// Checks that the compiler's output is complete and belongs to this component.
    pub(crate) fn checked(mut file: File, component: &[u8]) -> Result<Self, CompileError> {
        let failed = |error: io::Error| CompileError::Failed(error.to_string());
        let mut head = [0; HEAD_BYTES];
        file.read_exact(&mut head).map_err(failed)?;
        let (of, itself) = head.split_at(HASH_BYTES);
        if of != &Sha256::digest(component)[..] {
            return Err(CompileError::Failed("it gave code of another component".to_owned()));
        }
        let hash = hash(&mut file).map_err(failed)?;
        if hash != hexadecimal(itself) {
            return Err(CompileError::Failed("it gave code that is damaged".to_owned()));
        }
        Ok(Self { file, hash })
    }

    /// Returns the hexadecimal SHA-256 of the code.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns a reader at the start of the code.
    pub fn read(&mut self) -> io::Result<&mut impl Read> {
        self.file.seek(SeekFrom::Start(HEAD_BYTES as u64))?;
        Ok(&mut self.file)
    }
}

/// Returns the hexadecimal SHA-256 of the remaining bytes.
pub fn hash(from: &mut impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match from.read(&mut chunk)? {
            0 => return Ok(hexadecimal(&hasher.finalize())),
            got => hasher.update(&chunk[..got]),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn given(head: &[&[u8]], code: &[u8]) -> File {
        let mut file = tempfile::tempfile().expect("a file");
        for hashed in head {
            file.write_all(&Sha256::digest(hashed)).expect("writes");
        }
        file.write_all(code).expect("writes");
        file.rewind().expect("rewinds");
        file
    }

    #[test]
    fn code_is_of_its_component_and_whole() {
        let mut code = Code::checked(given(&[b"component", b"code"], b"code"), b"component").expect("code");
        let mut bytes = Vec::new();
        code.read().expect("reads").read_to_end(&mut bytes).expect("reads");
        assert_eq!(bytes, b"code");
        assert_eq!(code.hash(), hash(&mut &b"code"[..]).expect("reads"));

        let error = |file| Code::checked(file, b"component").expect_err("an error").to_string();
        let other = error(given(&[b"other", b"code"], b"code"));
        assert_eq!(other, "the compiler failed: it gave code of another component");
        let cut = error(given(&[b"component", b"code"], b"cod"));
        assert_eq!(cut, "the compiler failed: it gave code that is damaged");
        assert!(Code::checked(given(&[b"component"], b""), b"component").is_err(), "without its hash");
    }
}
