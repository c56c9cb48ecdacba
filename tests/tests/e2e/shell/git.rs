//! Tests of files that git obeys, at any location: no tier allows changes to them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use scorpiox_tests::{Program, Started};

use super::support::{
    TIERS, background, bash, bash_for, git, in_each_tier, in_tier, read_to_end, start, start_in,
};

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

/// Creates a directory that git accepts as a repository.
fn repository(program: &Program, path: &str) {
    program.put(&format!("{path}/HEAD"), "ref: refs/heads/main\n");
    program.put(&format!("{path}/config"), CONFIG);
    program.put(&format!("{path}/hooks/pre-commit"), "#!/bin/sh\n");
    for name in ["objects", "refs"] {
        fs::create_dir_all(program.workspace().parent().expect("a folder").join(path).join(name))
            .expect("a folder");
    }
}

/// Runs commands one after the other. Each may fail, but none may keep running.
fn attack(server: &mut Started, commands: &[&str]) {
    for command in commands {
        bash_for(server, &format!("{command}; true"), 5_000);
    }
}

#[track_caller]
fn is_untouched(folder: &Path) {
    let is = |name: &str| fs::read_to_string(folder.join(name)).expect(name);
    assert_eq!(is("config"), CONFIG, "{}", folder.display());
    assert_eq!(is("hooks/pre-commit"), "#!/bin/sh\n", "{}", folder.display());
    for name in ["config.worktree", "commondir"] {
        assert!(folder.join(name).symlink_metadata().is_err(), "{}/{name} is there", folder.display());
    }
}

/// Returns a command that attacks a repository in a directory of any name.
fn write_into(folder: &str) -> String {
    format!(
        "cd {folder} && {{ echo evil >> config; echo evil > hooks/pre-commit; rm -rf hooks config; \
         mv config c; mv hooks h; cp HEAD config; echo evil > config.lock; mv config.lock config; }}"
    )
}

#[test]
fn a_file_called_git_leads_to_a_folder_that_is_protected() {
    in_each_tier(|program, server| {
        repository(program, "workspace/meta/store");
        program.put("workspace/.git", "gitdir: meta/store\n");
        program.put("workspace/other/config", "[core]\n\tfsmonitor = evil\n");
        let redirect = "echo 'gitdir: other' > .git; mv .git g; rm -f .git";
        attack(server, &[&write_into("meta/store"), redirect, "mv meta m; mv meta/store meta/s"]);
        is_untouched(&program.workspace().join("meta/store"));
        let pointer = fs::read_to_string(program.workspace().join(".git")).expect("the file");
        assert_eq!(pointer, "gitdir: meta/store\n");
    });
}

#[test]
fn a_link_called_git_leads_to_a_folder_that_is_protected() {
    in_each_tier(|program, server| {
        repository(program, "workspace/meta");
        symlink("one", program.workspace().join(".git")).expect("a link");
        symlink("meta", program.workspace().join("one")).expect("a link");
        attack(server, &[&write_into("meta"), "rm .git one; ln -sfn /tmp one; mv one o"]);
        is_untouched(&program.workspace().join("meta"));
        let ran = bash(server, "cat .git/HEAD && git rev-parse --git-dir");
        assert!(!ran.is_error && ran.text.contains("ref: "), "{}", ran.text);
        let leads = |name: &str| fs::read_link(program.workspace().join(name)).expect("a link");
        assert_eq!((leads(".git"), leads("one")), ("one".into(), "meta".into()));
    });
}

#[test]
fn repositories_are_protected_that_git_does_not_know_at_the_moment() {
    in_each_tier(|program, server| {
        for path in ["workspace/.git", "workspace/.git/modules/a/lib", "workspace/bare"] {
            repository(program, path);
        }
        for folder in [".git/modules/a/lib", "bare"] {
            let take_away = format!("cd {folder} && {{ mv HEAD H; mv objects o; mv refs r; }}");
            attack(server, &[&take_away, &write_into(folder), &format!("mv {folder}/H {folder}/HEAD")]);
            is_untouched(&program.workspace().join(folder));
        }
    });
}

