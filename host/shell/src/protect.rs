//! From what was found to the rules of one command, or of one plugin.
//!
//! [`View::special`] decides which paths have a rule of their own; it is the one place that does, for
//! all tiers, for plugins and for `policy why`. [`Special`] turns them into what a tier needs.

mod branches;
mod kept;
mod special;

use std::io;
use std::path::{Path, PathBuf};

use scorpiox_cell::Tier;
use scorpiox_gitdirs::{MAX_REPOSITORIES, Seen, User, obeyed};
use scorpiox_operator::Site;
use scorpiox_paths::{Lost, Trail};
use scorpiox_policy::plain_protected_names;

use super::ShellError;
use super::area::Area;
use super::survey::{Found, Look, OtherNames, Survey};
pub(crate) use kept::Kept;
pub use special::Special;
use special::Why;

/// All that commands see of this machine's own files, but for programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub areas: &'a [Area],
    /// The program's own folder, which may lie inside.
    pub own_home: &'a Path,
    /// The user's home folder.
    pub home: Option<&'a Path>,
    /// What programs outside start from, which may lie inside: paths that need not exist.
    pub programs: &'a [PathBuf],
    /// How much of it may have rules.
    bounds: Bounds,
}

/// What one command has at most.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Paths with a rule, and folders above them: each takes it a mount.
    rules: usize,
    /// Repositories that are followed.
    repositories: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        // The kernel allows 100,000 mounts.
        Self { rules: 20_000, repositories: MAX_REPOSITORIES }
    }
}

/// Rules in T1b: bubblewrap takes 9,000 words, of which a rule is up to five. Under Seatbelt they are one argument.
const FEWER_RULES: usize = 1500;

/// Folders in one of git's without which git takes it for none, and looks further up: nobody moves them away.
const HELD: [&str; 2] = ["objects", "refs"];

impl<'a> View<'a> {
    /// Of these areas.
    pub(crate) fn new(site: &'a Site, areas: &'a [Area], programs: &'a [PathBuf]) -> Self {
        Self {
            areas,
            own_home: &site.own_home,
            home: site.home.as_deref(),
            programs,
            bounds: Bounds::default(),
        }
    }

    /// The same, with as many rules as commands of a tier can have.
    pub(super) fn in_tier(mut self, tier: Tier) -> Self {
        if matches!(tier, Tier::T1b | Tier::Seatbelt) {
            self.bounds.rules = FEWER_RULES;
        }
        self
    }
}

