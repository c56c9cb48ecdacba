//! Git's configuration, byte for byte as git reads it.
//!
//! Invariant: each entry that git finds is found. After what git would not accept, git reads no more of the file;
//! here reading goes on with the next line, and the whole counts as broken.

/// The mark before a text that says that it is UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// One `key = value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `section.key` or `section.subsection.key`, up to the first byte of zero, which ends it for git.
    pub name: Vec<u8>,
    /// The same; none where no `=` stands.
    pub value: Option<Vec<u8>>,
}

impl Entry {
    /// Of a name and a value, either of which ends for git at a byte of zero.
    pub(crate) fn new(name: &[u8], value: Option<&[u8]>) -> Self {
        Self { name: before_zero(name).to_owned(), value: value.map(|value| before_zero(value).to_owned()) }
    }

    /// In small letters.
    pub(crate) fn section(&self) -> Vec<u8> {
        let end = self.name.iter().position(|byte| *byte == b'.').unwrap_or(0);
        self.name[..end].to_ascii_lowercase()
    }

    /// Of any bytes.
    pub(crate) fn subsection(&self) -> Option<&[u8]> {
        let first = self.name.iter().position(|byte| *byte == b'.')?;
        let last = self.name.iter().rposition(|byte| *byte == b'.')?;
        self.name.get(first + 1..last)
    }

    /// In small letters.
    pub(crate) fn key(&self) -> Vec<u8> {
        let start = self.name.iter().rposition(|byte| *byte == b'.').map_or(0, |dot| dot + 1);
        self.name[start..].to_ascii_lowercase()
    }

    /// The value, of which nothing may be there.
    pub(crate) fn value(&self) -> &[u8] {
        self.value.as_deref().unwrap_or_default()
    }
}

/// A configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub entries: Vec<Entry>,
    /// Something in it is not what git accepts.
    pub is_broken: bool,
}

/// Something that git does not accept.
struct Broken;

/// Reads a configuration.
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

/// The bytes of a configuration. A line ends in a line feed, with a carriage return before it or none, or with
/// the file.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The end was read, which is a line feed, too.
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

    /// Goes to the line after the last byte that was read, unless that ended its line.
    fn skip_line(&mut self) {
        let is_next = self.at.checked_sub(1).and_then(|last| self.bytes.get(last)) == Some(&b'\n');
        while !is_next && self.next() != b'\n' {}
    }

    /// A header, an entry, a comment, or a blank.
    fn line_part(&mut self, section: &mut Vec<u8>, entries: &mut Vec<Entry>) -> Result<(), Broken> {
        match self.next() {
            byte if is_space(byte) => {}
            b'#' | b';' => while self.next() != b'\n' {},
            b'[' => {
                // Keys after a header that is broken stand in the section before it, for want of another.
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

    /// The name of a section, with a dot at its end.
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

    /// Reads the quoted part after the section's name and a blank, with the bracket.
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
            // An escaped line feed ends the line, too.
            if byte == b'\n' {
                return Err(Broken);
            }
            name.push(byte);
        }
        if self.next() == b']' { Ok(()) } else { Err(Broken) }
    }

    /// A key, of which the first letter was read, and its value.
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
                // Of blanks at the beginning nothing stays, and of those at the end neither.
                byte if is_space(byte) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                // A comment goes on to the end of its line, whatever stands before that.
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

/// Git's blanks, whatever the language of the system.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Returns the rest of a text that git takes for one of C.
pub(crate) fn before_zero(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
