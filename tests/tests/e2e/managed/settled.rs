//! Tests that `policy why` tells what settings and the transport decide.

use scorpiox_tests::Program;

#[test]
fn a_tool_that_a_setting_switches_off_is_denied_with_its_origin() {
    let program = Program::new();
    program.put("workspace/.scorpiox/scorpiox-env.txt", "TOOL_WEBSEARCH=0\nTOOL_BASH=0\n");
    for (arguments, key) in [
        (&["policy", "why", "tool", "WebSearch"], "TOOL_WEBSEARCH"),
        (&["policy", "why", "tool", "Bash"], "TOOL_BASH"),
        (&["policy", "why", "command", "ls"], "TOOL_BASH"),
    ] {
        let (status, out, err) = program.run(arguments);
        assert_eq!(status.code(), Some(1), "{out}{err}");
        assert!(out.contains(&format!("the setting {key} switches")), "{out}");
        assert!(out.contains("scorpiox-env.txt:"), "{out}");
    }
    assert!(program.run(&["policy", "why", "tool", "ReadDocs"]).0.success());
    let off = Program::new().with("TOOLS", "0");
    let (status, out, _) = off.run(&["policy", "why", "tool", "ReadDocs"]);
    assert!(
        status.code() == Some(1) && out.contains("the setting TOOLS switches ReadDocs off (environment)"),
        "{out}"
    );
    // Cases and changes are about the policy alone.
    program.put("workspace/cases", "allow tool WebSearch\n");
    let (status, out, err) = program.run(&["policy", "test", "cases"]);
    assert!(status.success(), "{out}{err}");
    let (status, out, err) = program.run(&["policy", "deny", "tool", "WebSearch", "--print"]);
    assert!(status.success() && out.contains("+ deny: \"WebSearch\""), "{out}{err}");
}

#[test]
fn a_host_on_a_port_of_programs_without_proxies_is_told_with_that_limit() {
    let program = Program::new();
    program.put(
        "home/.scorpiox/policy.toml",
        "version = 1\n[shell.profile.workspace]\nunknown_hosts = \"ask\"\n\
         network = { mode = \"allowlist\", hosts = [\"1.1.1.1:5432\", \"1.1.1.1\"] }\n",
    );
    let (status, out, _) = program.run(&["policy", "why", "host", "1.1.1.1:5432"]);
    assert!(status.success() && out.contains("a program that knows no proxy"), "{out}");
    let (status, out, _) = program.run(&["policy", "why", "host", "1.1.1.1:443"]);
    assert!(status.success() && !out.contains("proxy"), "{out}");
    let (status, out, _) = program.run(&["policy", "why", "host", "a.example.com"]);
    assert!(status.code() == Some(1) && out.contains("a person is asked about it"), "{out}");
    let (status, out, _) = program.run(&["policy", "why", "host", "a.example.com", "--as", "ann"]);
    assert!(status.code() == Some(1) && out.contains("an approver is asked about it"), "{out}");
}
