//! Files of this machine, read under the rules of the `files` interface.

use percent_encoding::percent_decode_str;
use scorpiox_tool_kit::{Client, Failure, Files, FilesError};
use url::Url;

use crate::ask::{Ask, Part, name_of_part};
use crate::charset::{self, Markup};
use crate::document::Document;
use crate::html::Page;
use crate::kind::{self, Kind};
use crate::kinds::{self, Read};
use crate::load::Loaded;
use crate::{Format, json, markdown};

/// Maximum size of a file, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Hosts in the base URL of a file with a path that is relative to the workspace, or to the home folder. No text has
/// URLs of them.
const WORKSPACE: &str = "workspace.invalid";
const HOME: &str = "home.invalid";

/// A requested file.
#[derive(Debug)]
pub(crate) struct File {
    /// Path: absolute, relative to the workspace, or below `~/`.
    path: String,
    /// Fragment of a `file:` URL.
    fragment: Option<String>,
    /// Refusal of the text as a URL, if it could have been meant as one.
    otherwise: Option<Failure>,
}

impl File {
    /// Returns the file that an address means, or `None` if it is a URL. `no_url` says why it is none.
    pub(crate) fn of(address: &str, no_url: Option<Failure>) -> Result<Option<Self>, Failure> {
        if address.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
            return of_url(address).map(Some);
        }
        let is_drive =
            matches!(address.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic());
        let is_path = is_drive
            || address.starts_with(['/', '~'])
            || address.starts_with("./")
            || address.starts_with("../");
        let file = |otherwise| Some(Self { path: address.to_owned(), fragment: None, otherwise });
        Ok(match no_url {
            _ if is_path => file(None),
            // With a scheme, it is an address of another kind.
            Some(refusal) if !address.contains("://") && !address.contains('\0') => file(Some(refusal)),
            Some(refusal) => return Err(refusal),
            None => None,
        })
    }

    /// Returns a URL for the links in the file.
    pub(crate) fn base(&self) -> Result<Url, Failure> {
        base(&self.path)
    }
}

fn base(path: &str) -> Result<Url, Failure> {
    let (host, inside) = match path.as_bytes() {
        [b'~', b'/', ..] => (Some(HOME), path.get(2..).unwrap_or_default()),
        [b'/', ..] | [_, b':', ..] => (None, path),
        _ => (Some(WORKSPACE), path),
    };
    let unusable = || Failure::InvalidInput(format!("{path:?} cannot be a path."));
    let mut url = Url::parse("file:///").map_err(|_| unusable())?;
    url.set_path(&inside.replace('%', "%25"));
    url.set_host(host).map_err(|_| unusable())?;
    Ok(url)
}

/// Returns the file of a `file:` URL.
fn of_url(address: &str) -> Result<File, Failure> {
    let refused = |why: String| Failure::InvalidInput(format!("url {address:?} {why}"));
    let url = Url::parse(address).map_err(|error| refused(format!("is not usable: {error}.")))?;
    let path = percent_decode_str(url.path()).decode_utf8_lossy().into_owned();
    let below = path.trim_start_matches('/');
    let has_drive = below.as_bytes().get(1) == Some(&b':');
    let path = match url.host_str() {
        None | Some("" | "localhost") if has_drive => below.to_owned(),
        None | Some("" | "localhost") => path,
        Some(host) => {
            return Err(refused(format!("names the host {host}; only files of this machine are read.")));
        }
    };
    Ok(File { path, fragment: url.fragment().map(str::to_owned), otherwise: None })
}

/// A file that was read.
struct Found {
    path: String,
    fragment: Option<String>,
    body: Vec<u8>,
}

/// Reads a file. Its path can contain the sign of a fragment and of an escape, so they count only if nothing has the
/// path as it is: links in a file are written with both.
fn find(files: &mut impl Files, file: &File) -> Result<Found, Failure> {
    let unescaped = |path: &str| percent_decode_str(path).decode_utf8_lossy().into_owned();
    let mut tries = vec![(file.path.clone(), file.fragment.clone())];
    if let Some((path, fragment)) = file.path.rsplit_once('#') {
        tries.push((path.to_owned(), Some(fragment.to_owned())));
    }
    let escaped: Vec<_> = tries.iter().map(|(path, fragment)| (unescaped(path), fragment.clone())).collect();
    tries.extend(escaped);
    tries.dedup();
    let mut first = None;
    for (path, fragment) in tries {
        match files.read(&path, MAX_BYTES) {
            Ok(body) => return Ok(Found { path, fragment, body }),
            Err(error @ FilesError::NotFound(_)) => drop(first.get_or_insert(error)),
            Err(error) => return Err(unread(first.unwrap_or(error), file)),
        }
    }
    Err(unread(first.unwrap_or(FilesError::NotFound(String::new())), file))
}