impl View<'_> {
    /// The paths with a rule of their own, by a new look at the areas.
    pub(crate) fn special(&self, survey: &Survey) -> Result<Special, ShellError> {
        let Look { found, reopened } = survey.look()?;
        let mut special = Special::new(self.areas, reopened);
        self.decide(&found, survey, &mut special).map_err(ShellError::io("looking through the folders"))?;
        Ok(special)
    }

    fn decide(&self, found: &Found, survey: &Survey, special: &mut Special) -> io::Result<()> {
        for (paths, why) in [(&found.denied, Why::Denied), (&found.sockets, Why::Socket)] {
            for path in paths {
                Self::hide(path, why, special);
            }
        }
        for unseen in &found.unseen {
            special.hide(&unseen.path, Why::Unseen(unseen.why));
        }
        if self.own_home.exists() {
            special.hide(self.own_home, Why::Own);
        }
        if self.areas.iter().any(|area| area.write) {
            self.protect_names(found, special);
            self.protect_git(found, special)?;
            for path in self.programs {
                Self::protect(path, Why::Program, special);
            }
        }
        self.follow_links(survey, special);
        // Before anything is closed for having too much in it: that leads elsewhere, too.
        Self::add_other_names(survey, special);
        let kept = survey.kept();
        if Survey::may_be_closed_by_commands(&special.unseen()) {
            kept.recall(special);
        }
        // From one command to the next there is seldom another rule.
        if !special.are_kept(&kept) {
            survey.keep(special.kept());
        }
        special.end_walks()?;
        special.bound(self.bounds.rules)
    }

    /// What is in a protected folder is protected where it is: hooks and settings are often links.
    fn follow_links(&self, survey: &Survey, special: &mut Special) {
        let mut left = self.bounds.rules;
        while let Some((folder, why)) = special.next_fresh() {
            let links = survey.links_below(&folder);
            let Some(rest) = left.checked_sub(links.len()) else {
                special.hide(&folder, Why::Unseen("holds more links than are followed"));
                continue;
            };
            left = rest;
            for link in links {
                Self::protect(&link, why, special);
            }
        }
    }

    /// Gives all names of a file the rule of one.
    fn add_other_names(survey: &Survey, special: &mut Special) {
        let hidden = special.hidden().iter().filter(|(_, why)| matches!(why, Why::Denied));
        let hidden: Vec<_> = hidden.map(|(path, why)| (path.clone(), *why, true)).collect();
        let count = hidden.len();
        let frozen = special.frozen().iter().map(|(path, why)| (path.clone(), *why, false));
        let rules: Vec<_> = hidden.into_iter().chain(frozen).collect();
        let paths: Vec<&Path> = rules.iter().map(|(path, ..)| path.as_path()).collect();
        let OtherNames { names, unseen } = survey.other_names(&paths, count);
        for (path, at) in names {
            match rules.get(at) {
                Some((_, why, true)) => special.hide(&path, *why),
                Some((_, why, false)) => special.freeze(&path, *why),
                None => {}
            }
        }
        for path in unseen {
            special.hide(&path, Why::Unseen("could not be looked at"));
        }
    }

    fn protect_names(&self, found: &Found, special: &mut Special) {
        for path in &found.names {
            Self::protect_here(path, Why::Name, special);
        }
        for link in &found.links {
            special.freeze(link, Why::Name);
        }
        let roots = self.areas.iter().filter(|area| area.write && area.path.is_dir());
        for root in roots {
            for name in plain_protected_names() {
                Self::protect_here(&root.path.join(name), Why::Name, special);
            }
        }
    }

    /// What git obeys. Where that is more than is followed, folders are closed until the rest is not.
    fn protect_git(&self, found: &Found, special: &mut Special) -> io::Result<()> {
        let git = self.git(found);
        special.close_branches(git.folders.iter().chain(&git.pointers), self.bounds.repositories);
        // What is closed is followed as well, since it leads elsewhere.
        let obeyed = obeyed(git.seen());
        for path in &obeyed.left_out {
            let must = obeyed.begun.contains(path);
            Self::close(path, Why::Unseen("has more that git obeys than is followed"), must, special)?;
        }
        for path in &obeyed.files {
            Self::protect(path, Why::Git, special);
        }
        for folder in &obeyed.passed {
            special.pin(folder);
        }
        for path in git.folders.iter().flat_map(|folder| HELD.map(|name| folder.join(name))) {
            match path.symlink_metadata() {
                Ok(found) if found.is_dir() => special.pin(&path),
                Ok(found) if found.is_symlink() => special.freeze(&path, Why::Git),
                _ => {}
            }
        }
        Ok(())
    }

    /// Nobody reaches what a path leads to. Where that cannot be, it is an error if it `must`.
    fn close(path: &Path, why: Why, must: bool, special: &mut Special) -> io::Result<()> {
        let Trail { end, exists, .. } = match special.follow(path) {
            Ok(trail) => trail,
            Err(lost @ Lost::TooLong(_)) if must => return Err(lost.into()),
            Err(_) => return Ok(()),
        };
        if must && special.holds_area(&end) {
            return Err(io::Error::other(format!("{} {why}; remove some of it", end.display())));
        }
        if exists {
            special.hide(&end, why);
        } else {
            special.keep_absent(&end, why);
        }
        Ok(())
    }

    /// The same of a path whose folder is reached through no link.
    fn protect_here(path: &Path, why: Why, special: &mut Special) {
        match path.symlink_metadata() {
            Ok(found) if !found.is_symlink() => special.freeze(path, why),
            Err(error) if error.kind() == io::ErrorKind::NotFound => special.keep_absent(path, why),
            // A link, or a folder that is none any more.
            _ => Self::protect(path, why, special),
        }
    }

    /// Nothing can change what a path leads to, nor lead it elsewhere.
    fn protect(path: &Path, why: Why, special: &mut Special) {
        let trail = match special.follow(path) {
            Ok(trail) => trail,
            Err(lost) => {
                // Links in a circle, or what is closed already. The system may take long for what leads too far.
                if matches!(lost, Lost::TooLong(_)) || path.symlink_metadata().is_ok() {
                    special.freeze(path, why);
                }
                return;
            }
        };
        for link in &trail.links {
            special.freeze(link, why);
        }
        for folder in &trail.left {
            if folder.is_dir() {
                special.pin(folder);
            } else {
                special.keep_absent(folder, why);
            }
        }
        match &trail.blocked {
            // It cannot come to be as long as this is not a folder.
            Some(blocked) => special.freeze(blocked, why),
            None if trail.exists => special.freeze(&trail.end, why),
            None => special.keep_absent(&trail.end, why),
        }
    }

    /// A link that is hidden hides what it leads to.
    fn hide(path: &Path, why: Why, special: &mut Special) {
        special.hide(path, why);
        let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if let (true, Ok(trail)) = (is_link, special.follow(path)) {
            for link in &trail.links {
                special.hide(link, why);
            }
            if trail.exists {
                special.hide(&trail.end, why);
            }
        }
    }

    /// Where git begins: in what was found, in the folders around the areas, and at the user's.
    fn git(&self, found: &Found) -> Git {
        let mut git = Git {
            folders: found.git_folders.clone(),
            pointers: found.git_pointers.clone(),
            user: User::of_process(self.home),
        };
        let around =
            self.areas.iter().filter(|area| area.write).flat_map(|area| area.path.ancestors().skip(1));
        let mut around: Vec<PathBuf> = around.map(|folder| folder.join(".git")).collect();
        around.sort();
        around.dedup();
        for path in around {
            match path.symlink_metadata() {
                Ok(found) if found.is_dir() => git.folders.push(path),
                Ok(_) => git.pointers.push(path),
                Err(_) => {}
            }
        }
        // What lies near the roots is followed first.
        git.folders.sort_by_cached_key(|path| (path.components().count(), path.clone()));
        git
    }
}

struct Git {
    folders: Vec<PathBuf>,
    pointers: Vec<PathBuf>,
    user: User,
}

impl Git {
    fn seen(&self) -> Seen<'_> {
        Seen { folders: &self.folders, pointers: &self.pointers, user: &self.user }
    }
}

#[cfg(test)]
mod tests;