#[test]
fn linked_configurations_and_hooks_and_those_of_work_trees_are_protected() {
    in_each_tier(|program, server| {
        repository(program, "workspace/.git");
        let git = program.workspace().join(".git");
        for name in ["config", "hooks"] {
            fs::rename(git.join(name), program.workspace().join(name)).expect("moves");
            symlink(format!("../{name}"), git.join(name)).expect("a link");
        }
        program.put("workspace/.git/worktrees/tree/commondir", "../..\n");
        program.put("workspace/.git/worktrees/tree/HEAD", "ref: refs/heads/side\n");
        repository(program, "workspace/.git/worktrees/tree/modules/lib");
        attack(
            server,
            &[
                "echo evil >> config; echo evil > hooks/pre-commit; ln -sfn /tmp .git/hooks; mv hooks h; mv config c",
                "echo evil > .git/worktrees/tree/config.worktree; echo ../../../evil > .git/worktrees/tree/commondir",
                &write_into(".git/worktrees/tree/modules/lib"),
            ],
        );
        is_untouched(&git);
        is_untouched(&git.join("worktrees/tree/modules/lib"));
        assert!(git.join("worktrees/tree/config.worktree").symlink_metadata().is_err());
        let common = fs::read_to_string(git.join("worktrees/tree/commondir"));
        assert_eq!(common.expect("the file"), "../..\n");
    });
}

#[test]
fn what_a_configuration_names_is_protected() {
    in_each_tier(|program, server| {
        repository(program, "workspace/.git");
        let config =
            format!("{CONFIG}\thooksPath = scripts/hooks\n[include]\n\tpath = ../extra\n\tpath = ../late\n");
        program.put("workspace/.git/config", &config);
        program.put("workspace/extra", "[filter \"x\"]\n\tclean = tools/clean.sh %f\n");
        program.put("workspace/tools/clean.sh", "#!/bin/sh\n");
        program.put("workspace/scripts/hooks/pre-push", "#!/bin/sh\n");
        attack(
            server,
            &[
                "echo evil >> extra; echo evil > late; echo evil > tools/clean.sh; echo evil > scripts/hooks/pre-push; \
               echo evil > scripts/hooks/pre-commit; mv scripts s; mv tools t",
            ],
        );
        let is = |path: &str| fs::read_to_string(program.workspace().join(path)).unwrap_or_default();
        assert_eq!(is(".git/config"), config);
        assert_eq!(is("extra"), "[filter \"x\"]\n\tclean = tools/clean.sh %f\n");
        assert_eq!(
            (is("tools/clean.sh"), is("scripts/hooks/pre-push")),
            ("#!/bin/sh\n".into(), "#!/bin/sh\n".into())
        );
        assert_eq!((is("late"), is("scripts/hooks/pre-commit")), (String::new(), String::new()));
    });
}

#[test]
fn another_name_of_a_protected_file_is_protected_too() {
    in_each_tier(|program, server| {
        repository(program, "workspace/.git");
        program.put("workspace/.env", "SECRET");
        let at = |path: &str| program.workspace().join(path);
        fs::hard_link(at(".git/config"), at("same")).expect("a link");
        fs::hard_link(at(".env"), at("plain")).expect("a link");
        attack(server, &["echo evil >> same; cat same > copy; cat copy > same"]);
        is_untouched(&at(".git"));
        let ran = bash(server, "cat plain; true");
        assert!(!ran.text.contains("SECRET"), "{}", ran.text);
    });
}

#[test]
fn what_links_in_protected_folders_lead_to_is_protected() {
    in_each_tier(|program, server| {
        repository(program, "workspace/.git");
        program.put("workspace/scripts/pre-push", "#!/bin/sh\n");
        program.put("workspace/shared/settings.json", "{}");
        fs::create_dir_all(program.workspace().join(".claude")).expect("a folder");
        for (link, target) in [
            (".git/hooks/pre-push", "../../scripts/pre-push"),
            (".claude/settings.json", "../shared/settings.json"),
        ] {
            symlink(target, program.workspace().join(link)).expect("a link");
        }
        attack(
            server,
            &[
                "echo evil > scripts/pre-push; echo evil > shared/settings.json; mv scripts s; mv shared x; rm scripts/*",
            ],
        );
        let is = |path: &str| fs::read_to_string(program.workspace().join(path)).expect(path);
        assert_eq!((is("scripts/pre-push"), is("shared/settings.json")), ("#!/bin/sh\n".into(), "{}".into()));
    });
}

