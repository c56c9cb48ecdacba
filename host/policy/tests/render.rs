//! Tests the output of `policy show`. `BLESS=1` accepts the current output as expected.

use std::path::{Path, PathBuf};

use scorpiox_policy::{Policy, render};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[track_caller]
fn prints(policy: &Policy, name: &str) {
    let (path, printed) = (golden(name), render(policy));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &printed).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&path).expect("the golden file can be read");
    assert_eq!(printed, expected, "see {}", path.display());
}

#[test]
fn the_built_in_policy_is_shown_whole() {
    prints(&Policy::builtin(), "builtin.txt");
}

#[test]
fn each_line_names_its_source() {
    let path = golden("custom.toml");
    let text = std::fs::read_to_string(&path).expect("the example can be read");
    let policy = Policy::parse(&text, &path).expect("the example is valid");
    prints(&policy, "custom.txt");
    let again = Policy::parse(&render(&policy), &path).expect("what is shown is a policy");
    assert_eq!(again.shell.profiles["mine"].limits, policy.shell.profiles["mine"].limits);
    let places = |policy: &Policy| -> Vec<_> {
        policy.audit.export.iter().map(|export| export.value.clone()).collect()
    };
    assert_eq!((places(&again), places(&policy).len()), (places(&policy), 3));
}
