//! Paths that lead to the same page.

use super::{Care, normalised};

/// Names of index files.
const INDEXES: [&str; 14] = [
    "index.html",
    "index.htm",
    "index.xhtml",
    "index.shtml",
    "index.php",
    "index.asp",
    "index.aspx",
    "index.jsp",
    "index.cgi",
    "default.html",
    "default.htm",
    "default.asp",
    "default.aspx",
    "default.php",
];
/// Marker of a session ID in a path: `/page;jsessionid=…`.
const SESSION: &str = ";jsessionid=";

/// Returns the path with normalized escapes, without empty segments, index file names and a final `/`.
pub(super) fn identity(path: &str, care: Care) -> String {
    let lower = path.to_ascii_lowercase();
    let path = lower.rfind(SESSION).filter(|at| !lower[*at..].contains('/')).map_or(path, |at| &path[..at]);
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_index = |part: &&str| INDEXES.iter().any(|index| part.eq_ignore_ascii_case(index));
    parts.pop_if(|part| is_index(&&**part));
    if care > Care::Certain && parts.len() > 1 {
        if parts.last() == Some(&"amp") {
            parts.pop();
        } else if parts.first() == Some(&"amp") {
            parts.remove(0);
        }
    }
    let mut out = String::with_capacity(path.len() + 1);
    for part in &parts {
        out.push('/');
        // These characters separate parameters, which a path does not have.
        out.push_str(&normalised(part).replace("%26", "&").replace("%3D", "=").replace("%2B", "+"));
    }
    if care > Care::Certain {
        // `story.amp.html`, `story.amp`
        for ending in [".amp.html", ".amp"] {
            if let Some(rest) = out.strip_suffix(ending) {
                out = if ending == ".amp" { rest.to_owned() } else { format!("{rest}.html") };
                break;
            }
        }
    }
    if out.is_empty() { "/".to_owned() } else { out }
}
