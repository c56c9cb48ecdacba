//! Tests of the search, with files as git writes them.

use std::process::Command;
use std::time::Duration;

use super::*;
use crate::index::judge::is_refused;

fn git(folder: &Path, words: &[&str]) {
    let _alone = crate::STARTS.write().unwrap();
    let mut git = Command::new("git");
    let own = ["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgSign=false"];
    let ran = git.current_dir(folder).args(own).args(words).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn repository(words: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &[&["init", "-q"], words].concat());
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    for name in ["a/b/one", "a/two", "three", ".gitignore", "git~2", ".github"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-qm", "x"]);
    folder
}

fn later() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

fn found(folder: &Path) -> Vec<(String, TrapKind, String)> {
    let traps = traps(&folder.join(".git"), None, Instant::now() + Duration::from_mins(1));
    assert!(!traps.is_cut);
    let name = |path: &Path| path.strip_prefix(folder.join(".git")).unwrap().display().to_string();
    traps.found.into_iter().map(|trap| (name(&trap.path), trap.kind, trap.text)).collect()
}

#[test]
fn repositories_as_git_makes_them_have_none() {
    for words in [&[][..], &["--object-format=sha256"], &["--ref-format=reftable"]] {
        let folder = repository(words);
        let at = folder.path();
        for version in ["2", "3", "4"] {
            git(at, &["update-index", "--index-version", version]);
            fs::write(at.join("later"), version).unwrap();
            git(at, &["add", "--intent-to-add", "later"]);
            assert_eq!(found(at), [], "{words:?} {version}");
        }
        git(at, &["branch", "other"]);
        git(at, &["symbolic-ref", "refs/heads/alias", "refs/heads/other"]);
        git(at, &["tag", "-am", "x", "v1"]);
        git(at, &["update-index", "--split-index"]);
        fs::write(at.join("three"), "changed").unwrap();
        git(at, &["add", "three"]);
        git(at, &["commit", "-qm", "y"]);
        assert_eq!(found(at), [], "{words:?}");
    }
    let folder = repository(&[]);
    git(folder.path(), &["sparse-checkout", "init", "--cone", "--sparse-index"]);
    assert_eq!(found(folder.path()), []);
}

/// So many entries that git reads them with several threads.
#[test]
fn a_large_index_as_git_writes_it_is_no_trap() {
    use std::fmt::Write as _;
    let folder = repository(&[]);
    let hash = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    let mut list = String::new();
    for number in 0..25_000 {
        let _ = writeln!(list, "100644 {hash}\tfolder/{:02}/file{number}", number / 300);
    }
    fs::write(folder.path().join("list"), list).unwrap();
    let _alone = crate::STARTS.write().unwrap();
    for version in ["2", "4"] {
        let script = format!(
            "git update-index --index-version {version} && git -c index.threads=4 update-index --index-info < list"
        );
        let ran = Command::new("sh").current_dir(folder.path()).args(["-c", &script]).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let index = fs::read(folder.path().join(".git/index")).unwrap();
        assert!(index.windows(4).any(|part| part == b"IEOT"), "git wrote no blocks");
        assert_eq!(found(folder.path()), [], "{version}");
    }
}

/// Git creates the file although it would refuse the path in a commit.
#[test]
fn an_index_with_a_path_that_git_refuses_elsewhere_is_a_trap() {
    let folder = repository(&[]);
    let git = folder.path().join(".git");
    let index = git.join("index");
    let plain = fs::read(&index).unwrap();
    for (from, to) in [
        (&b"a/b/one"[..], &b"../aone"[..]),
        (b"a/b/one", b".git/ab"),
        (b"a/b/one", b"/tmp/ab"),
        (b"a/b/one", b"a//bone"),
        (b"a/b/one", b"GIT~1/b"),
        (b"a/b/one", b".giT ./"),
        (b"a/b/one", b"a/./bon"),
    ] {
        let at = plain.windows(from.len()).position(|part| part == from).unwrap();
        let mut changed = plain.clone();
        changed[at..at + to.len()].copy_from_slice(to);
        let text = String::from_utf8_lossy(to).into_owned();
        assert_eq!(Replaced::Index.content(&changed, &git, later()), Err(text.clone()));
        fs::write(&index, changed).unwrap();
        assert_eq!(found(folder.path()), [("index".into(), TrapKind::Index, text)]);
    }
    for cut in [3, 11, 40, plain.len() - 21] {
        fs::write(&index, &plain[..cut]).unwrap();
        assert_eq!(found(folder.path()), [("index".into(), TrapKind::Index, String::new())], "{cut}");
    }
    fs::write(&index, &plain).unwrap();
    assert_eq!(found(folder.path()), []);
    assert!(Replaced::Index.content(&plain, &git, later()).is_ok());
    let all = ["index", "sharedindex.x", "head", "sharedindex_x", "index.lock", "fetch_head"];
    let kinds =
        [Some(Replaced::Index), Some(Replaced::SharedIndex), Some(Replaced::Reference), None, None, None];
    assert_eq!(all.map(Replaced::of_name), kinds);
    let id = [b'a'; 40];
    for (text, expected) in [
        (&id[..], None),
        (b"ref: refs/heads/x\n", None),
        (b"ref: x\n", Some("x")),
        (b"", None),
        (b"ref:", Some("")),
    ] {
        let told = Replaced::Reference.content(text, &git, later()).err();
        assert_eq!(told.as_deref(), expected);
    }
}

/// Git takes over the trees of folders into the next commit, and shows no difference.
#[test]
fn an_index_is_kept_without_its_caches() {
    for format in ["sha1", "sha256"] {
        let folder = repository(&["--object-format", format]);
        let git_folder = folder.path().join(".git");
        git(folder.path(), &["config", "core.untrackedCache", "true"]);
        git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(folder.path(), &["status"]);
        let index = git_folder.join("index");
        let written = fs::read(&index).unwrap();
        let has = |bytes: &[u8], name: &[u8]| bytes.windows(4).any(|part| part == name);
        assert!(has(&written, b"TREE") && has(&written, b"UNTR"), "{format}");
        let kept = Replaced::Index.content(&written, &git_folder, later()).unwrap().into_owned();
        assert!(!has(&kept, b"TREE") && !has(&kept, b"UNTR"), "{format}");
        fs::write(&index, &kept).unwrap();
        // Git verifies the checksum here alone.
        git(folder.path(), &["fsck", "--strict"]);
        git(folder.path(), &["diff", "--cached", "--quiet"]);
        assert_eq!(Replaced::Index.content(&kept, &git_folder, later()).unwrap(), kept, "{format}");
    }
}

/// Git reads an index with the hash function of the repository. With another one, the path of this entry begins later, and
/// the extension is a part of the checksum.
#[test]
fn an_index_that_is_one_for_each_hash_function_is_read_as_git_does() {
    let folder = repository(&[]);
    let git = folder.path().join(".git");
    let mut index = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
    index.extend([0; 60]);
    index.extend([0x0f, 0xff]);
    index.extend(b".git/hooks/x");
    index.extend([b'a'; 0xf78]);
    index.resize(12 + 4040, 0);
    for extension in [&b""[..], b"ZZZZ\0\0\0\x04xxxx", b"TREE\0\0\0\x04xxxx", b"zzzz\0\0\0\x04xxxx"] {
        let mut index = index.clone();
        index.extend(extension);
        index.extend([0; 20]);
        let text = Replaced::Index.content(&index, &git, later()).unwrap_err();
        assert!(text.starts_with(".git/hooks/xaaa"), "{extension:?}: {text:.20}");
    }
    fs::write(
        git.join("config"),
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n",
    )
    .unwrap();
    index.extend([0; 32]);
    assert!(Replaced::Index.content(&index, &git, later()).is_ok());
    fs::write(git.join("config"), "[extensions]\n\tobjectformat = sha512\n").unwrap();
    assert_eq!(
        Replaced::Index.content(&index, &git, later()),
        Err(String::new()),
        "the hash function is unknown"
    );
}

/// A path of a megabyte that each of many entries shares, or many short parts.
#[test]
fn an_index_takes_a_bounded_time_to_judge() {
    let entry = |removed: &[u8], added: &[u8]| {
        let mut entry = vec![0; 60];
        entry.extend([0x0f, 0xff]);
        entry.extend(removed);
        entry.extend(added);
        entry.push(0);
        entry
    };
    let index = |first: usize, count: u32| {
        let mut index = b"DIRC\0\0\0\x04".to_vec();
        index.extend(count.to_be_bytes());
        index.extend(entry(&[0], "g/".repeat(first / 2).as_bytes()));
        for _ in 1..count {
            index.extend(entry(&[0], b""));
        }
        index.extend([0; 20]);
        index
    };
    let none = Path::new("/none");
    let begun = Instant::now();
    assert_eq!(
        Replaced::Index.content(&index(1 << 20, 250), none, later()),
        Err(String::new()),
        "a path too long"
    );
    let many = index(4000, 60_000);
    assert_eq!(Replaced::Index.content(&many, none, begun), Err(String::new()), "too late");
    let _ = Replaced::Index.content(&many, none, later());
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// `git worktree repair` writes to a tree that a file names.
#[test]
fn the_name_of_a_work_tree_that_names_no_repository_is_a_trap() {
    let folder = repository(&[]);
    git(folder.path(), &["worktree", "add", "-q", "tree"]);
    let since = Some(SystemTime::UNIX_EPOCH);
    let found = |own: &str| {
        let own = folder.path().join(".git/worktrees").join(own);
        let traps = traps(&own, since, Instant::now() + Duration::from_mins(1));
        traps.found.into_iter().map(|trap| (trap.kind, trap.text)).collect::<Vec<_>>()
    };
    assert_eq!(found("tree"), []);
    fs::write(folder.path().join(".git/worktrees/tree/gitdir"), "/elsewhere/.git\n").unwrap();
    assert_eq!(found("tree"), [(TrapKind::WorkTree, "/elsewhere/.git".into())]);
}

/// Damaged in some bytes, as git reads it: with lengths and positions that do not fit together.
#[test]
fn no_index_that_git_reads_hides_a_path_that_it_refuses() {
    const ROUNDS: usize = 400;
    let folder = repository(&[]);
    let index = folder.path().join(".git/index");
    let mut plain = Vec::new();
    for version in ["2", "3", "4"] {
        git(folder.path(), &["update-index", "--index-version", version]);
        plain.push(fs::read(&index).unwrap());
    }
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % limit as u64).unwrap()
    };
    let (mut read, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        let mut bytes = plain[round % plain.len()].clone();
        for name in [&b".gitignore"[..], b".github", b"git~2", b"three"] {
            let evil = [&b".git/x/abc"[..], b".git/ab", b"git~1", b"../ab"];
            let evil = evil.into_iter().find(|evil| evil.len() == name.len()).unwrap();
            if let (0, Some(at)) = (below(3), bytes.windows(name.len()).position(|part| part == name)) {
                bytes[at..at + name.len()].copy_from_slice(evil);
            }
        }
        for _ in 0..below(4) {
            let at = below(bytes.len());
            bytes[at] ^= 1 << below(8);
        }
        fs::write(&index, &bytes).unwrap();
        let _alone = crate::STARTS.write().unwrap();
        let mut git = Command::new("git");
        let ran = git.current_dir(folder.path()).args(["ls-files", "-z", "-c"]).output().unwrap();
        if !ran.status.success() {
            continue;
        }
        read += 1;
        if ran.stdout.split(|byte| *byte == 0).any(|path| !path.is_empty() && is_refused(path)) {
            refused += 1;
            assert_ne!(
                judge(&index, ObjectHash::of(index.parent().unwrap()), later()),
                Judged::Plain,
                "round {round}"
            );
        }
    }
    assert!(read > ROUNDS / 4 && refused > ROUNDS / 10, "{read} {refused}");
}

