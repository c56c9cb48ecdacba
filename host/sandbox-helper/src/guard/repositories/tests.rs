use std::cell::Cell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::*;

pub(super) const OLD: fn(&About) -> bool = |_| false;
pub(super) const NEW: fn(&About) -> bool = |_| true;

/// Returns the time until which everything is judged.
pub(super) fn later() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

pub(super) fn nothing() -> Rc<SharedSet> {
    Rc::new(SharedSet::new().expect("memory"))
}

/// Returns a directory, and the repositories of a command that knows none.
pub(super) fn bed() -> (tempfile::TempDir, PathBuf, Repositories) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    (folder, root, Repositories::new(std::iter::empty(), nothing()))
}

fn about(path: &Path) -> About {
    About::folder(&reach::open(path).expect("a folder")).expect("known")
}

/// Creates a directory as the command or, without one, as another process.
pub(super) fn folder(path: &Path, command: Option<&Repositories>) {
    std::fs::create_dir(path).expect("a folder");
    if let Some(command) = command {
        command.made(&Spot::of(path), false, NEW);
    }
}

fn is_anothers(repositories: &Repositories, root: &Path, inside: &str) -> bool {
    repositories.is_anothers(root, Path::new(inside), NEW).expect("looks")
}

#[test]
fn a_repository_beyond_the_bound_is_not_the_commands() {
    let (_folder, root, mut all) = bed();
    all.most_own = 3;
    for (name, is_remembered) in [("a", true), ("b", false)] {
        folder(&root.join(name), Some(&all));
        folder(&root.join(name).join(".git"), Some(&all));
        assert_eq!(is_anothers(&all, &root, &format!("{name}/.git/hooks")), !is_remembered, "{name}");
        if is_remembered {
            folder(&root.join("c"), Some(&all));
        }
    }
}

#[test]
fn a_number_that_is_given_again_is_not_the_same_folder() {
    let (_folder, root, all) = bed();
    let about = |seconds| {
        let mut about = About::folder(&reach::open(&root).expect("a folder")).expect("known");
        about.born = Some(Duration::from_secs(seconds));
        about
    };
    all.own(&about(1));
    let is_known = |seconds| all.is_known(&about(seconds), None).expect("looks");
    assert!(is_known(1));
    assert!(!is_known(2));
    // A directory of an overlay gets another creation time when it is copied to the upper layer.
    let (_other, _, all) = bed();
    let number = keys(&all.hasher, &about(1))[1];
    assert!(!all.is_known(&about(9), None).expect("looks"));
    all.known.borrow_mut().begun.0.insert(number);
    assert!(all.is_known(&about(9), None).expect("looks"));
    let (_third, _, all) = bed();
    // On a file system without creation times, the generation tells.
    let by_generation = |number| {
        let mut about = about(3);
        (about.born, about.generation) = (None, Some(number));
        about
    };
    all.own(&by_generation(1));
    let is_known = |number| all.is_known(&by_generation(number), None).expect("looks");
    assert!(is_known(1));
    assert!(!is_known(2));
}