#[test]
fn decoys_that_a_command_leaves_open_nothing_to_the_next() {
    in_each_tier(|program, server| {
        repository(program, "workspace/.git");
        program.put("workspace/.env", "SECRET");
        for (file, name) in [(".env", "plain"), (".git/config", "same")] {
            fs::hard_link(program.workspace().join(file), program.workspace().join(name)).expect("a link");
        }
        let decoys = "mkdir '!' && cd '!' && seq 4100 | xargs mkdir && \
                      for i in *; do : > $i/commondir; done; seq -f .env%g 2100 | xargs touch; true";
        bash_for(server, decoys, 60_000);
        attack(server, &[&write_into(".git"), "echo evil >> same"]);
        is_untouched(&program.workspace().join(".git"));
        let ran = bash_for(server, "cat plain; echo works", 30_000);
        assert!(ran.text.contains("works") && !ran.text.contains("SECRET"), "{}", ran.text);
    });
}

#[test]
fn a_folder_of_hooks_below_a_file_keeps_no_command_from_running() {
    in_each_tier(|program, server| {
        program.put("workspace/README.md", "mine");
        bash(
            server,
            "mkdir -p sub/.git && printf '[core]\n\thooksPath = ../README.md/x\n' > sub/.git/config",
        );
        let ran = bash(server, "echo works");
        assert!(ran.text.contains("works"), "{}", ran.text);
    });
}

/// After `git worktree add`, git works as in a plain clone, and the files that it obeys stay unchanged.
#[test]
fn the_repository_of_a_linked_work_tree_is_used_and_protected() {
    for tier in TIERS {
        let program = in_tier(tier);
        let root = program.workspace().parent().expect("a folder").to_owned();
        let main = root.join("main");
        fs::create_dir_all(&main).expect("a folder");
        git(&main, &["init", "-q", "-b", "main"]);
        fs::write(main.join("a"), "a").expect("a file");
        git(&main, &["add", "-A"]);
        git(&main, &["commit", "-qm", "one"]);
        let tree = program.workspace();
        git(&main, &["worktree", "add", "-q", &tree.display().to_string(), "-b", "side"]);
        let mut server = start(&program);
        let config = fs::read_to_string(main.join(".git/config")).expect("a configuration");
        let commit = "git status --short && echo b > b && git add b && \
                      git -c user.name=n -c user.email=n@example.com commit -qm two && git log --format=%s | head -1";
        assert_eq!(bash(&mut server, commit).succeeded(), "two\n");
        let own = main.join(".git");
        let at = own.display();
        let attack = format!(
            "cd {at}; echo x >> config; echo x > config.worktree; echo x > hooks/pre-commit; mv hooks h; echo x > commondir;
             mkdir -p x/hooks; echo x > worktrees/workspace/config.worktree; echo x >> worktrees/workspace/commondir;
             rm -rf config hooks; ln -s /tmp config; cat {0}/a; echo x > {0}/b; echo finished",
            main.display()
        );
        let ran = bash(&mut server, &attack);
        assert!(ran.text.contains("finished"), "{}", ran.text);
        assert_eq!(fs::read_to_string(own.join("config")).expect("it is there"), config, "{}", ran.text);
        assert!(!own.join("hooks/pre-commit").exists() && own.join("hooks").is_dir(), "{}", ran.text);
        for name in ["config.worktree", "commondir", "worktrees/workspace/config.worktree"] {
            assert!(own.join(name).symlink_metadata().is_err(), "{name}: {}", ran.text);
        }
        let link = fs::read_to_string(own.join("worktrees/workspace/commondir")).expect("it is there");
        assert_eq!(link, "../..\n", "{}", ran.text);
        assert!(!main.join("b").exists(), "{}", ran.text);
        assert!(
            ran.text.contains("main/a: No such file") || ran.text.contains("main/a: Permission denied"),
            "{}",
            ran.text
        );
    }
}

