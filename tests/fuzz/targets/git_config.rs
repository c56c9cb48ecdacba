//! Fuzzes git configurations: each key has a name, and none hides a later one.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let (before, _) = scorpiox_git::keys(file);
    assert!(before.iter().all(|name| !name.contains(&0)));
    // The first newline ends a line continuation, and the second one ends the value.
    let (after, _) = scorpiox_git::keys(&[file, b"\n\n[core]\nfsmonitor = x\n"].concat());
    assert_eq!(after.last().map(Vec::as_slice), Some(&b"core.fsmonitor"[..]));
    assert!(after.len() > before.len());
});
