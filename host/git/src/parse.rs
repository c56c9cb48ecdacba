//! Parses git's configuration byte for byte as git does.
//!
//! Invariant: every entry that git finds is found. Git stops at the first error. This parser continues with
//! the next line and marks the configuration as broken.

/// Byte order mark of UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// A `key = value` entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `section.key` or `section.subsection.key`, up to the first zero byte, where git stops.
    pub name: Vec<u8>,
    /// Value, up to the first zero byte; `None` without a `=`.
    pub value: Option<Vec<u8>>,
}

impl Entry {
    /// Creates an entry from a name and a value, each truncated at a zero byte as git does.
    pub(crate) fn new(name: &[u8], value: Option<&[u8]>) -> Self {
        Self { name: before_zero(name).to_owned(), value: value.map(|value| before_zero(value).to_owned()) }
    }

    /// Returns the section in lowercase.
    pub(crate) fn section(&self) -> Vec<u8> {
        let end = self.name.iter().position(|byte| *byte == b'.').unwrap_or(0);
        self.name[..end].to_ascii_lowercase()
    }

    /// Returns the subsection, which may contain any bytes.
    pub(crate) fn subsection(&self) -> Option<&[u8]> {
        let first = self.name.iter().position(|byte| *byte == b'.')?;
        let last = self.name.iter().rposition(|byte| *byte == b'.')?;
        self.name.get(first + 1..last)
    }

    /// Returns the key in lowercase.
    pub(crate) fn key(&self) -> Vec<u8> {
        let start = self.name.iter().rposition(|byte| *byte == b'.').map_or(0, |dot| dot + 1);
        self.name[start..].to_ascii_lowercase()
    }

    /// Returns the value; empty if there is none.
    pub(crate) fn value(&self) -> &[u8] {
        self.value.as_deref().unwrap_or_default()
    }
}

/// A parsed configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub entries: Vec<Entry>,
    /// `true` if git would reject the configuration.
    pub is_broken: bool,
}

/// A syntax error for git.
struct Broken;

/// Parses a configuration.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut reader = Reader { bytes, at: 0, is_at_end: false };
    let mut parsed = Parsed::default();
    let mark = BYTE_ORDER_MARK.iter().zip(bytes).take_while(|(one, other)| one == other).count();
    reader.at = mark;
    if mark != 0 && mark != BYTE_ORDER_MARK.len() {
        parsed.is_broken = true;
        reader.skip_line();
    }
    let mut section = Vec::new();
    while !reader.is_at_end {
        if reader.line_part(&mut section, &mut parsed.entries).is_err() {
            parsed.is_broken = true;
            reader.skip_line();
        }
    }
    parsed
}

/// Reader for the bytes of a configuration. A line ends with a line feed, an optional carriage return before
/// it, or the end of the file.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// `true` after the end of the file, which reads as a line feed.
    is_at_end: bool,
}

impl Reader<'_> {
    fn next(&mut self) -> u8 {
        let Some(byte) = self.bytes.get(self.at).copied() else {
            self.is_at_end = true;
            return b'\n';
        };
        self.at += 1;
        if byte == b'\r' && self.bytes.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return b'\n';
        }
        byte
    }

    /// Skips to the line after the last byte read, unless that byte ended its line.
    fn skip_line(&mut self) {
        let is_next = self.at.checked_sub(1).and_then(|last| self.bytes.get(last)) == Some(&b'\n');
        while !is_next && self.next() != b'\n' {}
    }

    /// Reads a header, an entry, a comment, or a blank.
    fn line_part(&mut self, section: &mut Vec<u8>, entries: &mut Vec<Entry>) -> Result<(), Broken> {
        match self.next() {
            byte if is_space(byte) => {}
            b'#' | b';' => while self.next() != b'\n' {},
            b'[' => {
                // Keys after an invalid header are attributed to the previous section.
                *section = self.header()?;
            }
            byte if byte.is_ascii_alphabetic() => {
                let (name, value) = self.entry(section, byte)?;
                entries.push(Entry::new(&name, value.as_deref()));
            }
            _ => return Err(Broken),
        }
        Ok(())
    }

    /// Reads the name of a section, and appends a dot.
    fn header(&mut self) -> Result<Vec<u8>, Broken> {
        let mut name = Vec::new();
        loop {
            match self.next() {
                _ if self.is_at_end => return Err(Broken),
                b']' if name.is_empty() => return Err(Broken),
                b']' => break,
                byte if is_space(byte) => {
                    self.subsection(&mut name, byte)?;
                    break;
                }
                byte if is_of_key(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return Err(Broken),
            }
        }
        name.push(b'.');
        Ok(name)
    }

    /// Reads the quoted part after the section's name and a blank, and the closing bracket.
    fn subsection(&mut self, name: &mut Vec<u8>, mut byte: u8) -> Result<(), Broken> {
        while is_space(byte) {
            if byte == b'\n' {
                return Err(Broken);
            }
            byte = self.next();
        }
        if byte != b'"' {
            return Err(Broken);
        }
        name.push(b'.');
        loop {
            let byte = match self.next() {
                b'"' => break,
                b'\\' => self.next(),
                byte => byte,
            };
            // An escaped line feed also ends the line.
            if byte == b'\n' {
                return Err(Broken);
            }
            name.push(byte);
        }
        if self.next() == b']' { Ok(()) } else { Err(Broken) }
    }

    /// Reads a key, whose first letter has been read, and its value.
    fn entry(&mut self, section: &[u8], first: u8) -> Result<(Vec<u8>, Option<Vec<u8>>), Broken> {
        let mut name = section.to_owned();
        let mut byte = first;
        while is_of_key(byte) {
            name.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        match byte {
            b'\n' => Ok((name, None)),
            b'=' => Ok((name, Some(self.value()?))),
            _ => Err(Broken),
        }
    }

    fn value(&mut self) -> Result<Vec<u8>, Broken> {
        let (mut value, mut kept) = (Vec::new(), 0);
        let mut is_quoted = false;
        loop {
            match self.next() {
                b'\n' if is_quoted => return Err(Broken),
                b'\n' => break,
                // Leading and trailing blanks are dropped.
                byte if is_space(byte) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                // A comment continues to the end of its line, regardless of the text before it.
                b'#' | b';' if !is_quoted => {
                    while self.next() != b'\n' {}
                    break;
                }
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return Err(Broken),
                },
                b'"' => is_quoted = !is_quoted,
                byte => value.push(byte),
            }
            kept = value.len();
        }
        value.truncate(kept);
        Ok(value)
    }
}

/// Returns `true` for a blank as defined by git, independent of the locale.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Returns the text up to the first zero byte, as a C string.
pub(crate) fn before_zero(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