#[test]
fn an_unknown_folder_is_a_trap_if_it_is_new() {
    let folder = repository(&[]);
    git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "x"]);
    assert_eq!(found(folder.path()), []);
    let at = |name: &str| folder.path().join(".git").join(name);
    fs::create_dir(at("gitweb")).unwrap();
    std::os::unix::fs::symlink("x", at("other")).unwrap();
    let mut told = found(folder.path());
    told.sort_by(|one, other| one.0.cmp(&other.0));
    let trap = |name: &str| (name.into(), TrapKind::Unknown, String::new());
    assert_eq!(told, [trap("gitweb"), trap("other")]);
    let later_than = SystemTime::now() + Duration::from_mins(1);
    assert_eq!(traps(&at(""), Some(later_than), later()).found, []);
    // They do not displace others.
    for number in 0..20 {
        fs::create_dir(at(&format!("folder{number}"))).unwrap();
    }
    fs::write(at("ORIG_HEAD"), "ref: commondir").unwrap();
    let Traps { found, is_cut } = traps(&at(""), None, later());
    assert!(is_cut && found[0].kind == TrapKind::Reference, "{found:?}");
}

#[test]
fn objects_that_replace_others_are_a_trap_in_an_older_repository() {
    let folder = repository(&[]);
    let git_folder = folder.path().join(".git");
    let begun = SystemTime::now() - Duration::from_secs(1);
    let told = || {
        let found = traps(&git_folder, Some(begun), later()).found;
        found
            .into_iter()
            .filter(|trap| trap.kind == TrapKind::Replacement)
            .map(|trap| trap.path)
            .collect::<Vec<_>>()
    };
    assert!(told().is_empty());
    git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(folder.path(), &["replace", "HEAD", "HEAD~1"]);
    assert!(told()[0].starts_with(git_folder.join("refs/replace")));
    git(folder.path(), &["pack-refs", "--all"]);
    assert_eq!(told(), [git_folder.join("packed-refs")]);
    git(folder.path(), &["replace", "-d", "HEAD"]);
    assert!(told().is_empty());
    fs::write(git_folder.join("info/grafts"), "").unwrap();
    assert_eq!(told(), [git_folder.join("info/grafts")]);
    assert_eq!(found(folder.path()), [], "a new repository is the command's own");
}

