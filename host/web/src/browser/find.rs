//! Finds an installed browser.

use std::path::{Path, PathBuf};

use scorpiox_fs::{Writable, programs, resolve};

/// Paths of the browser executables. The file in `/usr/bin` is often a script that needs more of the system
/// than a sandbox provides.
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

/// Returns the operator's choice, if commands cannot write to it. Otherwise, returns the first known browser
/// that is installed and can be changed only by root.
pub fn find(chosen: Option<&Path>, writable: &Writable) -> Result<PathBuf, String> {
    if let Some(chosen) = chosen {
        return checked(chosen, writable)
            .map_err(|why| format!("`browser_path` of [web] in policy.toml is {}: {why}", chosen.display()));
    }
    let found = KNOWN.iter().map(Path::new).find(|path| programs::check(path, writable).is_ok());
    found.map(Path::to_owned).ok_or_else(|| {
        "no Chromium or Chrome is installed; on Debian and Ubuntu: apt-get install chromium. Another place can \
         be named by `browser_path` of [web] in policy.toml"
            .to_owned()
    })
}

fn checked(chosen: &Path, writable: &Writable) -> Result<PathBuf, String> {
    let found = resolve(chosen, writable).map_err(|error| error.to_string())?;
    if writable.covers(&found) {
        return Err("it lies where commands can write, which could exchange it".to_owned());
    }
    match found.metadata() {
        Ok(about) if about.is_file() => Ok(found),
        Ok(_) => Err("it is not a file; name the program".to_owned()),
        Err(_) => Err("there is nothing; install it there, or name another program".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_chosen_browser_lies_apart_from_what_commands_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        for name in ["work", "opt"] {
            fs::create_dir(root.join(name)).expect("a folder");
            fs::write(root.join(name).join("chrome"), "").expect("a file");
        }
        std::os::unix::fs::symlink(root.join("opt/chrome"), root.join("work/link")).expect("a link");
        std::os::unix::fs::symlink(root.join("opt/chrome"), root.join("chrome")).expect("a link");
        let writable = Writable::new([root.join("work")]);
        let find = |name: &str| find(Some(&root.join(name)), &writable);
        assert_eq!(find("chrome"), Ok(root.join("opt/chrome")));
        for (name, why) in [
            ("work/chrome", "lies where commands can write"),
            ("work/link", "is a symbolic link in a folder that commands can write"),
            ("opt", "it is not a file"),
            ("opt/none", "there is nothing"),
        ] {
            let said = find(name).expect_err("refused");
            assert!(said.contains("browser_path") && said.contains(why), "{said}");
        }
    }
}
