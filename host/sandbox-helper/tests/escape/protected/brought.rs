//! Names that a command brings along in ways that no single call reveals: out of packages, by links, and
//! together with others.

use std::fs;

use super::absent::{grow_old, unpacked};
use super::became::repositories;
use super::replaced::attack_around;
use crate::bed::{finish_attack, for_each_tier};

#[test]
fn names_that_leave_the_packages_are_told_under_whatever_name_they_have_then() {
    for_each_tier(|bed| {
        for path in ["app/file", "spare/file"] {
            grow_old(&bed.put(path, "mine\n"));
        }
        bed.shield.names = vec![".vscode"];
        let finished = bed.attack(
            r#"
            package() { mkdir -p "node_modules/$1/.vscode"; }
            package a; mv node_modules/a a1; mv a1 a2
            package b; mkdir p; mv node_modules/b p/b1; mv p/b1 b2
            package c; mkdir o; mv node_modules/c o/c1; mv o o2
            package d; ln -s node_modules/d d1; mv d1 d2
            package e; ln -s e node_modules/e1; mv node_modules/e1 e2; ln -s node_modules/none n; link n e3
            package f; exchange node_modules/f spare; mv spare f2
            mkdir node_modules/g; mv app node_modules/; mv node_modules/f/file node_modules/g
            package h; mv node_modules/h/.vscode node_modules/app/; mv node_modules/app t; mv t app
            # Nothing of this is told.
            mkdir -p node_modules/plain/x; mv node_modules/plain plain; ln -s plain plain1
            package i; mv node_modules node; mv node node_modules; ln -s ../node_modules/i node_modules/i1
            package j; mv node_modules/j gone; rm -r gone; mkdir lib; mv node_modules/i lib/; mv lib/i node_modules/
            "#,
        );
        let told = unpacked(bed, &finished);
        // The dangling link is reported under both of its names.
        let expected = ["a2", "app", "b2", "d2", "e3", "f2", "n", "o2/c1"];
        assert_eq!(told, expected, "{finished:?}");
    });
}

#[test]
fn a_part_of_what_left_the_packages_is_told_where_it_is() {
    for_each_tier(|bed| {
        bed.put("old/spare/file", "mine\n");
        bed.shield.names = vec![".vscode"];
        let finished = bed.attack(
            r#"
            package() { mkdir -p "node_modules/$1/in/.vscode"; mv "node_modules/$1" "$1"; }
            package a; mv a/in a1
            package b; mkdir p; mv b/in p/b1; mv p p2
            package c; exchange c/in old/spare; mv old/spare c1
            package d; mv d/in node_modules/; mv node_modules d2
            # Nothing of this is told.
            mkdir -p plain/x; mv plain/x x; mkdir node_modules; package e; mv e/in node_modules/
            "#,
        );
        assert_eq!(unpacked(bed, &finished), ["a1", "c1", "d2", "p2/b1"], "{finished:?}");
    });
}

/// The command that took the folder out of the packages no longer finds it.
#[test]
fn a_part_that_another_command_moves_is_told_by_that_one() {
    let locks = tempfile::NamedTempFile::new().expect("a file");
    for_each_tier(|bed| {
        bed.shield.names = vec![".vscode"];
        bed.locks = Some(locks.path().to_owned());
        bed.put("plain/x/file", "mine\n");
        let other =
            "mv plain/x x; until [ -d app/in ]; do sleep 0.02; done; mv app/in theirs; mv theirs last";
        let mut other = bed.start_attack(other);
        let first = "mkdir -p node_modules/p/in/.vscode; mv node_modules/p app
            until [ -d last ]; do sleep 0.02; done";
        let first = bed.attack(first);
        let other = finish_attack(&mut other);
        assert_eq!(unpacked(bed, &first), [""; 0], "{first:?}");
        assert_eq!(unpacked(bed, &other), ["last"], "{other:?}");
    });
}

