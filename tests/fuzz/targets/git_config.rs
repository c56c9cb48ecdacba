//! Any configuration of git: each key has a name, and none hides one that follows it.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let (before, _) = scorpiox_gitdirs::keys(file);
    assert!(before.iter().all(|name| !name.contains(&0)));
    // The first line may go on a value, the second ends it.
    let (after, _) = scorpiox_gitdirs::keys(&[file, b"\n\n[core]\nfsmonitor = x\n"].concat());
    assert_eq!(after.last().map(Vec::as_slice), Some(&b"core.fsmonitor"[..]));
    assert!(after.len() > before.len());
});
