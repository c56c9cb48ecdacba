//! Read access to files of the workspace and of folders that the operator granted.
//!
//! A path is resolved, checked against the policy, and then opened component by component without following
//! links. A component that is replaced by a link after the check is therefore not read. Nothing outside of the folders
//! that may be read decides about an answer.

mod host;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_audit::{APPROVAL, BUILT_IN, FileNames, Uses};
use scorpiox_fs::{Inside, has_other_names, normalized, open_file};
use scorpiox_policy::FileDenial;

use super::approved::Approved;
use super::granted::decide;
use super::rules;
use scorpiox_workspace_config::{Operator, OperatorError};

pub use host::{FilesCtx, FilesFailure};

/// Maximum size of a file in bytes, independent of the guest's limit, because the host also keeps the file in
/// memory.
const MAX_BYTES: u64 = 128 * 1024 * 1024;

/// Reason why a file is not read. Each text is a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum FileError {
    #[error("{0}")]
    Denied(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Invalid(String),
    #[error("the file has {0} bytes")]
    TooLarge(u64),
    #[error("{0}")]
    Failed(String),
}

/// Reads files under the operator's policy.
pub struct Files {
    operator: Arc<Operator>,
}

impl Files {
    /// Creates a reader for the workspace that commands also use.
    pub fn new(operator: Arc<Operator>) -> Self {
        Self { operator }
    }

    /// Returns the complete file at a path, if it has at most `limit` bytes. A relative path starts in the
    /// workspace, and `~/` in the home directory. For plugin components, the file must lie in a folder that
    /// was `approved`.
    pub fn read(
        &self,
        path: &str,
        limit: u64,
        approved: Option<&Approved>,
        uses: &Uses,
    ) -> Result<Vec<u8>, FileError> {
        if path.is_empty() || path.contains('\0') {
            return Err(FileError::Invalid(format!("{path:?} is not the path of a file")));
        }
        let asked = &self.expanded(path);
        let checked = self.place(asked, approved);
        match &checked {
            Ok((path, folder)) => uses.allowed("files", folder.display(), self.rule(path, approved)),
            Err(denial) => {
                let named = path;
                let path = normalized(asked);
                let folder = path.parent().unwrap_or(&path);
                // The path itself may be allowed although its target is denied.
                let end = self.followed(asked, approved).map(|followed| followed.end);
                let decides = end.filter(|_| self.folder(&path, approved).is_ok());
                let rule = self.rule(decides.as_ref().unwrap_or(&path), approved);
                uses.denied_by_name("files", folder.display(), named, &denial.rule, rule);
            }
        }
        let (resolved, _) = checked.map_err(|denial| {
            let remedy = remedy(&denial, asked, approved.is_some(), uses);
            FileError::Denied(format!("{} does not exist, or is {}{remedy}", shown(asked), denial.rule))
        })?;
        let limit = limit.min(MAX_BYTES);
        let mut file = open_file(&resolved).map_err(|error| said(asked, &error))?;
        let about = file.metadata().map_err(|error| said(asked, &error))?;
        let names = || {
            let forms = self.followed(asked, approved).map(|followed| followed.forms).unwrap_or_default();
            let known = forms.into_iter().chain([resolved.clone()]).collect();
            FileNames { known, has_others: has_other_names(&about) }
        };
        // Only a file that exists counts as read.
        uses.reads(&self.granted(approved), names).map_err(FileError::Failed)?;
        if about.len() > limit {
            return Err(FileError::TooLarge(about.len()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0));
        // The file may have grown since the check.
        (&mut file).take(limit + 1).read_to_end(&mut bytes).map_err(|error| said(asked, &error))?;
        if bytes.len() as u64 > limit {
            return Err(FileError::TooLarge(bytes.len() as u64));
        }
        Ok(bytes)
    }

    /// Expands a requested path: `~` is the user's home directory, and relative paths start in the workspace.
    fn expanded(&self, path: &str) -> PathBuf {
        let site = self.operator.site();
        let inside = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match inside.zip(site.home.as_ref()) {
            Some((inside, home)) => home.join(inside.trim_start_matches('/')),
            None => site.workspace.join(path),
        }
    }

    /// Resolves a path, and returns it with the folder that permits reading it. A refusal is the same whether
    /// or not a file exists, and does not mention link targets. Otherwise, it would reveal files elsewhere.
    fn place(&self, asked: &Path, approved: Option<&Approved>) -> Result<(PathBuf, PathBuf), FileDenial> {
        let followed = self.followed(asked, approved);
        // A rule that denies any of the names along the links denies the file.
        self.check_denied(followed.iter().flat_map(|followed| &followed.forms), asked, approved)?;
        // The resolved path is later opened without following links.
        if let Some(followed) = followed
            && let Ok(folder) = self.folder(&followed.end, approved)
        {
            return Ok((followed.end, folder));
        }
        self.folder(&normalized(asked), approved)?;
        let rule = "a symbolic link, or lies behind one, and it leads outside what may be read, or to what is denied there";
        Err(FileDenial::new(asked, rule.to_owned()))
    }

    /// Follows a path through the folders that may be read.
    fn followed(&self, asked: &Path, approved: Option<&Approved>) -> Option<Inside> {
        let policy = &self.operator.policy().ok()?.files;
        let places = self.operator.places_with(&self.granted(approved)).ok()?;
        let roots = approved.map(|approved| approved.present(&self.operator.site().workspace));
        Inside::follow(asked, &|path| match &roots {
            None => policy.check(path, &places).is_ok(),
            Some(roots) => decide(&self.operator, &places, roots, path, false).is_ok(),
        })
    }

    /// Returns the rule that decides about a path.
    fn rule(&self, path: &Path, approved: Option<&Approved>) -> String {
        let (Ok(policy), Ok(places)) = (self.operator.policy(), self.operator.places()) else {
            return BUILT_IN.to_owned();
        };
        let roots = approved.map(|approved| approved.present(&self.operator.site().workspace));
        let Some(roots) = roots else { return rules::of_file(&policy.files, path, &[], &places) };
        let granted: Vec<_> = roots.into_iter().map(|(root, _)| root).collect();
        if !granted.iter().any(|root| path.starts_with(root)) {
            return APPROVAL.to_owned();
        }
        rules::of_file(&policy.files, path, &granted, &places)
    }

    /// Fails if `deny` matches any of the paths that lead to `asked`.
    fn check_denied<'p>(
        &self,
        mut paths: impl Iterator<Item = &'p PathBuf>,
        asked: &Path,
        approved: Option<&Approved>,
    ) -> Result<(), FileDenial> {
        let refused = |error: Arc<OperatorError>| FileDenial::new(asked, format!("not read: {error}"));
        let policy = self.operator.policy().map_err(refused)?;
        let granted = self.granted(approved);
        let places = self.operator.places_with(&granted).map_err(refused)?;
        paths.try_for_each(|path| policy.files.check_denied(path, &granted, &places))
    }

