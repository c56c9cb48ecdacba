//! Tests of `plugin dev`, which builds and tests a plugin again and again.

use std::fs;
use std::io::{BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use scorpiox_tests::Program;

use super::{guest, source};

/// A running `plugin dev`, which a failed test ends.
struct Dev(Child);

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads lines up to the one that says that the command waits.
fn until_it_waits(out: &mut impl std::io::BufRead) -> String {
    let mut said = String::new();
    loop {
        let before = said.len();
        assert!(out.read_line(&mut said).expect("output") > 0, "it ended: {said}");
        if said[before..].starts_with("Waiting for a change of its files") {
            return said;
        }
    }
}

#[test]
fn arguments_that_are_wrong_end_it_at_once() {
    let program = Program::new();
    let folder = source(&program, "kinds", "", &fs::read(guest("kinds")).expect("the component"));
    let (status, out, err) = program.run(&["plugin", "dev", &folder, "divide", "{bad"]);
    assert!(!status.success() && err.contains("the arguments are not JSON") && out.is_empty(), "{out}{err}");
}

#[test]
fn a_plugin_is_built_and_tested_at_each_change_until_ctrl_c() {
    let program = Program::new();
    let bytes = fs::read(guest("kinds")).expect("the component");
    let folder = source(&program, "kinds", "", &bytes);
    // The build copies the component, and fails with a message while the file `broken` exists.
    let folder = std::path::PathBuf::from(folder);
    fs::rename(folder.join("c.wasm"), folder.join("built.wasm")).expect("moved");
    let makefile = "all:\n\t@test ! -e broken || { echo oh no >&2; exit 1; }\n\t@cp built.wasm c.wasm\n";
    fs::write(folder.join("Makefile"), makefile).expect("writes");
    let mut command = program.command();
    command.args(["plugin", "dev", &folder.display().to_string(), "divide", r#"{"a": 6, "b": 3}"#]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut dev = Dev(command.spawn().expect("a process"));
    let mut out = BufReader::new(dev.0.stdout.take().expect("output"));
    let said = until_it_waits(&mut out);
    assert!(
        said.contains("Building: make -C ") && said.contains('2') && said.contains("KiB of memory"),
        "{said}"
    );
    fs::write(folder.join("broken"), "").expect("writes");
    let said = until_it_waits(&mut out);
    assert!(!said.contains("KiB of memory"), "{said}");
    fs::remove_file(folder.join("broken")).expect("removed");
    let said = until_it_waits(&mut out);
    assert!(said.contains("KiB of memory"), "{said}");
    let id = dev.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    let status = dev.0.wait().expect("an end");
    let mut errors = String::new();
    dev.0.stderr.take().expect("errors").read_to_string(&mut errors).expect("text");
    assert!(status.success(), "{status}: {errors}");
    assert!(errors.contains("oh no") && errors.contains("the build failed: make -C "), "{errors}");
    let left = fs::read_dir(program.home().join(".scorpiox/plugins")).expect("a folder").count();
    assert_eq!(left, 0, "something was left behind");
}

#[test]
fn without_a_tool_the_plugin_is_shown_briefly() {
    let program = Program::new();
    let bytes = fs::read(guest("kinds")).expect("the component");
    let folder = source(&program, "kinds", "version = \"1.0.0\"\n", &bytes);
    let mut command = program.command();
    command.args(["plugin", "dev", &folder]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut dev = Dev(command.spawn().expect("a process"));
    let mut out = BufReader::new(dev.0.stdout.take().expect("output"));
    let said = until_it_waits(&mut out);
    assert!(said.starts_with("kinds 1.0.0\n  tools: ") && said.contains("divide"), "{said}");
    let (status, _, err) = program.run(&["plugin", "dev", "none"]);
    assert!(!status.success() && err.contains("none has no plugin.toml"), "{err}");
}
