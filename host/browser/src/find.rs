//! Which browser there is.

use std::path::{Path, PathBuf};

/// Programs themselves: what stands in `/usr/bin` is often a script that wants more of the
/// machine than a sandbox shows.
const KNOWN: [&str; 9] = [
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/opt/chromium/chrome",
    "/usr/lib/chromium/chrome",
    "/opt/microsoft/msedge/msedge",
    "/usr/bin/chromium",
];

/// The operator's choice, if it is a program, or the first of the known ones that is there.
pub fn find(chosen: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(chosen) = chosen {
        let found = chosen.canonicalize().map_err(|error| {
            format!("`browser_path` of [web] in policy.toml is {}: {error}", chosen.display())
        })?;
        return Ok(found);
    }
    let found = KNOWN.iter().map(Path::new).find(|path| path.is_file());
    found.map(Path::to_owned).ok_or_else(|| {
        "no Chromium or Chrome is installed; on Debian and Ubuntu: apt-get install chromium. Another place can \
         be named by `browser_path` of [web] in policy.toml"
            .to_owned()
    })
}