/// Creates a repository `main` with the file `pkg/a`, and returns its folder.
pub(super) fn main_repository(program: &Program) -> PathBuf {
    let main = program.workspace().parent().expect("a folder").join("main");
    fs::create_dir_all(main.join("pkg")).expect("a folder");
    git(&main, &["init", "-q", "-b", "main"]);
    fs::write(main.join("pkg/a"), "a").expect("a file");
    git(&main, &["add", "-A"]);
    git(&main, &["commit", "-qm", "one"]);
    main
}

pub(super) const COMMIT: &str = "git status --short && echo b > b && git add b && git -c user.name=n -c user.email=n@example.com \
                      commit -qm two && git log --format=%s | head -1 && git status --short";

/// Work trees that lie in the folder of their repository, or beside it.
#[test]
fn repositories_above_their_work_trees_are_used() {
    for tier in TIERS {
        let program = in_tier(tier);
        let main = main_repository(&program);
        let root = main.parent().expect("a folder");
        git(&main, &["worktree", "add", "-q", ".trees/inside", "-b", "inside"]);
        git(root, &["clone", "-q", "--bare", "main", "bare.git"]);
        git(&root.join("bare.git"), &["worktree", "add", "-q", "../of-bare", "main"]);
        git(root, &["clone", "-q", "--separate-git-dir", "apart", "main", "separate"]);
        // The index proves the tree by a file that lies directly in it.
        let separate = root.join("separate");
        fs::write(separate.join("top"), "top").expect("a file");
        git(&separate, &["add", "top"]);
        git(&separate, &["commit", "-qm", "top"]);
        for tree in [main.join(".trees/inside"), root.join("of-bare"), separate] {
            let mut server = start_in(&program, &tree);
            assert_eq!(bash(&mut server, COMMIT).succeeded(), "two\n", "{tier}, {}", tree.display());
        }
    }
}

/// In a folder that has all files of a work tree, git works as in the tree. If files are elsewhere, git would take
/// them for deleted, so the result says what shows them.
#[test]
fn a_folder_of_a_work_tree_has_its_repository_if_all_files_are_seen() {
    for tier in TIERS {
        let program = in_tier(tier);
        let main = main_repository(&program);
        let mut server = start_in(&program, &main.join("pkg"));
        // In T2, git finds the folder of the tree but may not list it.
        let ran = bash(&mut server, COMMIT);
        let ran = ran.succeeded().replace("warning: could not open directory '.': Permission denied\n", "");
        assert_eq!(ran, "two\n", "{tier}");
        let config = fs::read_to_string(main.join(".git/config")).expect("a configuration");
        let ran = bash(
            &mut server,
            "cd ../.git; echo x >> config; echo x > hooks/pre-commit; echo x > ../c; echo finished",
        );
        assert!(ran.text.contains("finished"), "{}", ran.text);
        assert_eq!(
            fs::read_to_string(main.join(".git/config")).expect("it is there"),
            config,
            "{}",
            ran.text
        );
        assert!(!main.join(".git/hooks/pre-commit").exists() && !main.join("c").exists(), "{}", ran.text);

        fs::write(main.join("c"), "c").expect("a file");
        git(&main, &["add", "c"]);
        let ran = bash(&mut server, "git status --short");
        let named = format!("the person can open it: `scorpiox-code policy allow read {}`", main.display());
        assert!(ran.is_error && ran.text.contains(&named), "{}", ran.text);
        assert!(ran.text.contains("git would take its other files for deleted"), "{}", ran.text);
        let policy = format!(
            "version = 1\n[shell.profile.workspace]\nread = [\"@system\", {:?}]\n",
            main.display().to_string()
        );
        program.put("home/.scorpiox/policy.toml", policy);
        let mut server = start_in(&program, &main.join("pkg"));
        let ran = bash(
            &mut server,
            "git -c user.name=n -c user.email=n@example.com commit -qm three && git status --short && cat ../c",
        );
        assert_eq!(ran.succeeded(), "c", "{tier}");
    }
}