#[test]
fn a_reference_to_a_name_elsewhere_is_a_trap() {
    let folder = repository(&[]);
    let put = |name: &str, text: &str| {
        let path = folder.path().join(".git").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("refs/remotes/origin/main", "ref: commondir\n");
    put("refs/remotes/origin/HEAD", "ref: refs/remotes/origin/main\n");
    put("ORIG_HEAD", "ref:\thooks/post-checkout");
    let mut found = found(folder.path());
    found.sort();
    let trap = |name: &str, text: &str| (name.to_owned(), TrapKind::Reference, text.to_owned());
    assert_eq!(
        found,
        [trap("ORIG_HEAD", "hooks/post-checkout"), trap("refs/remotes/origin/main", "commondir")]
    );
}

#[test]
fn an_operation_that_starts_a_program_is_a_trap() {
    for (name, harmless, text, part) in [
        (
            "rebase-merge/git-rebase-todo",
            "pick 1 exec\n# exec x\n",
            "pick 1 x\n  exec touch x\n",
            "exec touch x",
        ),
        ("rebase-merge/git-rebase-todo", "update-ref refs/heads/x\nb\n", "u hooks/x\n", "u hooks/x"),
        ("rebase-merge/git-rebase-todo", "", "x\ttouch x", "x\ttouch x"),
        ("rebase-merge/head-name", "refs/heads/main\n", "commondir\n", "commondir"),
        ("rebase-apply/apply-opt", " ", " '--build-fake-ancestor=/x'", "'--build-fake-ancestor=/x'"),
        ("rebase-merge/onto", "0123abc\n", "../x", "../x"),
        ("rebase-merge/strategy", "resolve\n", "file", "file"),
        ("rebase-apply/head-name", "detached HEAD\n", "commondir\n", "commondir"),
        ("rebase-merge/strategy", "ort\n", "x/evil\n", "x/evil"),
        (
            "rebase-merge/update-refs",
            "refs/heads/a\n0\n1\n",
            "refs/heads/a\n0\n1\nhooks/x\n0\n1\n",
            "hooks/x",
        ),
        ("sequencer/todo", "pick 1 x\n", "exec y\n", "exec y"),
        ("sequencer/opts", "[options]\n\tstrategy = ort\n", "[options]\n\tstrategy = ../x\n", "../x"),
    ] {
        let folder = repository(&[]);
        let path = folder.path().join(".git").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, harmless).unwrap();
        assert_eq!(found(folder.path()), [], "{name}");
        fs::write(&path, text).unwrap();
        assert_eq!(found(folder.path()), [(name.into(), TrapKind::Operation, part.to_owned())]);
    }
}

