//! Files that git trusts and replaces as a whole: the index and references of repositories that were there before the
//! command.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use scorpiox_sandbox::Why;

use crate::bed::{Bed, Shield, for_each_tier, set_mode};

/// An index without entries, followed by the name of its content.
const EMPTY: &str = r"printf 'DIRC\0\0\0\2\0\0\0\0\071\330\220\023\236\345\065\154\176\365\162\041\154\353\315\047\252\101\371\337'";
/// Writes an index with one entry of the path `$1`, of up to nine bytes.
const INDEX: &str = r#"
index() {
    python3 - "$1" <<'P'
import hashlib, struct, sys
path = sys.argv[1].encode()
entry = bytes(60) + struct.pack(">H", len(path)) + path
index = b"DIRC" + struct.pack(">II", 2, 1) + entry + bytes(8 - len(entry) % 8)
sys.stdout.buffer.write(index + hashlib.sha1(index).digest())
P
}
"#;

/// Creates a repository with rules.
fn with_repository(bed: &mut Bed) {
    bed.put(".git/config", "[core]\n\trepositoryformatversion = 0\n");
    for (name, content) in [
        ("HEAD", "ref: refs/heads/x\n"),
        ("refs/heads/x", "old\n"),
        ("objects/pack/x", ""),
        ("index", "old\n"),
    ] {
        bed.put(&format!(".git/{name}"), content);
    }
    bed.put("own/file", "mine\n");
    bed.shield = Shield {
        freeze: vec![bed.at(".git/config")],
        pin: vec![bed.at(".git")],
        absent: vec![bed.at(".git/hooks")],
        ..Shield::default()
    };
}

#[test]
fn a_file_that_git_trusts_is_replaced_by_a_copy_of_what_git_would_write() {
    for_each_tier(|bed| {
        with_repository(bed);
        let finished = bed.attack(&format!(
            r#"{INDEX}
            cd .git
            {EMPTY} > index.lock; chmod 640 index.lock; touch -d 2001-02-03T04:05:06.789 index.lock
            exec 8<> index.lock
            may "an empty index" mv index.lock index
            must_fail "the lock file is still there" ls index.lock
            echo changed >&8
            index a/b > index.lock; may "another index" mv index.lock index
            index a/b > new; may "an index from another file" mv -f new index
            {EMPTY} > index.lock; may "an empty index again" mv index.lock index
            may "its mode" chmod 600 index
            mkdir refs/heads/topic; echo new > refs/heads/topic/x.lock
            may "a new reference" mv refs/heads/topic/x.lock refs/heads/topic/x
            echo new > refs/heads/x.lock; exec 9<> refs/heads/x.lock; ln refs/heads/x.lock ../own/second
            may "a reference" mv refs/heads/x.lock refs/heads/x
            echo changed >&9; echo changed > ../own/second
            echo 'ref: refs/heads/topic/x' > HEAD.lock; may "the current branch" mv HEAD.lock HEAD
            may "remove a reference" rm refs/heads/topic/x
            may "remove its folder" rmdir refs/heads/topic
            may "the same name" mv index ./index.old
            {EMPTY} > index.lock; chmod 640 index.lock; touch -d 2001-02-03T04:05:06.789 index.lock
            may "one that is not there" mv index.lock index
            "#
        ));
        let names = finished.outcome.expect("an outcome").names;
        assert_eq!((names.prevented, names.prevented_others), (Vec::new(), 0));
        let read = |name: &str| fs::read(bed.at(&format!(".git/{name}"))).expect("a file");
        assert!(read("index").starts_with(b"DIRC\0\0\0\x02") && read("index").len() == 32);
        let found = bed.at(".git/index").metadata().expect("a file");
        assert_eq!(found.permissions().mode() & 0o777, 0o640);
        assert_eq!(found.mtime_nsec(), 789_000_000);
        assert_eq!(read("refs/heads/x"), b"new\n");
        assert_eq!(read("HEAD"), b"ref: refs/heads/topic/x\n");
        let left = fs::read_dir(bed.at(".git")).expect("a folder").flatten();
        let left: Vec<_> = left
            .map(|entry| entry.file_name())
            .filter(|name| name.display().to_string().contains("lock"))
            .collect();
        assert_eq!(left, [""; 0]);
    });
}

