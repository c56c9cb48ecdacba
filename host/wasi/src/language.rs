//! Files that the runtime of a language looks for on its own.

use std::ffi::OsStr;
use std::path::{Component, Path};

/// Folders in which componentize-py keeps modules, beside `0`, `1` and so on. They exist only while a component is built.
const OF_PYTHON: [&str; 3] = ["python", "bundled", "world"];
/// Endings of the names of modules.
const MODULES: [&str; 3] = ["py", "pyc", "so"];

/// Reports whether a path is one of those that Python reads to find a module, or to print the lines of a traceback.
/// Its author neither wrote such an access nor can allow it.
pub(super) fn is_own_path(path: &Path) -> bool {
    let mut names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let Some(first) = names.next().and_then(OsStr::to_str) else { return false };
    let is_root = OF_PYTHON.contains(&first) || first.bytes().all(|byte| byte.is_ascii_digit());
    let is_module = |name: &OsStr| {
        let ending = Path::new(name).extension().and_then(OsStr::to_str);
        name == "__pycache__" || ending.is_some_and(|ending| MODULES.contains(&ending))
    };
    is_root && names.next_back().is_none_or(is_module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_modules_and_modules_in_them_are_pythons_own() {
        for path in
            ["/python", "0", "./0/app.py", "/python/json/__init__.pyc", "bundled/x/__pycache__", "world/m.so"]
        {
            assert!(is_own_path(Path::new(path)), "{path}");
        }
        for path in
            ["/", "", "app.py", "src/app.py", "python/data.csv", "0/notes.txt", "/srv/0/app.py", "../../etc"]
        {
            assert!(!is_own_path(Path::new(path)), "{path}");
        }
    }
}