/// As git leaves them when there is a conflict.
#[test]
fn operations_as_git_writes_them_are_none() {
    let commit = |folder: &Path, text: &str| {
        fs::write(folder.join("three"), text).unwrap();
        git(folder, &["commit", "-qam", text]);
    };
    for (kept, words) in [
        ("rebase-merge", &["rebase", "other"][..]),
        ("rebase-merge", &["rebase", "-X", "ours", "-s", "resolve", "--signoff", "other"]),
        ("rebase-merge", &["rebase", "--rebase-merges", "--update-refs", "--no-rerere-autoupdate", "other"]),
        ("rebase-apply", &["rebase", "--apply", "--quiet", "other"]),
        ("rebase-apply", &["am", "--3way", "--keep-cr", "--signoff", "mail"]),
        ("sequencer", &["cherry-pick", "-x", "-X", "ignore-all-space", "--allow-empty", "other~2..other"]),
        ("sequencer", &["revert", "--no-edit", "HEAD~2", "HEAD~1"]),
    ] {
        let folder = repository(&[]);
        let at = folder.path();
        git(at, &["branch", "other"]);
        (0..3).for_each(|number| commit(at, &format!("main {number}")));
        git(at, &["checkout", "-q", "other"]);
        (0..3).for_each(|number| commit(at, &format!("other {number}")));
        let mail = {
            let _alone = crate::STARTS.write().unwrap();
            Command::new("git").current_dir(at).args(["format-patch", "--stdout", "-2"]).output().unwrap()
        };
        git(at, &["checkout", "-q", "-"]);
        fs::write(at.join("mail"), mail.stdout).unwrap();
        let own = ["-c", "user.name=O'Hara <x>", "-c", "user.email=n@example.com"];
        {
            let _alone = crate::STARTS.write().unwrap();
            Command::new("git").current_dir(at).args(own).args(words).output().unwrap();
        }
        assert!(at.join(".git").join(kept).is_dir(), "{words:?} ended without a conflict");
        assert_eq!(found(at), [], "{words:?}");
    }
}

