//! The two files, and what comes of both.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use scorpiox_paths::Stamp;
use sha2::{Digest as _, Sha256};

use scorpiox_document::Problem;
use scorpiox_rules::{Layer, Places};

use crate::parse::Idle;
use crate::{Policy, load, managed, parse, seen};

/// Where the files are.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// The one that holds for all users of the machine.
    pub managed: &'a Path,
    /// Whether nothing is allowed without that one.
    pub is_managed_required: bool,
    /// The person's own.
    pub own: &'a Path,
}

impl Files<'_> {
    /// All mistakes of the first file that has some; none where it is not a mistake in a file that keeps the policy from
    /// being used.
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

    /// What of the person's own file changes nothing beside the one for all users.
    pub fn idle(&self, places: &Places) -> Vec<Idle> {
        match (managed::text(self.managed), load::text(self.own)) {
            (Ok(Some(managed)), Ok(Some(own))) => parse::idle(&managed, &own, places),
            _ => Vec::new(),
        }
    }
}

/// What holds, and what it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What holds.
    pub policy: Policy,
    /// The files that were read, the strongest first; with none, the built-in policy holds.
    pub files: Vec<PathBuf>,
    /// Whether there is one that holds for all users of the machine.
    pub is_managed: bool,
    /// What the two files were before they were read, whether they were there or not.
    stamps: Vec<(PathBuf, Option<Stamp>)>,
    /// SHA-256 of the one text that was read, in hexadecimal digits; of both texts, with a byte 0xff between, where
    /// there are two.
    pub hash: String,
    /// The texts that were read, so that a rule can be cited by its words.
    pub texts: Vec<(Layer, String)>,
}

impl Loaded {
    /// A policy that was read from one file, to be tried.
    pub fn of(policy: Policy) -> Self {
        let (files, stamps, hash, texts) = Default::default();
        Self { policy, files, is_managed: false, stamps, hash, texts }
    }

    /// Whether the files are still those that were read.
    pub fn is_current(&self) -> bool {
        self.stamps.iter().all(|(path, before)| stamp(path) == *before)
    }

    /// Reads both files. The person's own narrows what holds for all, key by key, and never widens
    /// it; `places` say which paths lie in one another. A file that is there in any form and cannot
    /// be used is a problem, and so is a person's own that was there and is gone.
    pub fn read(files: &Files<'_>, places: &Places) -> Result<Self, Problem> {
        let stamps = [files.managed, files.own].map(|path| (path.to_owned(), stamp(path))).to_vec();
        let managed = managed::text(files.managed)?;
        let own = load::text(files.own)?;
        match &own {
            Some(_) => seen::remember(files.own),
            None => seen::check_absent(files.own)?,
        }
        if managed.is_none() && files.is_managed_required {
            return Err(Problem {
                path: files.managed.to_owned(),
                line: None,
                what: "is not there, and this server was started with `--managed required`".to_owned(),
                fix: "ask who manages this machine".to_owned(),
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
            // What it does not say is what holds for all.
            let narrower = parse::policy(text, files.own, Layer::Own, policy.clone())?;
            policy = if managed.is_some() { policy.narrowed_by(&narrower, places) } else { narrower };
            read.push(files.own.to_owned());
            if managed.is_some() {
                // No text has this byte, so that two pairs of texts are never alike.
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
        Ok(Self { policy, files: read, is_managed, stamps, hash, texts })
    }
}

/// What is at a path; nothing also where it cannot be looked at, which is a problem of its own when it is read.
fn stamp(path: &Path) -> Option<Stamp> {
    path.metadata().ok().map(|about| Stamp::of(&about))
}
