//! Loads the managed policy file and the user's file, and combines them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use scorpiox_fs::Stamp;
use sha2::{Digest as _, Sha256};

use crate::document::Problem;
use crate::rule::{Layer, Places};

use crate::parse::Idle;
use crate::{Policy, load, managed, parse, seen};

/// Paths of the policy files.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// Managed file, which applies to all users of the machine.
    pub managed: &'a Path,
    /// `true` if loading fails without the managed file.
    pub is_managed_required: bool,
    /// The user's file.
    pub own: &'a Path,
}

impl Files<'_> {
    /// Returns the current stamps of the files.
    pub fn stamps(&self) -> Stamps {
        let found = found(self.managed, self.own);
        Stamps { managed: self.managed.to_owned(), own: self.own.to_owned(), found }
    }

    /// Returns the text of the user's file, or `None` if it does not exist.
    pub fn own_text(&self) -> Result<Option<String>, Problem> {
        load::text(self.own)
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
        match load::text(self.own) {
            Ok(Some(text)) => parse::mistakes(&text, self.own, Layer::Own, &policy),
            _ => Vec::new(),
        }
    }

    /// Returns the entries of the user's file that have no effect because the managed file is at least as
    /// strict.
    pub fn idle(&self, places: &Places) -> Vec<Idle> {
        match (managed::text(self.managed), load::text(self.own)) {
            (Ok(Some(managed)), Ok(Some(own))) => parse::idle(&managed, &own, places),
            _ => Vec::new(),
        }
    }
}

/// State of the policy files at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamps {
    managed: PathBuf,
    own: PathBuf,
    found: Found,
}

/// Stamps of the managed file and the user's file, and of the marker of a missing user's file. `None` for a file
/// that does not exist.
type Found = [Option<Stamp>; 3];

impl Stamps {
    /// Returns `true` if no file has changed since.
    pub fn is_current(&self) -> bool {
        found(&self.managed, &self.own) == self.found
    }
}

fn found(managed: &Path, own: &Path) -> Found {
    let own_stamp = stamp(own);
    // Reading the user's file creates the marker.
    let marker = if own_stamp.is_none() { stamp(&seen::note(own)) } else { None };
    [stamp(managed), own_stamp, marker]
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
    /// SHA-256 of the text that was read, in hexadecimal. If there are two texts, a byte 0xff separates them.
    pub hash: String,
    /// Texts that were read, so that a rule can be quoted verbatim.
    pub texts: Vec<(Layer, String)>,
}

impl Loaded {
    /// Wraps a policy that was parsed from a single text, for a trial.
    pub fn of(policy: Policy) -> Self {
        let (files, hash, texts) = Default::default();
        Self { policy, files, is_managed: false, hash, texts }
    }

    /// Reads both files. The user's file narrows the managed policy key by key and never widens it. `places`
    /// resolves places to paths, to tell which rules lie inside others.
    ///
    /// Fails if a file exists but cannot be used, or if the user's file existed before and is missing.
    pub fn read(files: &Files<'_>, places: &Places) -> Result<Self, Problem> {
        let own = load::text(files.own)?;
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
        let managed = managed::text(files.managed)?;
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
        if let Some(text) = &managed {
            policy = parse::policy(text, files.managed, Layer::Managed, policy)?.for_all();
            read.push(files.managed.to_owned());
            hash.update(text);
        }
        if let Some(text) = &own {
            // Keys missing from the user's file keep their managed values.
            let narrower = parse::policy(text, files.own, Layer::Own, policy.clone())?;
            policy = if managed.is_some() { policy.narrowed_by(&narrower, places) } else { narrower };
            read.push(files.own.to_owned());
            if managed.is_some() {
                // UTF-8 text never contains this byte, so two different pairs of texts cannot hash the same
                // input.
                hash.update([0xff]);
            }
            hash.update(text);
        }
        let hash = hash.finalize().iter().fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        });
        let texts = [managed.clone().map(|text| (Layer::Managed, text)), own.map(|text| (Layer::Own, text))];
        let (is_managed, texts) = (managed.is_some(), texts.into_iter().flatten().collect());
        Ok(Self { policy, files: read, is_managed, hash, texts })
    }
}

/// Returns the stamp of a file, or `None` if its metadata cannot be read. Reading the file then reports that
/// error.
fn stamp(path: &Path) -> Option<Stamp> {
    path.metadata().ok().map(|about| Stamp::of(&about))
}
