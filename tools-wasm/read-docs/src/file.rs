//! Files of this machine, read under the rules of the `files` interface.

use percent_encoding::percent_decode_str;
use scorpiox_tool_kit::{Client, Failure, Files, FilesError};
use url::Url;

use crate::ask::{Ask, Part, name_of_part};
use crate::charset::{self, Markup};
use crate::document::Document;
use crate::html::{Page, xhtml};
use crate::kind::{self, Kind};
use crate::kinds;
use crate::load::Loaded;

/// Maximum size of a file, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Hosts in the base URL of a file with a path that is relative to the workspace, or to the home folder.
const WORKSPACE: &str = "workspace";
const HOME: &str = "home";

/// A requested file.
#[derive(Debug)]
pub(crate) struct File {
    /// Path: absolute, relative to the workspace, or below `~/`.
    path: String,
    /// Fragment of a `file:` URL.
    fragment: Option<String>,
    /// Why the text is no URL, if it could have been meant as one.
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
        let (host, path) = match self.path.as_bytes() {
            [b'~', b'/', ..] => (Some(HOME), self.path.get(2..).unwrap_or_default()),
            [b'/', ..] | [_, b':', ..] => (None, &*self.path),
            _ => (Some(WORKSPACE), &*self.path),
        };
        let unusable = || Failure::InvalidInput(format!("{:?} cannot be a path.", self.path));
        let mut url = Url::parse("file:///").map_err(|_| unusable())?;
        url.set_path(&path.replace('%', "%25"));
        url.set_host(host).map_err(|_| unusable())?;
        Ok(url)
    }
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
        Some(WORKSPACE) => below.to_owned(),
        Some(HOME) => format!("~/{below}"),
        Some(host) => {
            return Err(refused(format!("names the host {host}; only files of this machine are read.")));
        }
    };
    Ok(File { path, fragment: url.fragment().map(str::to_owned), otherwise: None })
}

/// Reads and converts a file.
pub(crate) fn load(
    files: &mut impl Files,
    client: &impl Client,
    ask: &Ask,
    file: &File,
) -> Result<Loaded, Failure> {
    // A path can contain the sign of a fragment.
    let (path, fragment, body) = match (files.read(&file.path, MAX_BYTES), file.path.rsplit_once('#')) {
        (Err(FilesError::NotFound(_)), Some((path, fragment))) => {
            (path, Some(fragment), files.read(path, MAX_BYTES))
        }
        (body, _) => (&*file.path, file.fragment.as_deref(), body),
    };
    let body = body.map_err(|error| unread(error, file))?;
    if body.trim_ascii().is_empty() {
        return Err(Failure::Failed(format!("{} is empty.", file.path)));
    }
    let header = by_extension(path);
    let (kind, content_type) = kind::of(header, ask.url.path(), &body);
    let mut loaded = Loaded {
        final_url: ask.url.clone(),
        status: 200,
        content_type,
        rendered: false,
        is_markup: true,
        document: Document::default(),
    };
    loaded.document = match kind {
        Kind::Html => {
            let part = Part { fragment: fragment.and_then(name_of_part), is_whole: ask.part.is_whole };
            html(&body, header, (ask, &part), &loaded, file)?
        }
        Kind::Image => {
            let reader = client.tool_name("ReadImage");
            let kind = &loaded.content_type;
            return Err(Failure::Failed(format!(
                "{} is an image ({kind}), which cannot be read as text. Open it with {reader}.",
                file.path
            )));
        }
        Kind::Binary => {
            let kind = &loaded.content_type;
            return Err(Failure::Failed(format!(
                "{} is a binary file ({kind}), which cannot be read as text.",
                file.path
            )));
        }
        kind => {
            let source = kinds::Source {
                header,
                content_type: &loaded.content_type,
                url: &ask.url,
                format: ask.format,
            };
            let read = kinds::read(client, kind, body, &source)?;
            loaded.is_markup = read.is_markup;
            read.document
        }
    };
    if ask.wait_ms.is_some() {
        loaded
            .document
            .notes
            .push("wait_ms counts for pages alone: a file is not opened in a browser.".to_owned());
    }
    shorten(&mut loaded.document, &ask.url);
    Ok(loaded)
}

fn html(
    body: &[u8],
    header: &str,
    (ask, part): (&Ask, &Part),
    loaded: &Loaded,
    file: &File,
) -> Result<Document, Failure> {
    let is_xml = loaded.content_type.ends_with("xml");
    let markup = if is_xml { Markup::Xml } else { Markup::Html };
    let source = charset::decode(body, header, markup, &ask.url)?;
    let rewritten = if is_xml { xhtml::as_html(&source) } else { None };
    let page = Page::parse(rewritten.as_deref().unwrap_or(&source));
    if !page.has_text() {
        return Err(Failure::Failed(format!(
            "{} has no text before its scripts run, and files are not opened in a browser.",
            file.path
        )));
    }
    Ok(page.read(&ask.url, part, ask.format))
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

/// Returns the media type of files that their content does not tell apart.
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

fn unread(error: FilesError, file: &File) -> Failure {
    match (error, &file.otherwise) {
        (FilesError::TooLarge(bytes), _) => Failure::Failed(format!(
            "{} has {bytes} bytes; files of at most {MAX_BYTES} bytes are read.",
            file.path
        )),
        (FilesError::NotFound(_), Some(Failure::InvalidInput(no_url))) => {
            Failure::InvalidInput(format!("{no_url} No file of the workspace has this path either."))
        }
        (error, _) => error.into(),
    }
}
