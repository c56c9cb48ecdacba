use scorpiox_test_support::bed::Bed;

use super::*;

fn all(bed: &Bed, folders: &[&str], pointers: &[&str]) -> Obeyed {
    let at = |paths: &[&str]| -> Vec<_> { paths.iter().map(|path| bed.at(path)).collect() };
    let (folders, pointers, home) = (at(folders), at(pointers), bed.at("home"));
    let user = User::new(Some(&home), |_| None);
    obeyed(Seen { folders: &folders, pointers: &pointers, user: &user })
}

fn found(bed: &Bed, folders: &[&str], pointers: &[&str]) -> BTreeSet<PathBuf> {
    let found = all(bed, folders, pointers);
    assert!(found.left_out.is_empty() && found.begun.is_empty(), "{found:?}");
    found.files
}

#[track_caller]
fn has(bed: &Bed, found: &BTreeSet<PathBuf>, paths: &[&str]) {
    for path in paths {
        assert!(found.contains(&bed.at(path)), "{path} is not in {found:#?}");
    }
}

#[test]
fn hooks_and_configurations_of_a_folder_are_obeyed_also_when_they_are_missing() {
    let bed = Bed::new();
    bed.folder("a/.git");
    let found = found(&bed, &["a/.git"], &[]);
    has(&bed, &found, &["a/.git/hooks", "a/.git/config", "a/.git/config.worktree", "a/.git/commondir"]);
    assert!(!found.contains(&bed.at("a/.git/info/attributes")));
}

