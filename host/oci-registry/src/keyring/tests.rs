use std::path::Path;
use std::sync::Arc;

use scorpiox_test_support::bed::Bed;
use scorpiox_workspace_config::{Site, SkillFolders};

use super::*;

/// `me:secret` in base64.
const AUTH: &str = "bWU6c2VjcmV0";
const HOST: &str = "registry.example.com";

/// Returns a machine with a home directory, a project, and a policy with these lines for the registry.
fn machine(lines: &str) -> Bed {
    let bed = Bed::with(&["home/.scorpiox", "home/.docker", "project", "bin"]);
    let text = format!("version = 1\n[plugins.registries.\"{HOST}\"]\n{lines}\n");
    // In the form that users write on Windows.
    let root = bed.root().display().to_string().replace('\\', "/");
    let text = text.replace("BED", root.trim_start_matches("//?/"));
    bed.put("home/.scorpiox/policy.toml", &text);
    bed
}

fn site(root: &Path) -> Site {
    let (workspace, home) = (root.join("project"), root.join("home"));
    Site {
        skills: Arc::new(SkillFolders::new(root, None, root, &[])),
        own_home: home.join(".scorpiox"),
        home: Some(home),
        workspace,
        workspace_name: "project".to_owned(),
        is_managed_required: false,
        worked_on: Vec::new(),
    }
}

fn credentials(bed: &Bed, host: &str) -> Result<Option<Credentials>, String> {
    let operator = Operator::new(site(bed.root()));
    OperatorKeyring::with(&operator, None, Some(bed.at("bin").into_os_string())).credentials(host)
}

#[cfg(unix)]
fn found(bed: &Bed) -> Credentials {
    credentials(bed, HOST).expect("credentials").expect("some")
}

/// Returns the error for missing credentials, which must not contain the secret.
#[track_caller]
fn refused(bed: &Bed) -> String {
    let error = credentials(bed, HOST).expect_err("no credentials");
    assert!(!error.contains("secret") && !error.contains(AUTH), "{error}");
    error
}

/// Creates a file that only this user can access.
fn put(bed: &Bed, path: &str, text: &str) {
    bed.put(path, text);
    #[cfg(unix)]
    mode(bed, path, 0o600);
}

#[cfg(unix)]
fn mode(bed: &Bed, path: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(bed.at(path), std::fs::Permissions::from_mode(mode)).expect("a mode");
}

#[cfg(unix)] // Windows reports readable secrets differently
#[test]
fn a_registry_that_the_policy_does_not_name_has_no_credentials() {
    let bed = machine("user = \"me\"\npassword_file = \"~/key\"");
    put(&bed, "home/key", "secret\n");
    put(
        &bed,
        "home/.docker/config.json",
        &format!("{{\"auths\":{{\"other.example.com\":{{\"auth\":\"{AUTH}\"}}}}}}"),
    );
    for other in ["other.example.com", "registry.example.com:5000", "example.com", "sub.registry.example.com"]
    {
        assert!(credentials(&bed, other).expect("an answer").is_none(), "{other}");
    }
    assert_eq!(found(&bed).basic().expect("a header"), format!("Basic {AUTH}"));
}

#[cfg(unix)] // Windows reports readable secrets differently
#[test]
fn a_password_is_one_line_of_a_file() {
    let bed = machine("user = \"me\"\npassword_file = \"~/key\"");
    for text in ["secret", "secret\n", "secret\r\n"] {
        put(&bed, "home/key", text);
        assert_eq!(found(&bed).basic().expect("a header"), format!("Basic {AUTH}"), "{text:?}");
    }
    for (text, why) in [
        ("", "no password"),
        ("\n", "no password"),
        ("secret\nsecret", "more than one line"),
        ("secret\u{1}", "control character"),
    ] {
        put(&bed, "home/key", text);
        let error = refused(&bed);
        assert!(error.contains(why) && error.contains("password_file ~/key (policy.toml line 2)"), "{error}");
    }
    put(&bed, "home/key", &"secret".repeat(10_000));
    assert!(refused(&bed).contains("has more than 16384 bytes"));
    std::fs::remove_file(bed.at("home/key")).expect("removed");
    assert!(refused(&bed).contains("cannot be read"));
}

#[test]
fn a_file_that_commands_can_write_is_refused() {
    let bed = machine("user = \"me\"\npassword_file = \"BED/project/key\"");
    put(&bed, "project/key", "secret\n");
    let error = refused(&bed);
    assert!(error.contains("lies where commands can write"), "{error}");
    let bed = machine("user = \"me\"\ncommand = [\"BED/project/key\"]");
    put(&bed, "project/key", "#!/bin/sh\necho secret\n");
    let error = refused(&bed);
    assert!(error.contains("can be changed by commands") || cfg!(windows), "{error}");
}

#[cfg(unix)]
mod unix {
    use super::*;

    fn script(bed: &Bed, path: &str, text: &str) {
        bed.put(path, &format!("#!/bin/sh\n{text}\n"));
        mode(bed, path, 0o700);
    }

    #[test]
    fn a_file_that_others_can_read_or_write_is_refused() {
        let bed = machine("user = \"me\"\npassword_file = \"~/key\"");
        put(&bed, "home/key", "secret\n");
        for (bits, why) in [(0o604, "others may read it"), (0o602, "others may write it")] {
            mode(&bed, "home/key", bits);
            assert!(refused(&bed).contains(why), "{bits:o}");
        }
        mode(&bed, "home/key", 0o400);
        assert!(credentials(&bed, HOST).is_ok());
    }

