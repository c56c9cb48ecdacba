//! Tests of `ReadDocs` with files of the machine.

use std::os::unix::fs::symlink;

use scorpiox_tests::Program;
use serde_json::{Value, json};

use super::support::{failure, start, success};

/// Files are read under the rules of `[files]`, like images.
#[test]
fn files_are_read_where_the_policy_allows_it() {
    let program = Program::new();
    let policy = "version = 1\n[web]\nenabled = false\n[files]\nread = [\"@workspace\", \"~/Documents\"]\ndeny = [\"**/.env*\", \"**/private\"]\n";
    program.put("home/.scorpiox/policy.toml", policy);
    let page = "<title>Lakes</title><h1>Lakes</h1><p>Lakes are deep, see <a href='b.html'>more</a> of them here.</p>";
    let path = program.put("workspace/docs/a.html", page);
    program.put("home/Documents/notes.md", "# Notes\n\nText of mine.");
    program.put("workspace/private/secret.md", "SECRET");
    program.put("workspace/.env", "TOKEN=SECRET");
    program.put("outside.md", "SECRET");
    symlink(program.workspace().join("../outside.md"), program.workspace().join("link.md")).expect("a link");
    let mut server = start(&program);
    let mut read = |address: &str| -> Value { server.call("ReadDocs", json!({ "url": address })) };
    for address in ["docs/a.html", &path.display().to_string(), &format!("file://{}", path.display())] {
        let result = read(address);
        assert!(success(&result).contains("# Lakes"), "{address}: {result}");
        assert_eq!(result["structuredContent"]["url"], address);
    }
    assert!(success(&read("docs/a.html")).contains("[more](docs/b.html)"));
    assert!(success(&read("~/Documents/notes.md")).contains("Text of mine."));
    for address in
        ["private/secret.md", ".env", "link.md", "../outside.md", "/etc/shadow", "file:///etc/shadow"]
    {
        let result = read(address);
        assert!(
            !failure(&result).contains("SECRET") && !result.to_string().contains("root:"),
            "{address}: {result}"
        );
    }
    assert!(failure(&read("docs/none.html")).contains("docs/none.html does not exist in the workspace."));
}
