//! Tests of protected names that commands create through links, or that several commands create together.

use std::path::Path;
use std::time::Duration;

use super::support::{
    TIERS, background, bash, comes_true, git, in_each_tier, in_tier, read_to_end, start, with_policy,
};

/// Longer than a tick of the clock of file systems. What is younger counts as made since the next command started.
const TICK: Duration = Duration::from_millis(50);

/// Waits for a file, and until the files from before it are old for the next command.
fn wait_for(path: &Path) {
    let is_old = || {
        let changed = path.metadata().and_then(|found| found.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > TICK))
    };
    assert!(comes_true(Duration::from_secs(20), is_old), "{} does not come", path.display());
}

#[test]
fn names_that_two_commands_take_out_of_the_packages_are_told() {
    in_each_tier(|program, server| {
        let make = "mkdir -p node_modules/y/.vscode && echo x > node_modules/y/.vscode/tasks.json";
        let move_on = "until [ -e z ]; do sleep 0.02; done; mv z w; echo over";
        let task = background(server, &format!("{make}; touch ready; {move_on}"));
        wait_for(&program.workspace().join("ready"));
        let ran = bash(server, "mv node_modules/y z; until [ -e w ]; do sleep 0.02; done");
        assert!(ran.text.contains("new: ") && ran.text.contains("w\": programs obey"), "{}", ran.text);
        assert!(read_to_end(server, task).contains("over"));
        let ran = bash(server, &format!("{}; mv node_modules/v a; mv a b", make.replace("/y", "/v")));
        assert!(ran.text.contains("new: ") && ran.text.contains("b\": programs obey"), "{}", ran.text);
    });
}

#[test]
fn a_folder_of_the_person_that_gets_names_among_packages_is_told() {
    in_each_tier(|program, server| {
        program.put("workspace/app/main.c", "int main;");
        let ran = bash(
            server,
            "mkdir -p node_modules/n/.claude && mv app node_modules/app && mv node_modules/n/.claude \
             node_modules/app/ && mv node_modules/app t && mv t app",
        );
        assert!(ran.text.contains("new: ") && ran.text.contains("app\": programs obey"), "{}", ran.text);
    });
}

#[test]
fn names_that_count_in_a_folder_are_protected_behind_a_link_of_its_name() {
    in_each_tier(|program, server| {
        let ran = bash(server, "mkdir -p g/hooks; echo mine > g/hooks/x.json; ln -s g .github");
        assert!(ran.text.contains("new: ") && ran.text.contains(".github/hooks\""), "{}", ran.text);
        let ran = bash(server, "mkdir h; ln -s h .hg");
        assert!(ran.text.contains("new: ") && ran.text.contains(".hg\": programs obey"), "{}", ran.text);
        let ran = bash(
            server,
            "echo changed > .github/hooks/x.json; echo changed > g/hooks/x.json; mv g/hooks g/old; echo x > h/hgrc; \
             echo x > .hg/hgrc; echo x > h/file; echo x > g/file; cat g/hooks/x.json; ls h",
        );
        assert_eq!(
            ran.output().lines().filter(|line| !line.contains(": ")).collect::<Vec<_>>(),
            ["mine", "file"]
        );
        assert!(program.workspace().join("g/file").exists(), "{}", ran.text);
        let ran =
            bash(server, "mkdir -p n/hooks; rm .github; ln -sfn n .github; mv .hg x; readlink .github .hg");
        assert!(ran.output().ends_with("g\nh\n"), "{}", ran.text);
    });
}

#[test]
fn a_link_that_git_takes_for_a_repository_has_one_note() {
    in_each_tier(|_, server| {
        let ran = bash(
            server,
            "mkdir -p sub/g/objects sub/g/refs; echo ref: refs/heads/x > sub/g/HEAD; ln -s g sub/.git",
        );
        assert_eq!(ran.text.matches("new: \"sub/.git\"").count(), 1, "{}", ran.text);
        assert!(ran.text.contains("new: \"sub/.git\": git starts"), "{}", ran.text);
    });
}