#[test]
fn a_file_leads_to_a_folder_of_any_name_and_from_there_to_the_common_one() {
    let bed = Bed::new();
    bed.put("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
    bed.put("main/.git/worktrees/tree/commondir", "../..\n");
    bed.put("main/.git/config", "[core]\n\thooksPath = .githooks\n");
    let found = found(&bed, &[], &["tree/.git"]);
    has(
        &bed,
        &found,
        &[
            "tree/.git",
            "main/.git/worktrees/tree/config.worktree",
            "main/.git/worktrees/tree/commondir",
            "main/.git/config",
            "main/.git/hooks",
            "tree/.githooks",
        ],
    );
}

#[test]
fn links_lead_to_folders_and_to_files_that_lead_further() {
    let bed = Bed::new();
    bed.folder("store/one");
    bed.put("pointer", "gitdir: store/two");
    bed.folder("store/two");
    bed.folder("a");
    bed.folder("b");
    bed.link("../store/one", "a/.git");
    bed.link("../pointer", "b/.git");
    let found = found(&bed, &[], &["a/.git", "b/.git"]);
    has(&bed, &found, &["a/.git", "store/one/config", "b/.git", "store/two/hooks"]);
}

#[test]
fn a_pointer_to_nothing_is_obeyed_once_there_is_something() {
    let bed = Bed::new();
    bed.put("a/.git", "gitdir: meta\n");
    has(&bed, &found(&bed, &[], &["a/.git"]), &["a/meta/config", "a/meta/hooks"]);
}

#[test]
fn what_a_configuration_names_is_obeyed_too() {
    let bed = Bed::new();
    bed.put(
        "a/.git/config",
        "[include]\npath = ../extra\n[core]\nhooksPath = .husky/_\nworktree = ../../tree\n",
    );
    bed.put("a/extra", "[core]\nfsmonitor = tools/watch.sh --fast\n[alias]\nt = !make test\n");
    bed.put("a/tools/watch.sh", "");
    bed.put("tree/tools/watch.sh", "");
    bed.folder("a/test");
    let found = found(&bed, &["a/.git"], &[]);
    has(&bed, &found, &["a/.husky", "a/.husky/_", "a/tools/watch.sh"]);
    assert!(found.iter().any(|path| path.ends_with("a/.git/../extra")), "{found:#?}");
    assert!(found.iter().any(|path| path.ends_with("tree/tools/watch.sh")), "{found:#?}");
    assert!(!found.contains(&bed.at("a/test")), "a folder is not a program");
}

/// None of the programs exists yet.
#[test]
fn a_program_behind_another_word_is_obeyed() {
    let bed = Bed::with(&["a/.git"]);
    bed.put(
        "a/.git/config",
        "[core]\nfsmonitor = \"timeout 5 tools/fsm\"\nsshCommand = timeout 5 node lib/ssh\n",
    );
    has(&bed, &found(&bed, &["a/.git"], &[]), &["a/tools/fsm", "a/lib/ssh", "a/lib/ssh.js"]);
}

#[test]
fn configurations_of_the_user_hold_in_every_work_tree() {
    let bed = Bed::new();
    bed.put("home/.gitconfig", "[core]\nhooksPath = .hooks\n[include]\npath = ~/more\n");
    bed.folder("a/.git");
    bed.folder("b/.git");
    let found = found(&bed, &["a/.git", "b/.git"], &[]);
    has(&bed, &found, &["a/.hooks", "b/.hooks", "home/more", "home/.gitconfig"]);
}

#[test]
fn any_value_that_is_not_known_to_be_harmless_may_name_a_program() {
    let bed = Bed::new();
    bed.put(
        "a/.git/config",
        "# a\\\n[a] [core] fsmonitor = tools/hidden\n[user]\nname = tools/name\n[blame]\nignoreRevsFile = revs\n\
         [new]\nkey = tools/unknown\npath = my tools/one\n[url \"ext::tools/url %S\"]\ninsteadOf = x\n\
         [remote \"o\"]\nurl = https://example.com/x\n",
    );
    for path in ["tools/name", "revs", "tools/url", "my tools/one"] {
        bed.put(format!("a/{path}"), "");
    }
    let found = found(&bed, &["a/.git"], &[]);
    has(&bed, &found, &["a/tools/hidden", "a/tools/unknown", "a/tools/url", "a/my tools/one"]);
    for path in ["a/tools/name", "a/revs", "a/https:/example.com/x"] {
        assert!(!found.contains(&bed.at(path)), "{path}");
    }
}

#[test]
fn what_the_environment_names_is_obeyed_in_every_work_tree() {
    let bed = Bed::with(&["a/.git", "elsewhere"]);
    bed.put("mine/extra", "[core]\nhooksPath = .hooks\n");
    bed.put("elsewhere/config", "[core]\nfsmonitor = tools/far\nworktree = ../a\n");
    bed.put("a/relative", "[core]\neditor = tools/relative\n");
    let extra = bed.at("mine/extra");
    let variables = [
        ("GIT_CONFIG_COUNT", "1".to_owned()),
        ("GIT_CONFIG_KEY_0", "include.path".to_owned()),
        ("GIT_CONFIG_VALUE_0", extra.display().to_string()),
        ("GIT_EXTERNAL_DIFF", "tools/diff".to_owned()),
        ("GIT_CONFIG_GLOBAL", "relative".to_owned()),
        ("GIT_DIR", "../elsewhere".to_owned()),
    ];
    let find = |name: &str| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| value.into());
    let (user, folders) = (User::new(None, find), [bed.at("a/.git")]);
    let found = obeyed(Seen { folders: &folders, pointers: &[], user: &user }).files;
    has(&bed, &found, &["a/tools/diff", "a/.hooks", "a/relative", "a/tools/relative", "mine/extra"]);
    assert!(found.iter().any(|path| path.ends_with("elsewhere/../a/tools/far")), "{found:#?}");
}

#[test]
fn a_configuration_of_a_user_who_is_not_known_is_not_all_that_is_read() {
    let bed = Bed::new();
    bed.put("a/.git/config", "[include]\npath = ~nobody-has-this-name/x\n");
    let all = all(&bed, &["a/.git"], &[]);
    assert!(all.left_out.contains(&bed.at("a")) && all.begun.contains(&bed.at("a")), "{all:?}");
}