#[test]
fn conflicts_that_git_resolves_by_itself_are_a_trap() {
    let folder = repository(&[]);
    let path = folder.path().join(".git/MERGE_RR");
    fs::write(&path, "").unwrap();
    assert_eq!(found(folder.path()), []);
    fs::write(&path, "12.-1\ta/two\x0034\tx\0").unwrap();
    assert_eq!(found(folder.path()), [("MERGE_RR".into(), TrapKind::Resolutions, "a/two".into())]);
}

#[test]
fn files_that_finished_work_does_not_leave_are_a_trap() {
    let folder = repository(&[]);
    fs::write(folder.path().join(".git/MERGE_AUTOSTASH"), "0123").unwrap();
    let named = |name: &str| (name.into(), TrapKind::Operation, name.to_ascii_lowercase());
    assert_eq!(found(folder.path()), [named("MERGE_AUTOSTASH")]);
    for name in FINISHED {
        fs::write(folder.path().join(".git").join(name), "0123").unwrap();
    }
    assert_eq!(found(folder.path()), [named("MERGE_AUTOSTASH")]);
}

/// Compressed, each name takes no space.
#[test]
fn a_long_name_that_is_repeated_ends_the_judgement() {
    let folder = repository(&[]);
    let entry = |removed: u8, added: &[u8]| [&[0; 60][..], &[0x0f, 0xff, removed], added, &[0]].concat();
    let mut index = [&b"DIRC"[..], &[0, 0, 0, 4, 0, 1, 0, 0]].concat();
    index.extend(entry(0, &vec![b'x'; 1 << 20]));
    (1..0x1_0000).for_each(|_| index.extend(entry(0, b"")));
    index.extend([0; 20]);
    fs::write(folder.path().join(".git/index"), index).unwrap();
    let begun = Instant::now();
    assert_eq!(found(folder.path()), [("index".into(), TrapKind::Index, String::new())]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// Files with holes take no space, and would be read for hours.
#[test]
fn the_search_has_a_limit_of_bytes_and_of_time() {
    let folder = repository(&[]);
    let at = folder.path().join(".git");
    let later = Instant::now() + Duration::from_mins(1);
    assert!(traps(&at, None, Instant::now()).is_cut);
    for number in 0..20 {
        let file = fs::File::create(at.join(format!("sharedindex.{number}"))).unwrap();
        file.set_len(1 << 30).unwrap();
    }
    let begun = Instant::now();
    assert!(traps(&at, None, later).is_cut);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn only_files_that_changed_since_count() {
    let folder = repository(&[]);
    let path = folder.path().join(".git/refs/heads/x");
    fs::write(&path, "ref: commondir").unwrap();
    let changed = path.symlink_metadata().unwrap().modified().unwrap();
    let later = Instant::now() + Duration::from_mins(1);
    let count = |since| traps(&folder.path().join(".git"), Some(since), later).found.len();
    assert_eq!(count(changed - Duration::from_millis(1)), 1);
    assert_eq!(count(changed + Duration::from_secs(5)), 0);
}
