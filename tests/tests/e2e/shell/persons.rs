//! Tests of repositories that the person makes while a command runs.

use std::fs;

use super::support::{TIERS, background, bash, git, in_each_tier, in_tier, read_to_end, start_in};

/// Git fills a new directory step by step, and a command can create any other name in it meanwhile.
#[test]
fn a_directory_that_git_may_be_filling_takes_no_links_that_git_writes_through() {
    in_each_tier(|program, server| {
        for folder in ["own", "empty"] {
            fs::create_dir(program.workspace().join(folder)).expect("a folder");
        }
        let task = background(
            server,
            "mkdir own/new; until [ -e go ]; do sleep 0.02; done; for d in bare empty; do mkdir $d/logs; \
             ln -s ~/x $d/logs/HEAD; mkfifo $d/COMMIT_EDITMSG; ln -s ~/x x; mv x $d/FETCH_HEAD; mkdir -p y/z; \
             ln -s ~/x y/z/a; mv y/z $d/rr-cache; mkdir $d/l; \
             ln -s ~/x $d/l/a; mv $d/l $d/lfs; ln -s x $d/lib.so; done; ln -s x own/new/config; touch done",
        );
        for folder in ["bare", "empty/hooks"] {
            fs::create_dir(program.workspace().join(folder)).expect("a folder");
        }
        program.put("workspace/go", "");
        let ran = bash(server, "until [ -e done ]; do sleep 0.02; done");
        assert!(!ran.is_error, "{}", ran.text);
        let told = read_to_end(server, task);
        for folder in ["bare", "empty"] {
            for name in ["logs/HEAD", "COMMIT_EDITMSG", "FETCH_HEAD", "rr-cache", "lfs"] {
                let path = program.workspace().join(folder).join(name);
                assert!(path.symlink_metadata().is_err(), "{folder}/{name}: {told}");
            }
            assert!(program.workspace().join(folder).join("lib.so").is_symlink(), "{told}");
        }
        assert!(told.contains("not created: \"bare/logs/HEAD\", \"bare/COMMIT_EDITMSG\""), "{told}");
        assert!(program.workspace().join("own/new/config").is_symlink(), "{told}");
    });
}

#[test]
fn a_directory_that_a_command_made_a_repository_of_for_a_moment_is_not_its_own() {
    in_each_tier(|program, server| {
        fs::create_dir(program.workspace().join("store")).expect("a folder");
        let task = background(
            server,
            "touch store/HEAD; rm store/HEAD; mkdir made; touch made/HEAD; rm made/HEAD; touch ready; \
             until [ -e go ]; do sleep 0.02; done; for d in store made; do echo x > $d/hooks/post-commit; \
             echo x >> $d/config; ln -s x $d/link; done; touch done",
        );
        let ran = bash(server, "until [ -e ready ]; do sleep 0.02; done");
        assert!(!ran.is_error, "{}", ran.text);
        for folder in ["store", "made"] {
            git(&program.workspace(), &["init", "-q", "--bare", folder]);
        }
        let config = fs::read(program.workspace().join("store/config")).expect("a file");
        program.put("workspace/go", "");
        let told = read_to_end(server, task);
        for folder in ["store", "made"] {
            let folder = program.workspace().join(folder);
            for name in ["hooks/post-commit", "link"] {
                assert!(folder.join(name).symlink_metadata().is_err(), "{name}: {told}");
            }
            assert_eq!(fs::read(folder.join("config")).expect("a file"), config, "{told}");
        }
    });
}

/// Git starts the hooks of a repository and obeys its configuration from the first moment on.
#[test]
fn a_directory_that_git_may_be_filling_takes_no_files_that_git_obeys() {
    in_each_tier(|program, server| {
        let task = background(
            server,
            "until [ -e go ]; do sleep 0.02; done; for d in bare begun; do touch $d/x; mkdir $d/hooks; \
             echo x > $d/hooks/post-checkout; echo x > $d/config; echo x > $d/commondir; echo x > $d/page.js; \
             mkdir -p $d/sub/hooks; echo x > $d/sub/hooks/use.ts; done; touch done",
        );
        for folder in ["bare", "begun", "begun/hooks"] {
            fs::create_dir(program.workspace().join(folder)).expect("a folder");
        }
        program.put("workspace/go", "");
        let ran = bash(server, "until [ -e done ]; do sleep 0.02; done");
        assert!(!ran.is_error, "{}", ran.text);
        let told = read_to_end(server, task);
        for folder in ["bare", "begun"] {
            let folder = program.workspace().join(folder);
            for name in ["hooks/post-checkout", "config", "commondir"] {
                assert!(folder.join(name).symlink_metadata().is_err(), "{name}: {told}");
            }
            assert!(folder.join("page.js").is_file() && folder.join("sub/hooks/use.ts").is_file(), "{told}");
        }
        assert!(told.contains("not created: \"bare/hooks\", \"bare/config\", \"bare/commondir\""), "{told}");
    });
}

/// Git creates a link in the git directory of a new submodule, to see if there can be any.
#[test]
fn the_git_directory_of_a_submodule_keeps_its_links() {
    for tier in TIERS {
        let program = in_tier(tier);
        let (library, main) = (program.workspace().join("library"), program.workspace());
        fs::create_dir(&library).expect("a folder");
        git(&library, &["init", "-q", "-b", "main"]);
        std::os::unix::fs::symlink("target", library.join("link")).expect("a link");
        git(&library, &["add", "link"]);
        git(&library, &["commit", "-qm", "one"]);
        git(&main, &["init", "-q", "-b", "main"]);
        let mut server = start_in(&program, &main);
        let ran = bash(
            &mut server,
            "mkdir -p .git/modules && git clone -q --separate-git-dir .git/modules/sub library sub && \
             readlink sub/link && git -C sub status --short; ln -s ~/x .git/modules/sub/logs/x",
        );
        assert!(ran.output().starts_with("target\n"), "{tier}: {}", ran.text);
        assert!(ran.text.contains("not created: \".git/modules/sub/logs/x\""), "{tier}: {}", ran.text);
    }
}