#[cfg(target_os = "linux")] // macOS creates pipes with another system call
#[test]
fn pipes_and_endless_files_are_not_waited_for() {
    let bed = Bed::new();
    bed.folder("a/.git");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    for path in ["a/.git/config", "a/.git/commondir", "pipe"] {
        rustix::fs::mknodat(rustix::fs::CWD, bed.at(path), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    bed.link("/dev/zero", "a/.git/gitdir");
    has(&bed, &found(&bed, &["a/.git"], &["pipe"]), &["a/.git/config", "pipe"]);
}

#[test]
fn programs_that_are_yet_to_come_and_hooks_in_the_tree_itself_are_obeyed() {
    let bed = Bed::new();
    bed.put(
        "a/.git/config",
        "[core]\nhooksPath = .\nfsmonitor = .tools/fsm\n[sendemail]\ntocmd = ./tocmd.sh\n\
         [alias]\na = \"!\\\"$PWD\\\"/bin/x.sh\"\nl = log origin/main\n[init]\ntemplateDir = skel\n",
    );
    bed.put("a/bin/x.sh", "");
    let found = found(&bed, &["a/.git"], &[]);
    has(
        &bed,
        &found,
        &["a/pre-commit", "a/.tools/fsm", "a/tocmd.sh", "a/bin/x.sh", "a/skel", "a/skel/hooks"],
    );
    for path in ["a", "a/origin/main", "a/log"] {
        assert!(!found.contains(&bed.at(path)), "{path}");
    }
}

#[test]
fn hooks_that_are_links_are_obeyed_by_name() {
    let bed = Bed::new();
    bed.put("a/.git/hooks/plain", "");
    bed.link("../../scripts/pre-commit", "a/.git/hooks/pre-commit");
    bed.put("a/.git/config", "[core]\nhooksPath = more\n");
    bed.folder("a/more");
    bed.link("../scripts/pre-push", "a/more/pre-push");
    let found = found(&bed, &["a/.git"], &[]);
    has(&bed, &found, &["a/.git/hooks/pre-commit", "a/more/pre-push"]);
    assert!(!found.contains(&bed.at("a/.git/hooks/plain")), "its folder is enough");
}

#[test]
fn a_configuration_that_is_too_long_leaves_its_work_trees_out() {
    let bed = Bed::new();
    bed.put("a/.git/config", "[core]\nhooksPath = x\n");
    bed.put("b/.git/config", &"# long\n".repeat(3_000_000));
    bed.put("c/.git/config", "[core]\nworktree = ../../d\nhooksPath = x\n");
    let all = all(&bed, &["a/.git", "b/.git", "c/.git"], &[]);
    has(&bed, &all.files, &["a/x"]);
    let left_out = |path: &str| all.left_out.contains(&bed.at(path));
    assert!(!left_out("a") && left_out("b") && left_out("b/.git") && left_out("c"), "{:?}", all.left_out);
    assert_eq!(all.begun, BTreeSet::from([bed.at("b"), bed.at("c")]));
}

#[test]
fn more_work_trees_than_are_looked_at_are_left_out_the_deepest_first() {
    let bed = Bed::new();
    let config = "[alias]\na = !./x\n".repeat(60_000);
    bed.put("a/.git/config", &config);
    bed.put("a/x", "");
    bed.put("a/sub/deep/.git", "gitdir: ../../.git\n");
    let all = all(&bed, &["a/.git"], &["a/sub/deep/.git"]);
    has(&bed, &all.files, &["a/x"]);
    assert!(all.left_out.contains(&bed.at("a/sub/deep")) && !all.left_out.contains(&bed.at("a")));
}

/// A command controls the length of paths, and each is stored several times.
#[test]
fn long_paths_count_for_more_than_short_ones() {
    let bed = Bed::new();
    let deep = vec!["x".repeat(250); 12].join("/");
    let lines: Vec<_> = (0..300).map(|number| format!("\tk{number} = ./p{number}\n")).collect();
    let folders: Vec<_> = (0..60).map(|number| format!("{deep}/r{number}")).collect();
    for folder in &folders {
        bed.put(format!("{folder}/config"), &format!("[x]\n{}", lines.concat()));
    }
    let found = all(&bed, &folders.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    let bytes: usize = found.files.iter().map(|path| path.as_os_str().len()).sum();
    assert!(bytes < 40 << 20, "{bytes}");
    assert!(folders.iter().any(|folder| found.left_out.contains(&bed.at(folder))), "nothing says so");
    assert!(folders.iter().all(|folder| found.files.contains(&bed.at(format!("{folder}/config")))));
}
