//! Loads the managed policy file, the user's file and the repository's file, and combines them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use scorpiox_fs::Stamp;
use sha2::{Digest as _, Sha256};

use crate::document::Problem;
use crate::rule::{File, Layer, Places, REPOSITORY_FILE};

use crate::parse::Idle;
use crate::{Policy, load, managed, parse, repository, seen};

/// Paths of the policy files.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// Managed file, which applies to all users of the machine.
    pub managed: &'a Path,
    /// `true` if loading fails without the managed file.
    pub is_managed_required: bool,
    /// The user's file.
    pub own: &'a Path,
    /// Workspace that may have a file of its repository; `None` if nothing in it counts.
    pub workspace: Option<&'a Path>,
    /// Last valid text of the managed file, which stays in force if the file is broken.
    pub last_good: Option<&'a str>,
}

impl Files<'_> {
    /// Returns the current stamps of the files.
    pub fn stamps(&self) -> Stamps {
        let found = found(self.managed, self.own, self.workspace);
        let workspace = self.workspace.map(Path::to_owned);
        let exposed = load::check_way(self.own).err();
        Stamps { managed: self.managed.to_owned(), own: self.own.to_owned(), workspace, found, exposed }
    }

    /// Returns the text of the user's file, or `None` if it does not exist.
    pub fn own_text(&self) -> Result<Option<String>, Problem> {
        load::own_text(self.own)
    }

    /// Returns all mistakes in the first file that has any. Empty if the text of both files is valid, even if
    /// a file cannot be used for another reason.
    pub fn mistakes(&self) -> Vec<Problem> {
        let mut policy = Policy::builtin();
        if let Ok(Some(text)) = managed::text(self.managed) {
            match parse::policy(&text, self.managed, Layer::Managed, policy.clone()) {
                Ok(managed) => policy = managed,
                Err(_) => return parse::mistakes(&text, self.managed, Layer::Managed, &policy),
            }
        }
        if let Ok(Some(text)) = load::own_text(self.own) {
            match parse::policy(&text, self.own, Layer::Own, policy.clone()) {
                Ok(own) => policy = own,
                Err(_) => return parse::mistakes(&text, self.own, Layer::Own, &policy),
            }
        }
        match self.workspace.map(repository::text) {
            Some(Ok(Some(text))) => {
                parse::mistakes(&text, Path::new(REPOSITORY_FILE), Layer::Repository, &policy)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the entries of the user's file and of the repository's file that have no effect, because the files
    /// before it are at least as strict.
    pub fn idle(&self, places: &Places) -> Vec<Idle> {
        let (Ok(managed), Ok(own)) = (managed::text(self.managed), load::own_text(self.own)) else {
            return Vec::new();
        };
        let mut idle = match (&managed, &own) {
            (Some(managed), Some(own)) => parse::idle(&[managed], own, Layer::Own, places),
            _ => Vec::new(),
        };
        if let Some(Ok(Some(text))) = self.workspace.map(repository::text) {
            let before: Vec<&str> = [&managed, &own].into_iter().flatten().map(String::as_str).collect();
            idle.extend(parse::idle(&before, &text, Layer::Repository, places));
        }
        idle
    }
}

/// State of the policy files at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamps {
    managed: PathBuf,
    own: PathBuf,
    workspace: Option<PathBuf>,
    found: Found,
    /// Reason why others can exchange the user's file.
    exposed: Option<Problem>,
}

/// Stamps of the managed file and the user's file, of the marker of a missing user's file, and of the repository's
/// file. `None` for a file that does not exist.
type Found = [Option<Stamp>; 4];

impl Stamps {
    /// Returns `true` if no file has changed since, and the same users can exchange the user's file.
    pub fn is_current(&self) -> bool {
        found(&self.managed, &self.own, self.workspace.as_deref()) == self.found
            && load::check_way(&self.own).err() == self.exposed
    }
}

fn found(managed: &Path, own: &Path, workspace: Option<&Path>) -> Found {
    let own_stamp = stamp(own);
    // Reading the user's file creates the marker.
    let marker = if own_stamp.is_none() { stamp(&seen::note(own)) } else { None };
    [stamp(managed), own_stamp, marker, workspace.and_then(repository::stamp)]
}

/// The effective policy and the files it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// Effective policy.
    pub policy: Policy,
    /// Files that were read, the managed file first. Empty if the built-in policy applies.
    pub files: Vec<PathBuf>,
    /// `true` if a managed file exists.
    pub is_managed: bool,
    /// SHA-256 of the text that was read, in hexadecimal. A byte 0xff separates the texts of the managed file and the
    /// user's file, and a byte 0xfe comes before the text of the repository's file.
    pub hash: String,
    /// Texts that were read, so that a rule can be quoted verbatim.
    pub texts: Vec<(Layer, String)>,
    /// Reason why the repository's file cannot be used. Its workspace refuses every tool then.
    pub unusable_repository: Option<Problem>,
    /// Reason why the managed file cannot be used, if its last valid text stays in force instead.
    pub unusable_managed: Option<Problem>,
}

impl Loaded {
    /// Wraps a policy that was parsed from a single text, for a trial.
    pub fn of(policy: Policy) -> Self {
        let (files, hash, texts) = Default::default();
        Self {
            policy,
            files,
            is_managed: false,
            hash,
            texts,
            unusable_repository: None,
            unusable_managed: None,
        }
    }