/// A user runs `git init --bare` in an empty directory that the command created for the repository.
#[test]
fn a_repository_that_somebody_makes_in_a_folder_of_the_commands_is_theirs() {
    for (name, first, is_new) in
        [("bare", "", NEW), (".git", "", NEW), ("late", "config", NEW), ("persons", "config", OLD)]
    {
        let (_folder, root, all) = bed();
        folder(&root.join(name), is_new(&about(&root)).then_some(&all));
        if !first.is_empty() {
            std::fs::write(root.join(name).join(first), "").expect("a file");
            all.made(&Spot::of(&root.join(name).join(first)), true, is_new);
        }
        for sign in ["refs", "objects"] {
            std::fs::create_dir(root.join(name).join(sign)).expect("a folder");
        }
        std::fs::write(root.join(name).join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        let spot = Spot::of(&root.join(name).join("config"));
        assert!(all.holds_anothers(&spot, "config", false, is_new).expect("looks"), "{name}");
        assert!(is_anothers(&all, &root, &format!("{name}/hooks")), "{name}");
        // A further name that the command creates does not make the repository its own either.
        std::fs::write(root.join(name).join("commondir"), "x").expect("a file");
        all.made(&Spot::of(&root.join(name).join("commondir")), true, NEW);
        assert!(all.holds_anothers(&spot, "config", false, is_new).expect("looks"), "{name}");
    }
}

/// A command that ran `touch HEAD; rm HEAD` in an empty directory has no claim to a later repository there.
#[test]
fn a_repository_is_the_commands_as_long_as_a_sign_of_it_is_there() {
    let (_folder, root, all) = bed();
    for (name, is_new, stays) in [("old", OLD, false), ("new", NEW, false), ("kept", NEW, true)] {
        let folder = root.join(name);
        super::tests::folder(&folder, is_new(&about(&root)).then_some(&all));
        let make = |sign: &str| {
            std::fs::write(folder.join(sign), "x").expect("a file");
            all.made(&Spot::of(&folder.join(sign)), true, is_new);
        };
        make("HEAD");
        if stays {
            make("commondir");
        }
        // The number of a removed file could be given to the next within one tick of the file system's clock.
        std::fs::rename(folder.join("HEAD"), root.join(format!("{name}-removed"))).expect("moves");
        let spot = Spot::of(&folder.join("config"));
        assert!(!all.holds_anothers(&spot, "config", false, is_new).expect("looks"), "{name}");
        for sign in ["refs", "objects"] {
            std::fs::create_dir(folder.join(sign)).expect("a folder");
        }
        std::fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        assert_eq!(all.holds_anothers(&spot, "config", false, is_new).expect("looks"), !stays, "{name}");
        let used = all.used(&root, Path::new(name), None, NEW).expect("looks");
        assert_eq!(used, (!stays).then_some(1), "{name}");
    }
}

/// `git clone --bare` creates its directory, and the names in it one after the other.
#[test]
fn a_directory_that_git_may_be_filling_takes_no_links() {
    let (_folder, root, all) = bed();
    folder(&root.join("theirs"), None);
    folder(&root.join("own"), Some(&all));
    folder(&root.join("own/info"), Some(&all));
    folder(&root.join("own/linked"), Some(&all));
    std::os::unix::fs::symlink("x", root.join("own/linked/hooks")).expect("a link");
    std::fs::write(root.join("own/linked/info"), "x").expect("a file");
    folder(&root.join("begun"), Some(&all));
    folder(&root.join("begun/hooks"), None);
    for (inside, name, is_used) in [
        ("theirs", "logs", true),
        ("theirs/logs", "head", true),
        ("theirs", "lib.so", false),
        ("own", "config", false),
        ("own/linked", "config", false),
        ("begun", "config", true),
        ("begun", "lib.so", false),
    ] {
        std::fs::create_dir_all(root.join(inside)).expect("folders");
        let used = all.used(&root, Path::new(inside), Some(name), NEW).expect("looks");
        assert_eq!(used, is_used.then_some(1), "{inside}/{name}");
        assert_eq!(all.used(&root, Path::new(inside), None, NEW).expect("looks"), None, "{inside}");
    }
    assert_eq!(all.used(&root, Path::new("theirs"), Some("logs"), OLD).expect("looks"), None);
}

/// Git creates `description`, `hooks` and `info` before the names that it asks for.
#[test]
fn a_directory_that_git_has_begun_to_fill_cannot_be_claimed() {
    for first in ["hooks", "description"] {
        let (_folder, root, all) = bed();
        folder(&root.join("store"), Some(&all));
        match first {
            "hooks" => folder(&root.join("store/hooks"), None),
            file => std::fs::write(root.join("store").join(file), "x").expect("a file"),
        }
        folder(&root.join("store/refs"), Some(&all));
        for name in ["HEAD", "objects"] {
            std::fs::write(root.join("store").join(name), "x").expect("a file");
        }
        let spot = Spot::of(&root.join("store/config"));
        assert!(all.holds_anothers(&spot, "config", false, NEW).expect("looks"), "{first}");
    }
}

/// `git init` by the command.
#[test]
fn a_directory_that_the_command_fills_is_its_repository() {
    let (_folder, root, all) = bed();
    folder(&root.join("own"), Some(&all));
    for name in ["description", "hooks", "info", "refs", "config", "HEAD", "objects"] {
        let path = root.join("own").join(name);
        if ["description", "config", "HEAD"].contains(&name) {
            std::fs::write(&path, "x").expect("a file");
            all.made(&Spot::of(&path), true, NEW);
        } else {
            folder(&path, Some(&all));
        }
        let spot = Spot::of(&root.join("own/config"));
        assert!(!all.holds_anothers(&spot, "config", false, NEW).expect("looks"), "{name}");
        assert_eq!(all.used(&root, Path::new("own"), Some("config"), NEW).expect("looks"), None, "{name}");
    }
}

/// `git clone --bare up proj; cd proj; git worktree add tree`
#[test]
fn a_work_tree_in_a_bare_repository_takes_links() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    for git in ["bare", "app/.git"] {
        for inside in ["objects", "refs", "tree/src", "logs/refs/heads", "rebase-merge/x"] {
            std::fs::create_dir_all(root.join(git).join(inside)).expect("folders");
        }
        std::fs::write(root.join(git).join("HEAD"), "x").expect("a file");
    }
    let trees = ["tree", "logs/refs", "rebase-merge"];
    let trees = ["bare", "app/.git"].map(|git| trees.map(|tree| root.join(git).join(tree).join(".git")));
    let all = Repositories::new(trees.iter().flatten().map(PathBuf::as_path), nothing());
    for (inside, used) in [
        ("bare/tree/src", None),
        ("bare/tree", None),
        ("bare", Some(1)),
        ("bare/logs/refs/heads", Some(1)),
        ("bare/rebase-merge/x", Some(1)),
        ("app/.git/tree/src", Some(2)),
    ] {
        assert_eq!(all.used(&root, Path::new(inside), Some("t"), OLD).expect("looks"), used, "{inside}");
    }
}