#[test]
fn what_is_denied_by_the_name_of_a_folder_is_denied_where_a_link_of_that_name_leads() {
    for tier in TIERS {
        let program = in_tier(tier);
        program.put("workspace/conf/a.txt", "text");
        let policy = "[shell.profile.workspace]\nread = [\"@system\"]\nwrite = [\"@workspace\", \"@tmp\"]\n\
                      deny = [\"conf/*.key\", \"certs/**/*.pem\"]\n";
        let program = with_policy(program, policy);
        let mut server = start(&program);
        bash(&mut server, "mv conf c2 && ln -s c2 conf && mkdir -p d/e && ln -s d certs").succeeded();
        for name in ["conf/prod.key", "certs/e/prod.pem"] {
            program.put(&format!("workspace/{name}"), "SECRET");
        }
        let look = "cat conf/prod.key c2/prod.key certs/e/prod.pem d/e/prod.pem; cat c2/a.txt";
        let ran = bash(&mut server, look);
        assert!(!ran.text.contains("SECRET") && ran.output().ends_with("text"), "{tier}: {}", ran.text);
        let ran = bash(&mut start(&program), look);
        assert!(!ran.text.contains("SECRET") && ran.output().ends_with("text"), "{tier}: {}", ran.text);
    }
}

#[test]
fn a_repository_that_two_commands_make_is_told_by_the_one_that_ends_last() {
    in_each_tier(|program, server| {
        let begin = "mkdir lib x sub; echo 'ref: refs/heads/x' > lib/HEAD; mkdir x/objects; exec 8> x/config; touch ready";
        let evil =
            "printf '[core]\\n\\tfsmonitor = x\\n' > lib/config; printf '[core]\\n\\tfsmonitor = x\\n' >&8";
        let task =
            background(server, &format!("{begin}; until [ -e go ]; do sleep 0.02; done; {evil}; echo over"));
        wait_for(&program.workspace().join("ready"));
        let ran =
            bash(server, "mkdir lib/objects lib/refs && mv x sub/.git && mkdir sub/.git/refs && ls lib");
        assert!(!ran.text.contains("\"lib") && ran.exit_code() == 0, "{}", ran.text);
        // The other command has a file of the repository open.
        assert!(ran.text.contains("\"sub/.git\": git starts"), "{}", ran.text);
        program.put("workspace/go", "");
        let told = read_to_end(server, task);
        assert!(told.contains("\"lib") && told.contains("\"sub/.git\""), "{told}");
    });
}

/// The person makes a repository of a folder later, and git obeys what it finds there.
#[test]
fn a_folder_that_is_prepared_for_git_is_told_before_it_is_a_repository() {
    in_each_tier(|program, server| {
        for folder in ["store", "mirror", "src"] {
            std::fs::create_dir(program.workspace().join(folder)).expect("a folder");
        }
        program.put("workspace/src/main.ts", "x");
        let ran = bash(
            server,
            "mkdir src/hooks; echo x > src/hooks/use-title.ts; ln -s ../x src/logs; ls src/logs",
        );
        assert!(!ran.text.contains("new: "), "{}", ran.text);
        let ran = bash(
            server,
            "mkdir store/hooks; echo 'touch x' > store/hooks/post-update; chmod +x store/hooks/*",
        );
        assert!(ran.text.contains("new: \"store\": git starts"), "{}", ran.text);
        // A later command is told of it, too, if it changes the hook.
        let ran = bash(server, "echo 'touch y' > store/hooks/post-update");
        assert!(ran.text.contains("new: \"store\": git starts"), "{}", ran.text);
        // So is one that moves it, or a folder around it.
        let ran = bash(server, "mv store moved");
        assert!(ran.text.contains("new: \"moved\": git starts"), "{}", ran.text);
        bash(server, "mkdir -p around/deep && mv moved around/deep/store").succeeded();
        let ran = bash(server, "mv around away");
        assert!(ran.text.contains("new: \"away/deep/store\": git starts"), "{}", ran.text);
        let ran = bash(server, "ln -s /tmp/x mirror/FETCH_HEAD; echo x > mirror/README");
        assert!(ran.text.contains("new: \"mirror\": git starts"), "{}", ran.text);
    });
}

