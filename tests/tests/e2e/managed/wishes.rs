//! The wishes of an administrator for a team, in one policy: each is said, explained with its line, and judged as meant.
//! Tests of the single tables show that it is enforced.

use std::fmt::Write as _;

use scorpiox_tests::Program;
use scorpiox_tests::managed::managed;

const POLICY: &str = r#"version = 1
[shell.profile.workspace]
deny = ["**/.env*", "secrets/"]
network = { mode = "allowlist", hosts = ["registry.corp.example", "git.corp.example:22"] }
[files]
deny = ["**/.env*", "secrets/"]
[plugins]
allow = ["signer:acme"]
require_signature = true
[plugins.signers.acme]
key = "RWTCF1j5TF+pmO92a9YVjktSWzXPfzT3ugK0UQkS8m9fBeN0IdALk1ev"
names = ["acme-*"]
[[rules]]
name = "announced"
programs = ["git push *", "terraform apply *", "psql *"]
unknown = "allow"
channel = "weak"
then = "ask"
[[rules]]
name = "removals"
programs = ["rm -*r* *"]
unknown = "allow"
channel = "weak"
then = "ask"
[[rules]]
name = "finance stays here"
tools = ["WebSearch", "ReadDocs"]
after = { read = ["finance/"] }
then = "deny"
[[narrow]]
name = "no web in payments"
remotes = ["git.corp.example/payments/*"]
[narrow.web]
enabled = false
[[narrow]]
name = "contractors by account"
unix_groups = ["contractors"]
[narrow.shell.profile.workspace]
deny = ["finance/"]
network = { mode = "allowlist", hosts = ["registry.corp.example"] }
[[narrow]]
name = "contractors by token"
groups = ["contractors"]
[narrow.shell.profile.workspace]
deny = ["finance/"]
network = { mode = "allowlist", hosts = ["registry.corp.example"] }
"#;

/// Cases, each with words of the line that decides.
const CASES: [(&str, &str); 17] = [
    // Internal registries only.
    ("allow host registry.corp.example", "line 4"),
    ("deny host registry.example.org", "line 4"),
    // A push only to one host.
    ("allow host git.corp.example:22", "line 4"),
    ("deny host git.example.org:22", "line 4"),
    // Secrets are never readable.
    ("deny read .env.local", "line 3"),
    ("deny read sub/secrets/key", "line 3"),
    ("deny file secrets/key", "line 6"),
    // A person is asked first.
    ("ask command git push origin main", "rule \"announced\""),
    ("ask command cd infra && terraform apply -auto-approve", "rule \"announced\""),
    ("ask command psql -h db.corp.example", "rule \"announced\""),
    ("ask command rm -rf src", "rule \"removals\""),
    ("allow command git status", ""),
    // Plugins by signer.
    ("allow plugin acme-weather@signer:acme", "line 8"),
    ("deny plugin weather@signer:acme", ""),
    // No public web in some repositories.
    ("allow call WebSearch query=x remote git.corp.example/tools/x", ""),
    // Nothing that was read from finance leaves.
    ("deny call WebSearch query=x after finance/", "rule \"finance stays here\""),
    ("allow call WebSearch query=x", ""),
];

#[test]
fn the_wishes_of_an_administrator_are_said_judged_and_explained() {
    let program = managed(Program::new(), POLICY, "");
    program.put("workspace/finance/q4.csv", "");
    program.put(
        "workspace/all.cases",
        CASES.iter().fold(String::new(), |mut text, (case, _)| {
            let _ = writeln!(text, "{case}");
            text
        }),
    );
    let (status, out, err) = program.run(&["policy", "test", "all.cases"]);
    assert!(status.success() && out.contains("17 cases, all as expected"), "{out}{err}");
    for (case, line) in CASES {
        let wrong = match case.split_once(' ') {
            Some(("allow", subject)) => format!("deny {subject}"),
            Some((_, subject)) => format!("allow {subject}"),
            None => panic!("{case}"),
        };
        program.put("workspace/wrong.cases", format!("{wrong}\n"));
        let (status, out, err) = program.run(&["policy", "test", "wrong.cases"]);
        assert!(!status.success() && out.contains(line), "{wrong}: {out}{err}");
    }
}

#[test]
fn contractors_get_other_hosts_and_folders_by_their_token() {
    let program = managed(Program::new(), POLICY, "");
    let cases = "deny host git.corp.example:22 principal ext group contractors\n\
                 allow host registry.corp.example principal ext group contractors\n\
                 deny read finance/q4.csv principal ext group contractors\n\
                 allow read finance/q4.csv principal ann group staff\n\
                 allow host git.corp.example:22 principal ann group staff\n";
    program.put("workspace/all.cases", cases);
    let (status, out, err) = program.run(&["policy", "test", "all.cases"]);
    assert!(status.success() && out.contains("5 cases, all as expected"), "{out}{err}");
}