#[test]
fn whose_a_repository_is_tells_who_made_its_signs() {
    let (_folder, root, all) = bed();
    let make = |path: &str, sign: &str, is_new: fn(&About) -> bool| {
        std::fs::write(root.join(path).join(sign), "x").expect("a file");
        all.made(&Spot::of(&root.join(path).join(sign)), true, is_new);
    };
    for name in ["old", "theirs", "young", "own"] {
        folder(&root.join(name), (name == "own").then_some(&all));
    }
    std::fs::write(root.join("theirs/HEAD"), "x").expect("a file");
    std::fs::create_dir(root.join("theirs/objects")).expect("a folder");
    for (name, is_new) in [("old", OLD), ("theirs", OLD), ("young", NEW), ("own", NEW)] {
        make(name, "config", is_new);
        // The guard denies that the command creates `HEAD` there.
        if name != "theirs" {
            make(name, "HEAD", is_new);
        }
        let spot = Spot::of(&root.join(name).join("config"));
        let is_anothers = all.holds_anothers(&spot, "config", false, is_new).expect("looks");
        assert_eq!(is_anothers, name == "theirs" || name == "young", "{name}");
        assert_eq!(super::tests::is_anothers(&all, &root, &format!("{name}/hooks")), is_anothers, "{name}");
    }
    // None is complete, and each has a configuration that git would read then.
    let found = || {
        let (found, others) = all.found(later(), |_| false, OLD);
        assert_eq!(others, 0);
        found.into_iter().map(|found| found.path).collect::<Vec<_>>()
    };
    assert_eq!(found(), ["old", "own", "theirs", "young"].map(|name| root.join(name)));
    make("old", "commondir", OLD);
    std::fs::rename(root.join("old"), root.join("moved")).expect("moves");
    assert_eq!(found(), ["moved", "own", "theirs", "young"].map(|name| root.join(name)));
}

/// Commands choose the depth, and other commands wait for the judgement of a move. Opening each prefix of
/// the path from the root takes about 200 times as long as opening the path.
#[test]
fn the_work_for_a_path_grows_with_its_depth_and_no_faster() {
    const DEPTH: usize = 400;
    let (_folder, root, all) = bed();
    all.known.borrow_mut().begun.0.insert(0);
    let inside: PathBuf = std::iter::repeat_n("info", DEPTH).collect();
    std::fs::create_dir_all(root.join(&inside)).expect("folders");
    let own_time = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a time");
    let time = |work: &dyn Fn()| {
        let once = || {
            let before = own_time();
            work();
            own_time().saturating_sub(before)
        };
        (0..5).map(|_| once()).min().unwrap_or_default()
    };
    let opened = time(&|| drop(reach::open(&root.join(&inside)).expect("a folder")));
    let others = time(&|| assert!(!all.is_anothers(&root, &inside, OLD).expect("looks")));
    let used = time(&|| assert!(all.used(&root, &inside, Some("config"), OLD).expect("looks").is_none()));
    for taken in [others, used] {
        assert!(taken < 50 * opened, "{taken:?} instead of about {opened:?}");
    }
}

fn is_filled(all: &Repositories, path: &Path, is_root: bool, is_new: impl Fn(&About) -> bool) -> bool {
    let folder = reach::open(path).expect("a folder");
    all.may_be_filled(&folder, &about(path), is_root, is_new).expect("looks")
}