#[test]
fn what_others_move_meanwhile_is_told_where_it_is() {
    for_each_tier(|bed| {
        bed.shield.names = vec![".vscode", ".hub/hooks"];
        let before = "mkdir -p node_modules/y/.vscode n/.vscode h/hooks; mv node_modules/y z; mv h .hub";
        let workspace = bed.workspace.clone();
        let others = move |_: &crate::bed::Bed| {
            for (from, to) in [("z", "w"), ("n/.vscode", "v"), ("v", "n2"), (".hub", "other")] {
                fs::rename(workspace.join(from), workspace.join(to)).expect("moves");
            }
            fs::create_dir(workspace.join("p")).expect("a folder");
            fs::rename(workspace.join("n2"), workspace.join("p/.vscode")).expect("moves");
            fs::rename(workspace.join("other"), workspace.join("p/.hub")).expect("moves");
        };
        let finished = attack_around(bed, before, others, "");
        assert_eq!(unpacked(bed, &finished), ["p/.hub/hooks", "p/.vscode", "w"], "{finished:?}");
    });
}

#[test]
fn names_that_count_in_a_folder_are_told_behind_a_link_of_its_name() {
    for_each_tier(|bed| {
        bed.shield.names = vec![".hub/hooks", ".jj/repo/set"];
        let finished = bed.attack(
            r#"
            mkdir -p g/hooks; ln -s g .hub
            mkdir two; ln -s "$WORKSPACE/h" two/.hub; mkdir -p h/hooks
            mkdir j r; echo > r/set; ln -s ../r j/repo; ln -s j .jj
            mkdir m; ln -s ../none x; mv x m/.hub
            ln -s g k; mkdir n; link k n/.hub
            mkdir q; ln -s .hub q/.hub
            # Nothing of this is told.
            mkdir own; ln -s ../g own/hub; ln -s ../r own/repo; ln -s g gone; mv gone gone2; echo > own/.jj
            ln -s g s; mv s own/.hub; rm own/.hub; mkdir -p node_modules/p; ln -s ../../g node_modules/p/.hub
            "#,
        );
        let expected = [".hub/hooks", ".jj/repo/set", "m/.hub", "n/.hub", "q/.hub/hooks", "two/.hub/hooks"];
        assert_eq!(unpacked(bed, &finished), expected, "{finished:?}");
    });
}

/// A command that created part of a repository can still change it after another process completed it.
#[test]
fn a_repository_that_another_completes_is_told_by_the_command_that_began_it() {
    for_each_tier(|bed| {
        bed.put("old/file", "mine\n");
        bed.shield.names = vec![".vscode"];
        let before =
            "mkdir head conf hooks half x sub far; echo ref: refs/heads/x > head/HEAD; exec 8> conf/config
            mkdir hooks/hooks x/objects far/f; echo > half/config; echo > old/config; echo > far/f/config";
        let others = |bed: &crate::bed::Bed| {
            for folder in ["head", "conf", "hooks", "old", "far/f"] {
                for name in ["objects", "refs"] {
                    fs::create_dir_all(bed.at(folder).join(name)).expect("a folder");
                }
                fs::write(bed.at(folder).join("HEAD"), "ref: refs/heads/x\n").expect("a file");
            }
            fs::rename(bed.at("x"), bed.at("sub/.git")).expect("moves");
            fs::rename(bed.at("far/f"), bed.at("near")).expect("moves");
        };
        let finished = attack_around(bed, before, others, "printf '[core]\\nfsmonitor=x\\n' >&8");
        let told = repositories(&finished);
        let expected = ["conf", "head", "hooks", "near", "old", "sub/.git"].map(|name| bed.at(name));
        assert_eq!(told, expected, "{finished:?}");
        assert_eq!(
            finished.outcome.as_ref().map(|outcome| outcome.names.repositories_others),
            Some(0),
            "{finished:?}"
        );
    });
}