#[test]
fn a_file_that_git_trusts_gets_no_other_content() {
    for_each_tier(|bed| {
        with_repository(bed);
        let attack = format!(
            r#"{INDEX}
            for path in index HEAD refs/heads/x; do
                path=.git/$path
                must_fail "append to $path" write $path
                must_fail "overwrite $path" overwrite $path
                must_fail "truncate $path" shorten $path
                must_fail "write to a descriptor" write /dev/fd/9 9<$path
                must_fail "replace $path by a folder" mv -T own $path
                must_fail "a link in place of $path" ln -sfT ../own/file $path
                must_fail "exchange $path" exchange own/file $path
                must_fail "exchange $path from the other side" exchange $path own/file
                must_fail "a second name of $path" link $path own/second
            done
            cd .git
            for path in .git/x ../x /x; do
                index $path > index.lock; must_fail "an index with $path" mv -f index.lock index
                index $path > other.lock; must_fail "a part of an index with $path" mv -f other.lock sharedindex.x
                index $path > sharedindex_x; must_fail "a part of an index with $path" mv -f sharedindex_x sharedindex.x
                must_fail "a spelling with $path" mv -f index.lock INDEX
            done
            index .git/x > wrong
            must_fail "a new part of an index" overwrite sharedindex.y
            must_fail "a second name as an index" link wrong sharedindex.y
            must_fail "no index" mv ../own/file index
            truncate -s 200M index.lock; must_fail "a large index" mv -f index.lock index
            echo 'ref: commondir' > x.lock
            must_fail "a reference that leads away" mv -f x.lock refs/heads/x
            must_fail "a current branch that leads away" mv -f x.lock HEAD
            must_fail "a new reference" overwrite refs/heads/new
            must_fail "a new reference in a folder" eval 'mkdir -p refs/a/b && overwrite refs/a/b/c'
            must_fail "a node" python3 -c 'import os; os.mknod("refs/heads/node")'
            rm index; must_fail "a new index" overwrite index
            must_fail "an unnamed file as an index" python3 -c '
import os
fd = os.open(".", os.O_TMPFILE | os.O_WRONLY)
os.link(f"/proc/self/fd/{{fd}}", "index", follow_symlinks=True)'
            "#
        );
        let finished = bed.attack(&attack);
        let names = finished.outcome.as_ref().expect("an outcome").names.clone();
        let told = |name: &str, why: &Why| {
            let path = bed.at(&format!(".git/{name}"));
            names.prevented.iter().any(|prevented| prevented.path.as_path() == path && prevented.why == *why)
        };
        assert!(told("index", &Why::InPlace) && told("HEAD", &Why::InPlace), "{names:?}");
        assert!(told("index", &Why::Names(".git/x".into())), "{names:?}");
        assert!(names.prevented_others > 0, "{names:?}");
        let read = |name: &str| fs::read_to_string(bed.at(&format!(".git/{name}"))).expect("a file");
        assert_eq!((read("HEAD"), read("refs/heads/x")), ("ref: refs/heads/x\n".into(), "old\n".into()));
        for name in ["index", "INDEX", "sharedindex.x", "sharedindex.y", "refs/heads/new", "refs/a/b/c"] {
            assert!(!bed.at(&format!(".git/{name}")).exists(), "{name}");
        }
        assert_eq!(fs::read_to_string(bed.at("own/file")).expect("a file"), "mine\n");
    });
}

/// Nothing is a repository there, or the command made it.
#[test]
fn files_of_such_names_elsewhere_are_ordinary() {
    for_each_tier(|bed| {
        with_repository(bed);
        set_mode(&bed.put("own/index", "mine\n"), 0o600);
        bed.put("refs/heads/x", "mine\n");
        let finished = bed.attack(
            r#"
            may "an index" write own/index
            may "a text of that name" overwrite own/HEAD
            may "a file in a folder of that name" overwrite refs/heads/x
            mkdir new new/objects new/refs; echo ref: refs/heads/x > new/HEAD
            may "an index of its own" overwrite new/index
            may "a log" eval 'mkdir -p .git/logs/heads && overwrite .git/logs/HEAD'
            "#,
        );
        assert!(finished.outcome.expect("an outcome").names.prevented.is_empty());
    });
}