/// `git clone --bare` by another process, at the moments at which the command could add a hook.
#[test]
fn a_directory_that_git_may_be_filling_takes_no_names_of_git() {
    let (_folder, root, all) = bed();
    let theirs = root.join("theirs");
    folder(&theirs, None);
    assert!(is_filled(&all, &theirs, false, NEW), "another process created it a moment ago");
    assert!(!is_filled(&all, &theirs, true, NEW), "the writable directory itself");
    assert!(!is_filled(&all, &theirs, false, OLD), "it was there before, and is empty");
    let is_held =
        |name: &str| all.holds_anothers(&Spot::of(&theirs.join(name)), name, false, NEW).expect("looks");
    assert!(is_held("config") && is_held("hooks") && is_held("commondir") && is_held("config.lock"));
    assert!(!is_held("index.html"));
    assert!(is_anothers(&all, &root, "theirs/hooks"));
    assert!(!is_anothers(&all, &root, "theirs/assets"));
    // An entry that the command adds proves nothing.
    let add = |name: &str, by: Option<&Repositories>| {
        std::fs::write(theirs.join(name), "x").expect("a file");
        if let Some(command) = by {
            command.made(&Spot::of(&theirs.join(name)), true, NEW);
        }
    };
    add("index.html", Some(&all));
    assert!(is_held("config"));
    let _socket = std::os::unix::net::UnixListener::bind(theirs.join("socket")).expect("a socket");
    assert!(is_held("config"), "a command may have made it");
    folder(&theirs.join("hooks"), None);
    // The directory is asked about first.
    let is_first = Cell::new(true);
    assert!(
        is_filled(&all, &theirs, false, |_| !is_first.replace(false)),
        "git begins with the names that it always creates"
    );
    add("page.js", None);
    assert!(!is_held("config"), "git creates no such name");
    add("HEAD", None);
    assert!(is_held("config"), "nothing but git creates this name");

    let own = root.join("own");
    folder(&own, Some(&all));
    assert!(!is_filled(&all, &own, false, NEW));
}

/// Each command has a process of its own, which knows only what it created itself.
#[test]
fn entries_of_another_command_prove_nothing_either() {
    let (_folder, root, all) = bed();
    folder(&root.join("theirs"), None);
    let other = Repositories::new(std::iter::empty(), Rc::clone(&all.by_commands));
    std::fs::write(root.join("theirs/x"), "x").expect("a file");
    assert!(!is_filled(&all, &root.join("theirs"), false, NEW));
    other.made(&Spot::of(&root.join("theirs/x")), true, NEW);
    assert!(is_filled(&all, &root.join("theirs"), false, NEW));
}

#[test]
fn a_directory_with_hooks_is_told_before_it_is_a_repository() {
    let (_folder, root, all) = bed();
    for (name, file) in [("store", "post-update"), ("src", "use-title.ts"), ("empty", "")] {
        let hooks = root.join(name).join("hooks");
        std::fs::create_dir_all(&hooks).expect("folders");
        assert!(!all.is_anothers(&root, &Path::new(name).join("hooks"), OLD).expect("looks"));
        if !file.is_empty() {
            std::fs::write(hooks.join(file), "#!/bin/sh\n").expect("a file");
        }
    }
    std::fs::write(root.join("src/hooks.ts"), "x").expect("a file");
    all.made(&Spot::of(&root.join("src/hooks.ts")), true, OLD);
    // Git writes through links. A link with a usual name is usual beside other names.
    for (name, link, other) in [
        ("mirror", "FETCH_HEAD", "README"),
        ("bare", "logs", ""),
        ("release", "logs", "current"),
        ("linked", "hooks", "README"),
        ("deep", "logs/refs/heads/main", "README"),
    ] {
        let (folder, link) = (root.join(name), root.join(name).join(link));
        std::fs::create_dir_all(link.parent().expect("a folder")).expect("folders");
        std::os::unix::fs::symlink("/elsewhere", &link).expect("a link");
        let made = link.strip_prefix(&folder).expect("inside").iter().next().expect("a name");
        all.made(&Spot::of(&folder.join(made)), true, OLD);
        if !other.is_empty() {
            std::fs::write(root.join(name).join(other), "x").expect("a file");
        }
    }
    let found: Vec<_> = all.found(later(), |_| false, OLD).0.into_iter().map(|found| found.path).collect();
    assert_eq!(found, ["bare", "deep", "linked", "mirror", "store"].map(|name| root.join(name)));
}

/// A link of each of these names is told, so each has to be followed.
#[test]
fn names_that_git_writes_through_are_followed() {
    for name in scorpiox_git::WRITTEN.iter().chain(&scorpiox_git::WRITTEN_AND_USUAL) {
        assert!(signs::is_written(&folded(name.as_ref())), "{name}");
    }
}

/// A hook is no name at the top of a git directory.
#[test]
fn a_repository_is_told_if_the_command_only_changed_its_hooks() {
    let (_folder, root, all) = bed();
    folder(&root.join("store"), None);
    std::fs::create_dir_all(root.join("store/hooks")).expect("folders");
    assert!(!all.is_anothers(&root, Path::new("store/hooks"), OLD).expect("looks"));
    for sign in ["refs", "objects"] {
        std::fs::create_dir(root.join("store").join(sign)).expect("a folder");
    }
    std::fs::write(root.join("store/HEAD"), "ref: refs/heads/main\n").expect("a file");
    let found: Vec<_> = all.found(later(), |_| false, OLD).0.into_iter().map(|found| found.path).collect();
    assert_eq!(found, [root.join("store")]);
}
