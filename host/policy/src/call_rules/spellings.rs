//! The texts that tools may take an argument for. A rule covers a call if a pattern matches any of them.
//!
//! Rules do not know what a tool does with an argument. Each string therefore has the spellings of all kinds of
//! arguments. Too many make a rule cover more calls, and a rule only narrows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;
use scorpiox_fs::{Trail, normalized};
use serde_json::Value;
use url::Url;

use super::texts::{self, MAX_TEXT_BYTES, Unclear, meant, written_out};
use crate::rule::Places;

/// Maximum length of the beginning of a name, in bytes. Names of skills are shorter.
const MAX_NAME_BYTES: usize = 1024;
/// Maximum length of all spellings of an argument, in bytes. Those of a plain text of the maximum length take a tenth.
const MAX_BYTES: usize = 96 * MAX_TEXT_BYTES;

/// Maximum number of fragments that a tool removes from the end of an argument, one after the other: ReadDocs takes
/// `#full` and a page, and the last one of the file.
const MAX_FRAGMENTS: usize = 4;

/// The encoding of bytes in arguments.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Texts of one argument.
#[derive(Default)]
pub(super) struct Spellings {
    texts: Vec<String>,
    bytes: usize,
}

impl Spellings {
    /// Returns the spellings of a value. A value that is not a string is compared as JSON, and so is the value of a
    /// string with JSON text.
    pub(super) fn of(value: &Value, places: &Places) -> Result<Self, Unclear> {
        let text = texts::text(value)?;
        let mut all = Self::default();
        all.add(text.to_string());
        let trimmed = text.trim();
        all.add(trimmed.to_owned());
        all.add_integer(trimmed);
        all.add_url(trimmed, places);
        all.add_name(trimmed);
        for path in file_paths(&text, trimmed) {
            all.add_paths(&path, places);
        }
        if let Some(inner) = meant(value)? {
            all.add(texts::text(&inner)?.into_owned());
        }
        let out = written_out(value)?;
        if out.is_array() || out.is_object() {
            all.add(texts::text(&out)?.into_owned());
        }
        all.add_bytes(&out, trimmed);
        if all.is_full() { Err(Unclear::TooLong) } else { Ok(all) }
    }

    /// Returns the spellings.
    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Returns the length of all spellings, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn add(&mut self, text: String) {
        if !self.is_full() && !self.texts.contains(&text) {
            self.bytes += text.len();
            self.texts.push(text);
        }
    }

    fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES
    }

    /// Adds the usual notation of an integer, which tools read in several.
    fn add_integer(&mut self, text: &str) {
        if let Ok(whole) = text.parse::<i128>() {
            self.add(whole.to_string());
        } else if let Some(number) = text.parse::<f64>().ok().filter(|number| number.fract() == 0.0) {
            // Adding zero removes the sign of a negative zero.
            self.add(format!("{:.0}", number + 0.0));
        }
    }

    /// Adds the notations of bytes, which tools accept as an array of numbers and in base64 with or without padding:
    /// those in base64.
    fn add_bytes(&mut self, value: &Value, text: &str) {
        let bytes = match value.as_array() {
            Some(items) => items.iter().map(byte).collect::<Option<Vec<_>>>(),
            None => BASE64.decode(text).ok(),
        };
        if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
            let padded = BASE64.encode(bytes);
            self.add(padded.trim_end_matches('=').to_owned());
            self.add(padded);
        }
    }

    /// Adds the forms of a URL that lead to the same page: normalized, without a user, a fragment and the final
    /// dot of the host, with a path and a query in which nothing is encoded, and with a path in which no slash is
    /// repeated. A URL of a file is also a path.
    fn add_url(&mut self, text: &str, places: &Places) {
        let Ok(mut url) = Url::parse(text) else { return };
        self.add(url.to_string());
        url.set_fragment(None);
        // These fail for URLs without a host, which no tool opens.
        let _ = (url.set_username(""), url.set_password(None));
        if let Some(host) = url.host_str().and_then(|host| host.strip_suffix('.')).map(str::to_owned) {
            let _ = url.set_host(Some(&host));
        }
        self.add(url.to_string());
        let path = decoded(url.path());
        let origin = &url[..url::Position::BeforePath];
        let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
        let end = if path.ends_with('/') && !parts.is_empty() { "/" } else { "" };
        let plain = format!("/{}{end}", parts.join("/"));
        let query = &url[url::Position::AfterPath..];
        for query in [query.to_owned(), decoded(query)] {
            for path in [url.path(), &path, &plain] {
                self.add(format!("{origin}{path}{query}"));
            }
        }
        if url.scheme() == "file" {
            self.add_paths(&path, places);
        }
    }

    /// Adds the beginnings of a name with parts, such as the skill in `skill/file`.
    fn add_name(&mut self, text: &str) {
        if text.starts_with('/') || text.contains("://") {
            return;
        }
        for (at, _) in text.match_indices('/').take_while(|(at, _)| *at <= MAX_NAME_BYTES) {
            self.add(text[..at].to_owned());
        }
    }

    /// Adds the forms of a path in the workspace: each path along its links, absolute, relative to the
    /// workspace, and below `~`. Tools remove `..` with the name before it, whatever that name is.
    fn add_paths(&mut self, text: &str, places: &Places) {
        if text.is_empty() || self.is_full() {
            return;
        }
        let home = places.home.as_deref();
        let below_home = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let path = match below_home.zip(home) {
            Some((rest, home)) => home.join(rest.trim_start_matches('/')),
            None => places.workspace.join(text),
        };
        let plain = normalized(&path);
        let mut paths = Vec::new();
        for path in [&path, &plain] {
            if let Ok(Trail { forms, end, .. }) = Trail::follow(path) {
                paths.extend(forms.into_iter().chain([end]));
            }
        }
        paths.push(plain);
        for path in paths {
            self.add_path(&path, &places.workspace, "");
            if let Some(home) = home {
                self.add_path(&path, home, "~/");
            }
            self.add(shown(path));
        }
    }

    fn add_path(&mut self, path: &Path, folder: &Path, prefix: &str) {
        if let Ok(inside) = path.strip_prefix(folder) {
            self.add(format!("{prefix}{}", inside.display()));
        }
    }
}

/// Returns the number in a value or in its text, if it fits into a byte.
fn byte(value: &Value) -> Option<u8> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    let whole = number.filter(|number| number.fract() == 0.0 && (0.0..=255.0).contains(number))?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and fits")]
    Some(whole as u8)
}

/// Returns the texts that a tool may take for the path of a file, as ReadDocs does: without fragments, and decoded.
fn file_paths(text: &str, trimmed: &str) -> BTreeSet<String> {
    let mut given: BTreeSet<&str> = [text, trimmed].into();
    for text in [text, trimmed] {
        given.extend(text.rmatch_indices('#').take(MAX_FRAGMENTS).filter_map(|(at, _)| text.get(..at)));
    }
    given.into_iter().flat_map(|path| [path.to_owned(), decoded(path)]).collect()
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn shown(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap_or_else(|path| path.to_string_lossy().into_owned())
}