/// `git init` keeps a `config` that is there, and obeys it.
#[test]
fn a_configuration_is_told_where_git_would_obey_it() {
    in_each_tier(|program, server| {
        for (name, config, is_told) in [
            ("alias", "[alias]\\n\\tst = !touch x\\n", true),
            ("include", "[include]\\n\\tpath = more\\n", true),
            ("differ", "[diff]\\n\\texternal = ./x\\n", true),
            ("filtered", "[filter \"x\"]\\n\\tclean = ./x\\n", true),
            (".dvc", "[core]\\n    remote = x\\n['remote \"x\"']\\n    url = /data\\n", false),
            ("app", "[database]\\nhost = x\\n", false),
        ] {
            let ran = bash(
                server,
                &format!("mkdir {name}; printf '%b' \"$1\" > {name}/config; cat {name}/config")
                    .replace("\"$1\"", &format!("'{}'", config.replace('\'', "'\\''"))),
            );
            assert!(ran.exit_code() == 0, "{}", ran.text);
            let note = format!("new: \"{name}\": git starts");
            assert_eq!(ran.text.contains(&note), is_told, "{name}: {}", ran.text);
            assert!(is_told || !ran.text.contains("new: "), "{name}: {}", ran.text);
        }
        // It is obeyed in the repository that somebody makes of the folder.
        git(&program.workspace(), &["init", "-q", "--bare", "alias"]);
        let config = std::fs::read_to_string(program.workspace().join("alias/config")).expect("a file");
        assert!(config.contains("st = !touch x") && config.contains("[core]"), "{config}");
    });
}

#[test]
fn folders_named_hooks_of_packages_and_projects_are_not_told() {
    in_each_tier(|_, server| {
        for (folder, hook, is_told) in [
            ("node_modules/x", "commit-msg", false),
            ("src", "use-title.ts", false),
            ("gerrit", "commit-msg", true),
        ] {
            let made = format!(
                "mkdir -p {folder}/hooks; echo x > {folder}/README; echo x > {folder}/hooks/{hook}; cat {folder}/README"
            );
            let ran = bash(server, &made);
            let note = format!("new: \"{folder}\": git starts");
            assert_eq!(ran.text.contains(&note), is_told, "{folder}: {}", ran.text);
            assert!(ran.text.starts_with("x\n") && (is_told || !ran.text.contains("new: ")), "{}", ran.text);
        }
        let ran = bash(server, "mkdir -p node_modules/y/hooks; echo x > node_modules/y/hooks/pre-commit; ls");
        assert!(!ran.text.contains("new: "), "{}", ran.text);
        let ran = bash(server, "mv node_modules/y y; ls y");
        assert!(ran.text.contains("new: \"y\": git starts"), "{}", ran.text);
    });
}

/// The note would otherwise tell a command what exists outside of its folders.
#[test]
fn a_repository_that_leads_outside_is_told_whatever_is_there() {
    in_each_tier(|program, server| {
        let outside = program.workspace().parent().expect("a folder").join("outside");
        std::fs::create_dir(&outside).expect("a folder");
        git(&outside, &["init", "-q", "--bare", "there"]);
        for name in ["there", "absent"] {
            let path = outside.join(name);
            let ran = bash(server, &format!("mkdir {name}; echo 'gitdir: {}' > {name}/.git", path.display()));
            assert!(ran.text.contains(&format!("new: \"{name}/.git\": git starts")), "{name}: {}", ran.text);
        }
    });
}