/// A clone that takes objects from another repository reads them, as long as no command can have named it.
#[test]
fn a_clone_that_shares_objects_reads_them() {
    for tier in TIERS {
        let program = in_tier(tier);
        let main = main_repository(&program);
        let root = main.parent().expect("a folder");
        let other = root.join("other");
        git(root, &["clone", "-q", "--shared", "main", "clone"]);
        git(root, &["clone", "-q", "--no-hardlinks", "main", "other"]);
        git(root, &["clone", "-q", "--shared", "clone", "second"]);
        for clone in ["second", "clone"] {
            let mut server = start_in(&program, &root.join(clone));
            assert_eq!(bash(&mut server, COMMIT).succeeded(), "two\n", "{tier}, {clone}");
            let write = format!("echo x > {}/x; echo finished", main.join(".git/objects").display());
            assert!(bash(&mut server, &write).text.contains("finished"));
            assert!(!main.join(".git/objects/x").exists());
            // A command names another store with the same history.
            let lead = format!("echo {}/.git/objects > .git/objects/info/alternates; true", other.display());
            bash(&mut server, &lead);
            let seen = format!("ls {}/.git/objects", other.display());
            assert!(bash(&mut server, &seen).is_error, "{tier}, {clone}");
        }
    }
}

/// The author of a delivered tree can name any store in it, but does not know the branches of a private repository.
#[test]
fn a_delivered_tree_opens_no_repository() {
    let program = Program::new();
    let main = main_repository(&program);
    let root = main.parent().expect("a folder").to_owned();
    // An object that each repository may have.
    let empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    git(&main, &["commit", "-qm", "two", "--allow-empty"]);
    fs::write(main.join("empty"), "").expect("a file");
    git(&main, &["add", "empty"]);
    git(&main, &["commit", "-qm", "three"]);
    for (tree, lender) in [("direct", "../main/.git/objects"), ("behind", "../lender/objects")] {
        git(&root, &["init", "-q", tree]);
        let objects = root.join(tree).join(".git/objects");
        fs::write(root.join(tree).join(".git/refs/heads/main"), empty).expect("a file");
        let lender = root.join(tree).join(lender);
        fs::write(objects.join("info/alternates"), format!("{}\n", lender.display())).expect("a file");
        if tree == "behind" {
            git(&root, &["clone", "-q", "--bare", "--no-hardlinks", "main", "lender"]);
            git(&root.join("lender"), &["branch", "-f", "main", "HEAD~2"]);
            let line = format!("{}/.git/objects\n", main.display());
            fs::write(root.join("lender/objects/info/alternates"), line).expect("a file");
            // The tree knows the delivered lender.
            let tip = fs::read_to_string(root.join("lender/refs/heads/main")).expect("a branch");
            fs::write(root.join(tree).join(".git/refs/heads/main"), tip).expect("a file");
        }
        let mut server = start_in(&program, &root.join(tree));
        let ran = bash(&mut server, &format!("ls {}/.git/objects && echo SEEN", main.display()));
        assert!(!ran.text.contains("SEEN"), "{tree}: {}", ran.text);
    }
}