    /// Returns the text of the managed file that stays in force if the file is broken later, if its policy says so.
    pub fn last_good(&self) -> Option<&str> {
        let managed = self.texts.iter().find(|(layer, _)| *layer == Layer::Managed);
        managed.filter(|_| self.policy.last_good.value).map(|(_, text)| text.as_str())
    }

    /// Returns the policy of the operator's files alone, without the one of the repository.
    pub fn of_operator(&self) -> &Policy {
        self.policy.widest()
    }

    /// Reads all files. The user's file narrows the managed policy key by key and never widens it, and the repository's
    /// file narrows both. `places` resolves places to paths, to tell which rules lie inside others.
    ///
    /// A mistake in the repository's file is kept in [`unusable_repository`](Self::unusable_repository).
    /// Fails if a file exists but cannot be used, or if the user's file existed before and is missing.
    pub fn read(files: &Files<'_>, places: &Places) -> Result<Self, Problem> {
        let own = load::own_text(files.own)?;
        match &own {
            Some(_) => seen::remember(files.own),
            None => seen::check_absent(files.own)?,
        }
        Self::combine(files, own, places)
    }

    /// Combines the managed file with a text that could replace the user's file.
    pub fn with_own(files: &Files<'_>, own: String, places: &Places) -> Result<Self, Problem> {
        Self::combine(files, Some(own), places)
    }

    fn combine(files: &Files<'_>, own: Option<String>, places: &Places) -> Result<Self, Problem> {
        let (managed, unusable_managed) = match (current(files.managed), files.last_good) {
            (Err(problem), Some(text)) if !problem.may_pass => {
                (Some(valid(files.managed, text.to_owned())?), Some(problem))
            }
            (current, _) => (current?, None),
        };
        if managed.is_none() && files.is_managed_required {
            return Err(Problem {
                path: files.managed.to_owned(),
                line: None,
                what: "is not there, and this server was started with `--managed required`".to_owned(),
                fix: "ask who manages this machine".to_owned(),
                may_pass: false,
            });
        }
        let mut read = Vec::new();
        let mut hash = Sha256::new();
        let mut policy = Policy::builtin();
        let (managed, all) = managed.unzip();
        if let Some((text, all)) = managed.as_ref().zip(all) {
            policy = all.for_all();
            read.push(files.managed.to_owned());
            hash.update(text);
        }
        if let Some(text) = &own {
            // Keys missing from the user's file keep their managed values.
            let narrower = parse::policy(text, files.own, Layer::Own, policy.clone())?;
            // Parsed on top of the administrator's approvers and approvals, which it cannot replace.
            let (approvers, approved) = (narrower.approvers.clone(), narrower.approved.clone());
            policy = if managed.is_some() { policy.narrowed_by(&narrower, places) } else { narrower };
            (policy.approvers, policy.approved) = (approvers, approved);
            read.push(files.own.to_owned());
            if managed.is_some() {
                // UTF-8 text never contains this byte, so two different pairs of texts cannot hash the same
                // input.
                hash.update([0xff]);
            }
            hash.update(text);
        }
        let mut texts: Vec<_> =
            [managed.clone().map(|text| (Layer::Managed, text)), own.map(|text| (Layer::Own, text))]
                .into_iter()
                .flatten()
                .collect();
        let repository = Repository::read(files, &policy, places);
        if let Some(text) = repository.text {
            hash.update([0xfe]);
            hash.update(&text);
            read.extend(files.workspace.map(|workspace| workspace.join(REPOSITORY_FILE)));
            texts.push((Layer::Repository, text));
        }
        policy = repository.narrower.unwrap_or(policy);
        let hash = hash.finalize().iter().fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        });
        let is_managed = managed.is_some();
        let unusable_repository = repository.unusable;
        Ok(Self { policy, files: read, is_managed, hash, texts, unusable_repository, unusable_managed })
    }
}

/// Returns the text of the managed file and its policy, if there is a file.
fn current(managed: &Path) -> Result<Option<(String, Policy)>, Problem> {
    managed::text(managed)?.map(|text| valid(managed, text)).transpose()
}

fn valid(managed: &Path, text: String) -> Result<(String, Policy), Problem> {
    let policy = parse::policy(&text, managed, Layer::Managed, Policy::builtin())?;
    Ok((text, policy))
}

/// The file of a repository, and the policy that it comes to.
#[derive(Default)]
struct Repository {
    text: Option<String>,
    narrower: Option<Policy>,
    unusable: Option<Problem>,
}

impl Repository {
    fn read(files: &Files<'_>, policy: &Policy, places: &Places) -> Self {
        match files.workspace.map_or(Ok(None), repository::text) {
            Ok(None) => Self::default(),
            Ok(Some(text)) => {
                let path = Path::new(REPOSITORY_FILE);
                let by = parse::policy(&text, path, Layer::Repository, policy.clone());
                let by = by.map(|by| policy.narrowed_as(&by, places, File::Repository));
                let (narrower, unusable) = match by {
                    Ok(narrower) => (Some(narrower), None),
                    Err(problem) => (None, Some(problem)),
                };
                Self { text: Some(text), narrower, unusable }
            }
            Err(problem) => Self { unusable: Some(problem), ..Self::default() },
        }
    }
}

/// Returns the stamp of a file, or `None` if its metadata cannot be read. Reading the file then reports that
/// error.
fn stamp(path: &Path) -> Option<Stamp> {
    path.metadata().ok().map(|about| Stamp::of(&about))
}