    /// Returns the approved folders that exist.
    fn granted(&self, approved: Option<&Approved>) -> Vec<PathBuf> {
        let roots = approved.map(|approved| approved.present(&self.operator.site().workspace));
        roots.into_iter().flatten().map(|(root, _)| root).collect()
    }

    /// Returns the folder that permits reading a path.
    fn folder(&self, path: &Path, approved: Option<&Approved>) -> Result<PathBuf, FileDenial> {
        let refused = |rule: String| FileDenial::new(path, rule);
        let policy = self.operator.policy();
        let policy = &policy.map_err(|error| refused(format!("not read: {error}")))?.files;
        let setup = self.operator.site();
        let places = self.operator.places_with(&self.granted(approved));
        let places = places.map_err(|error| refused(format!("not read: {error}")))?;
        let Some(approved) = approved else {
            return policy.check(path, &places);
        };
        let roots = approved.present(&setup.workspace);
        decide(&self.operator, &places, &roots, path, false)
    }
}

/// Folders of which most sandboxes have others of the same name.
const OF_COMMANDS: [&str; 3] = ["/tmp", "/dev/shm", "/home/user"];

/// Returns how to open a file for tools, as the end of a sentence: the command of the person at the machine, or a hint.
/// Folders of a plugin are approved, and the caller over HTTP is another person.
fn remedy(denial: &FileDenial, asked: &Path, is_of_plugin: bool, uses: &Uses) -> String {
    let is_over_http = uses.client().is_some_and(|client| client.principal.is_some());
    let path = normalized(asked);
    let of_commands = OF_COMMANDS.iter().find(|folder| path.starts_with(folder)).map(|folder| {
        format!(
            "; commands have a {folder} of their own, and a command can copy a file from there into the workspace. If the \
             file of the machine is meant"
        )
    });
    let of_commands = of_commands.unwrap_or_default();
    match path.to_str().and_then(scorpiox_text::argument) {
        Some(shown) if denial.is_own && !is_of_plugin && !is_over_http => {
            let between = if of_commands.is_empty() { ";" } else { "," };
            format!(
                "{of_commands}{between} the person can allow it: `scorpiox-code policy allow file {shown}`"
            )
        }
        _ => denial.hint.clone(),
    }
}

/// Maximum number of a path's characters that an error shows.
const MAX_SHOWN: usize = 200;

fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text,
    }
}

fn said(path: &Path, error: &io::Error) -> FileError {
    let path = shown(path);
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            FileError::NotFound(format!("{path} does not exist"))
        }
        io::ErrorKind::InvalidFilename => FileError::Invalid(format!("{path} is longer than a path can be")),
        io::ErrorKind::InvalidInput => FileError::Invalid(format!("{path} is not a file")),
        io::ErrorKind::PermissionDenied => {
            FileError::Failed(format!("{path} cannot be read by the user of this server"))
        }
        _ => {
            let error = error.to_string();
            let words = error.split(" (os error").next().unwrap_or_default();
            FileError::Failed(format!("{path} cannot be read: {words}"))
        }
    }
}