    #[test]
    fn a_link_of_a_command_is_not_followed_and_one_of_the_person_is() {
        let bed = machine("user = \"me\"\npassword_file = \"BED/project/link\"");
        put(&bed, "home/key", "secret\n");
        std::os::unix::fs::symlink(bed.at("home/key"), bed.at("project/link")).expect("a link");
        assert!(refused(&bed).contains("symbolic link in a folder that commands can write"));
        let bed = machine("user = \"me\"\npassword_file = \"~/link\"");
        put(&bed, "home/key", "secret\n");
        std::os::unix::fs::symlink("key", bed.at("home/link")).expect("a link");
        assert_eq!(found(&bed).basic().expect("a header"), format!("Basic {AUTH}"));
    }

    #[test]
    fn a_program_prints_the_password() {
        let bed = machine("user = \"me\"\ncommand = [\"BED/bin/login\", \"one two\", \"$HOME\"]");
        script(&bed, "bin/login", "[ \"$1-$2-$#\" = 'one two-$HOME-2' ] && echo secret");
        assert_eq!(found(&bed).basic().expect("a header"), format!("Basic {AUTH}"));
        assert!(found(&bed).described().contains("bin/login, policy.toml line 2"));
        script(&bed, "bin/login", "echo secret; echo no such entry >&2; exit 4");
        let error = refused(&bed);
        assert!(error.contains("ended with exit status: 4: no such entry"), "{error}");
        script(&bed, "bin/login", "yes secret");
        assert!(refused(&bed).contains("printed more than 16384 bytes"));
        mode(&bed, "bin/login", 0o600);
        assert!(refused(&bed).contains("cannot be started"));
        mode(&bed, "bin/login", 0o722);
        assert!(refused(&bed).contains("can be changed by others than you and root"));
        std::fs::remove_file(bed.at("bin/login")).expect("removed");
        assert!(refused(&bed).contains("bin/login does not exist"));
    }

    /// Returns a machine with this Docker configuration.
    fn docker(json: &str) -> Bed {
        let bed = machine("credentials = \"docker\"");
        put(&bed, "home/.docker/config.json", json);
        bed
    }

    #[test]
    fn what_docker_has_is_read_where_the_policy_says_so() {
        for key in [HOST.to_owned(), format!("https://{HOST}"), format!("https://{HOST}/v1/")] {
            let bed = docker(&format!("{{\"auths\":{{\"{key}\":{{\"auth\":\"{AUTH}\"}}}},\"more\":1}}"));
            assert_eq!(found(&bed).basic().expect("a header"), format!("Basic {AUTH}"), "{key}");
        }
        for (json, why) in [
            (
                format!("{{\"auths\":{{\"other\":{{\"auth\":\"{AUTH}\"}}}}}}"),
                "has nothing for registry.example.com",
            ),
            (format!("{{\"auths\":{{\"{HOST}\":{{}}}}}}"), "has nothing for registry.example.com"),
            (format!("{{\"auths\":{{\"{HOST}\":{{\"auth\":\"{AUTH}!\"}}}}}}"), "is no base64"),
            (
                format!("{{\"auths\":{{\"{HOST}\":{{\"auth\":\"{AUTH}\",\"identitytoken\":\"x\"}}}}}}"),
                "identity token",
            ),
            (format!("{{\"auths\": \"{AUTH}\"}}"), "is not docker's: line 1"),
        ] {
            let error = refused(&docker(&json));
            assert!(error.contains(why) && error.contains("(policy.toml line 2)"), "{json}: {error}");
        }
        let bed = docker(&format!("{{\"auths\":{{\"{HOST}\":{{\"auth\":\"{AUTH}\"}}}}}}"));
        mode(&bed, "home/.docker/config.json", 0o644);
        assert!(refused(&bed).contains("others may read it"));
    }

    #[test]
    fn docker_s_programs_are_asked_as_docker_asks_them() {
        for json in
            [format!("{{\"credHelpers\":{{\"{HOST}\":\"test\"}}}}"), "{\"credsStore\":\"test\"}".to_owned()]
        {
            let bed = docker(&json);
            let answer = "echo '{\"ServerURL\":\"x\",\"Username\":\"me\",\"Secret\":\"secret\"}'";
            let is_asked = format!("[ \"$*\" = get ] && [ \"$(cat)\" = {HOST} ] &&");
            script(&bed, "bin/docker-credential-test", &format!("{is_asked} {answer}"));
            assert_eq!(found(&bed).basic().expect("a header"), format!("Basic {AUTH}"));
            for (text, why) in [
                ("echo 'credentials not found in native keychain'; exit 1", "has nothing for"),
                ("echo 'the keychain is locked'; exit 1", "exit status: 1: the keychain is locked"),
                ("echo secret", "printed something else than it should"),
                ("echo '{\"Username\":\"<token>\",\"Secret\":\"secret\"}'", "identity token"),
            ] {
                script(&bed, "bin/docker-credential-test", text);
                let error = refused(&bed);
                assert!(error.contains(why), "{text}: {error}");
            }
            std::fs::remove_file(bed.at("bin/docker-credential-test")).expect("removed");
            assert!(refused(&bed).contains("docker-credential-test is not found in PATH"));
        }
        let bed = docker("{\"credsStore\":\"../test\"}");
        assert!(refused(&bed).contains("other characters"));
    }
}

#[test]
fn docker_s_own_registry_has_another_name_there() {
    assert_eq!(docker::names("docker.io"), ["https://index.docker.io/v1/"]);
    assert_eq!(docker::names(HOST), [HOST, "https://registry.example.com"]);
}