/// Git appends to its logs and writes messages through links, wherever these lead. The person's git does so as well.
#[test]
fn links_among_the_files_of_git_are_refused_or_named() {
    for tier in TIERS {
        let program = in_tier(tier);
        let main = main_repository(&program);
        let root = main.parent().expect("a folder").to_owned();
        let mut server = start(&program);
        for (name, link) in [("x", "logs/HEAD"), ("y", "logs/refs/heads/x"), ("z", "objects/zz")] {
            let ran = bash(
                &mut server,
                &format!(
                    "git init -q {name}; mkdir -p {name}/.git/logs/refs/heads; ln -s /tmp/x {name}/.git/{link}"
                ),
            );
            assert!(ran.text.contains(&format!("new: \"{name}/.git\"")), "{tier}, {link}: {}", ran.text);
        }
        // Without `HEAD`, git does not know the folder at the moment, but it is the person's.
        git(&main, &["worktree", "add", "-q", "../linked", "-b", "side"]);
        for tree in [root.join("linked"), main.join("pkg")] {
            let mut server = start_in(&program, &tree);
            let at = main.join(".git");
            let at = at.display();
            let ran = bash(
                &mut server,
                &format!("mv {at}/HEAD {at}/h; rm -f {at}/HEAD; git status; echo finished"),
            );
            assert!(ran.text.contains("finished"), "{tier}: {}", ran.text);
            let ran = bash(
                &mut server,
                &format!(
                    "mkdir -p {at}/logs; ln -sf ~/x {at}/logs/HEAD; ln -s config {at}/COMMIT_EDITMSG; \
                     mkfifo {at}/MERGE_MSG; echo finished"
                ),
            );
            assert!(ran.text.contains("finished"), "{tier}: {}", ran.text);
            for name in ["logs/HEAD", "COMMIT_EDITMSG", "MERGE_MSG"] {
                let found = main.join(".git").join(name).symlink_metadata();
                assert!(
                    found.is_err() || found.is_ok_and(|found| found.is_file()),
                    "{tier}, {name}: {}",
                    ran.text
                );
            }
            fs::write(main.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        }
        // The person makes a repository while a command runs.
        let task = background(
            &mut server,
            "until [ -e go ]; do sleep 0.02; done; ln -s config gd/COMMIT_EDITMSG; touch done",
        );
        git(&program.workspace(), &["init", "-q", "--separate-git-dir", "gd", "tree"]);
        let ran = bash(&mut server, "touch go; until [ -e done ]; do sleep 0.02; done");
        assert!(!ran.is_error, "{tier}: {}", ran.text);
        let read = read_to_end(&mut server, task);
        assert!(!program.workspace().join("gd/COMMIT_EDITMSG").is_symlink(), "{tier}: {read}");
    }
}

/// The result names the repository, and the step that grants access to it.
#[test]
fn a_repository_that_commands_do_not_see_is_named() {
    let program = Program::new();
    let root = program.workspace().parent().expect("a folder").to_owned();
    for name in ["objects", "refs"] {
        fs::create_dir_all(root.join("main/.git").join(name)).expect("a folder");
    }
    let mut server = start(&program);
    let ran = bash(&mut server, "git status");
    assert!(!ran.text.contains("[git: "), "{}", ran.text);
    program.put("workspace/.git", format!("gitdir: {}\n", root.join("main/.git").display()));
    let ran = bash(&mut server, "git status");
    let named = format!(
        "the person can open it: `scorpiox-code policy allow write {}`",
        root.join("main/.git").display()
    );
    assert!(ran.text.contains(&named) && ran.text.contains("nothing says that it is this"), "{}", ran.text);
    // The repository claims this work tree. However, commands ran here before, and one of them may have
    // created the link.
    fs::write(root.join("main/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    fs::write(root.join("main/.git/config"), "[core]\n\tworktree = ../../workspace\n").expect("a file");
    let ran = bash(&mut server, "git status");
    assert!(ran.text.contains(&named) && ran.text.contains("before the first command"), "{}", ran.text);
    fs::remove_file(program.workspace().join(".git")).expect("removes");
    program.put(".git/HEAD", "ref: refs/heads/main\n");
    let ran = bash(&mut server, "git status");
    let named = format!("belongs to the repository in {}", root.display());
    assert!(ran.text.contains(&named) && ran.text.contains("start the server there"), "{}", ran.text);
}

/// Git deletes some files before it meets one that is protected, and only says that a file is busy.
#[test]
fn a_work_tree_that_git_removes_in_part_is_told_with_the_command_that_finishes_it() {
    in_each_tier(|program, server| {
        let workspace = program.workspace();
        git(&workspace, &["init", "-q", "."]);
        git(&workspace, &["commit", "-q", "--allow-empty", "-m", "a"]);
        for name in ["one", "gone"] {
            git(&workspace, &["worktree", "add", "-q", name]);
        }
        fs::remove_dir_all(workspace.join("gone")).expect("removed");
        for command in ["git worktree prune", "git worktree remove one"] {
            let ran = bash(server, command);
            let note = "was deleted only in part";
            assert!(ran.text.contains(note) && ran.text.contains("git worktree prune`"), "{}", ran.text);
        }
        assert!(
            workspace.join(".git/worktrees/one").exists() && workspace.join(".git/worktrees/gone").exists()
        );
        fs::remove_dir_all(workspace.join("one")).expect("removed");
        git(&workspace, &["worktree", "prune"]);
        assert!(!workspace.join(".git/worktrees").exists(), "the advice finishes it");
        let ran = bash(server, "git worktree add -q own && git worktree remove own");
        assert!(!ran.is_error && !ran.text.contains("in part"), "{}", ran.text);
    });
}
