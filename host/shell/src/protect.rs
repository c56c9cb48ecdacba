//! Derives the path rules of a command or plugin from a survey.
//!
//! [`View::special`] is the only place that decides which paths have a rule. It serves all tiers, plugins,
//! and `policy why`. [`Special`] translates the rules for each tier.

mod branches;
mod kept;
mod special;

use std::io;
use std::path::{Path, PathBuf};

use scorpiox_fs::{Lost, Trail};
use scorpiox_git::{MAX_REPOSITORIES, Seen, User, obeyed};
use scorpiox_policy::plain_protected_names;
use scorpiox_sandbox::Tier;
use scorpiox_workspace_config::Site;

use super::ShellError;
use super::area::Area;
use super::survey::{Found, Look, OtherNames, Survey};
pub(crate) use kept::Kept;
pub use special::Special;
use special::Why;

/// All host files that commands see, except programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub areas: &'a [Area],
    /// The server's own folder, which may lie inside an area.
    pub own_home: &'a Path,
    /// The user's home directory.
    pub home: Option<&'a Path>,
    /// Start paths of programs outside the sandbox, which may lie inside an area and need not exist.
    pub programs: &'a [PathBuf],
    /// Limits on the number of rules.
    bounds: Bounds,
}

/// Limits for one command.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Maximum number of paths with a rule, including their parent folders. Each needs a mount.
    rules: usize,
    /// Maximum number of repositories that are followed.
    repositories: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        // The kernel allows 100,000 mounts.
        Self { rules: 20_000, repositories: MAX_REPOSITORIES }
    }
}

/// Maximum number of rules in T1b and under Seatbelt. bubblewrap accepts 9,000 arguments, and a rule needs up
/// to five. Under Seatbelt all rules form one argument.
const FEWER_RULES: usize = 1500;

/// Folders without which Git does not recognize a Git directory and continues its search in parent folders.
/// They are pinned.
const HELD: [&str; 2] = ["objects", "refs"];

/// Names in a git directory that commands neither create nor change, since git obeys them at the next commit. The existence of the folder makes git resolve conflicts as before, and write to the files in the list
/// `MERGE_RR`. It applies the changes of `MERGE_AUTOSTASH`.
const OBEYED_AT_COMMIT: [&str; 3] = ["MERGE_AUTOSTASH", "MERGE_RR", "rr-cache"];

impl<'a> View<'a> {
    /// Creates the view of these areas.
    pub(crate) fn new(site: &'a Site, areas: &'a [Area], programs: &'a [PathBuf]) -> Self {
        Self {
            areas,
            own_home: &site.own_home,
            home: site.home.as_deref(),
            programs,
            bounds: Bounds::default(),
        }
    }

    /// Lowers the limits to those of `tier`.
    pub(super) fn in_tier(mut self, tier: Tier) -> Self {
        if matches!(tier, Tier::T1b | Tier::Seatbelt) {
            self.bounds.rules = FEWER_RULES;
        }
        self
    }
}

impl View<'_> {
    /// Surveys the areas and returns the paths that need a rule.
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
        // This must precede closing crowded folders, because their content can also lead elsewhere.
        Self::add_other_names(survey, special);
        special.end_walks()?;
        let kept = survey.kept();
        if Survey::may_be_closed_by_commands(&special.unseen()) {
            kept.recall(special);
        }
        // The rules rarely change from one command to the next.
        if !special.are_kept(&kept) {
            survey.keep(special.kept());
        }
        special.bound(self.bounds.rules)
    }

    /// Protects the targets of links inside protected folders, since hooks and settings are often links.
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

    /// Applies the rule of a file to all its other names.
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

    /// Protects the files that Git obeys. If there are too many to follow, folders are closed until the
    /// remaining files can be followed.
    fn protect_git(&self, found: &Found, special: &mut Special) -> io::Result<()> {
        let git = self.git(found);
        special.close_branches(git.folders.iter().chain(&git.pointers), self.bounds.repositories);
        // Closed repositories are followed too, because they lead elsewhere.
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
        for path in obeyed.folders.iter().flat_map(|folder| OBEYED_AT_COMMIT.map(|name| folder.join(name))) {
            Self::protect_here(&path, Why::Git, special);
        }
        special.repositories.extend(obeyed.folders);
        for path in git.folders.iter().flat_map(|folder| HELD.map(|name| folder.join(name))) {
            match path.symlink_metadata() {
                Ok(found) if found.is_dir() => special.pin(&path),
                Ok(found) if found.is_symlink() => special.freeze(&path, Why::Git),
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes the target of a path inaccessible. Fails if that is impossible and `must` is set.
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

    /// Protects a path whose parent contains no link.
    fn protect_here(path: &Path, why: Why, special: &mut Special) {
        match path.symlink_metadata() {
            Ok(found) if !found.is_symlink() => special.freeze(path, why),
            Err(error) if error.kind() == io::ErrorKind::NotFound => special.keep_absent(path, why),
            // A link, or a parent that is not a folder anymore.
            _ => Self::protect(path, why, special),
        }
    }

    /// Protects the target of a path from changes, and the path from being redirected.
    fn protect(path: &Path, why: Why, special: &mut Special) {
        let trail = match special.follow(path) {
            Ok(trail) => trail,
            Err(lost) => {
                // Circular links, or an already closed path. The kernel may accept a path that is too long to
                // follow here.
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
            // The target cannot be created while this is not a folder.
            Some(blocked) => special.freeze(blocked, why),
            None if trail.exists => special.freeze(&trail.end, why),
            None => special.keep_absent(&trail.end, why),
        }
    }

    /// Hides a path and, if it is a link, its target.
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

    /// Collects the starting points of Git: from the survey, from the parents of the areas, and from the
    /// user.
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
        // Paths near the roots are followed first.
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