/// Reads and converts a file.
pub(crate) fn load(
    files: &mut impl Files,
    client: &impl Client,
    ask: &Ask,
    file: &File,
) -> Result<Loaded, Failure> {
    let Found { path, fragment, body } = find(files, file)?;
    if body.trim_ascii().is_empty() {
        return Err(Failure::Failed(format!("{path} is empty.")));
    }
    let url = base(&path)?;
    let (kind, content_type) = kind::of(by_extension(&path), url.path(), &body);
    let mut read = match kind {
        Kind::Html => {
            let part =
                Part { fragment: fragment.as_deref().and_then(name_of_part), is_whole: ask.part.is_whole };
            html(&body, &content_type, &path, (&url, &part, ask.format))?
        }
        Kind::Image => {
            let reader = client.tool_name("ReadImage");
            return Err(Failure::Failed(format!(
                "{path} is an image ({content_type}), which cannot be read as text. Open it with {reader}."
            )));
        }
        Kind::Binary => {
            return Err(Failure::Failed(format!(
                "{path} is a binary file ({content_type}), which cannot be read as text."
            )));
        }
        // A model that edits the file later needs its text unchanged.
        Kind::Markdown | Kind::Json if ask.format != Format::Html => {
            unchanged(kind, &body, &content_type, (&url, ask.format))?
        }
        kind => {
            let header = by_extension(&path);
            let source = kinds::Source { header, content_type: &content_type, url: &url, format: ask.format };
            kinds::read(client, kind, body, &source)?
        }
    };
    if ask.wait_ms.is_some() {
        read.document.notes.push("wait_ms has no effect: files are not opened in a browser.".to_owned());
    }
    shorten(&mut read.document, &url);
    Ok(Loaded {
        final_url: ask.url.clone(),
        status: 200,
        content_type,
        rendered: false,
        is_markup: read.is_markup,
        document: read.document,
    })
}

/// Reads a text as it is in the file. Notebooks and descriptions of APIs are documents.
fn unchanged(
    kind: Kind,
    body: &[u8],
    content_type: &str,
    (url, format): (&Url, Format),
) -> Result<Read, Failure> {
    let text = charset::decode(body, "", Markup::None, url)?.into_owned();
    let source = kinds::Source { header: "", content_type, url, format };
    Ok(match kind {
        Kind::Markdown => {
            let about = markdown::read(&text, url);
            Read { document: Document { head: String::new(), body: text, ..about }, is_markup: true }
        }
        _ => {
            json::known(&text, &source).map_or_else(|| kinds::as_it_is(text.clone(), &source), Read::written)
        }
    })
}

fn html(
    body: &[u8],
    content_type: &str,
    path: &str,
    (url, part, format): (&Url, &Part, Format),
) -> Result<Read, Failure> {
    let page = Page::decoded(body, by_extension(path), content_type, url)?;
    if !page.has_text() {
        return Err(Failure::Failed(format!(
            "{path} has no text before its scripts run, and files are not opened in a browser."
        )));
    }
    Ok(Read::written(page.read(url, part, format)))
}

/// Writes URLs of a base without a real host as paths, which can be read like the file itself.
fn shorten(document: &mut Document, base: &Url) {
    let (prefix, path) = match base.host_str() {
        Some(WORKSPACE) => (format!("file://{WORKSPACE}/"), ""),
        Some(HOME) => (format!("file://{HOME}/"), "~/"),
        _ => return,
    };
    for text in [&mut document.head, &mut document.body] {
        if text.contains(&prefix) {
            *text = text.replace(&prefix, path);
        }
    }
}

/// Returns the media type that an extension stands for, if the content cannot tell it.
fn by_extension(path: &str) -> &'static str {
    let extension = path
        .rsplit(['/', '\\'])
        .next()
        .and_then(|name| name.rsplit_once('.'))
        .map(|(_, extension)| extension);
    match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
        "html" | "htm" => "text/html",
        "xhtml" | "xht" => "application/xhtml+xml",
        _ => "",
    }
}

/// Returns `true` for a path of several parts, of which the first is no host.
fn is_plainly_path(path: &str) -> bool {
    let first = path.split_once('/').map(|(first, _)| first);
    first.is_some_and(|first| !first.contains(['.', ':']) && first != "localhost")
}

fn unread(error: FilesError, file: &File) -> Failure {
    match (error, &file.otherwise) {
        (FilesError::TooLarge(bytes), _) => Failure::Failed(format!(
            "{} has {bytes} bytes; files of at most {MAX_BYTES} bytes are read.",
            file.path
        )),
        (FilesError::NotFound(_), Some(_)) if is_plainly_path(&file.path) => Failure::NotFound(format!(
            "{} does not exist in the workspace. An address begins with https:// or http://.",
            file.path
        )),
        (FilesError::NotFound(_), Some(Failure::InvalidInput(no_url))) => {
            Failure::InvalidInput(format!("The workspace has no file {}. {no_url}", file.path))
        }
        (error, _) => error.into(),
    }
}
