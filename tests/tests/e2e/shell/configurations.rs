//! Tests of git configurations that are easily parsed differently from git.

use std::fs;

use super::support::{TIERS, bash, bash_for, in_each_tier, in_tier, start};

/// Configurations of repositories that a command creates. Git may start a program in each.
const HOSTILE: [&str; 14] = [
    r"# why\\\n[core]\n\tfsmonitor = x; false\n",
    r"[user]\n\tname = a ; b\\\n[core]\n\tfsmonitor = x; false\n",
    r"[user] name = a\n[a] [core] fsmonitor=x\n",
    r#"[user]\n\tname = "a\\\nb"\n[core]\n\thooksPath = /x\n"#,
    r"[include]\n\tpath = ~root/x\n",
    r#"[includeIf "gitdir:/"]\n\tpath = x\n"#,
    r#"[url "ext::sh -c x"]\n\tinsteadOf = https://example.com\n"#,
    r#"[remote "origin"]\n\turl = ext::sh -c x\n"#,
    r#"[branch "main"]\n\tremote = ext::sh -c x\n"#,
    r#"[core "fsmonitor\0"]\n\tx = evil\n"#,
    r"[alias]\n\tst = -p status\n",
    r"[diff]\n\ttool = ../../x\n",
    r"[new]\n\tkey = nobody knows what it does\n",
    r"[core\n",
];

#[test]
fn repositories_whose_configuration_hides_something_are_told() {
    in_each_tier(|_, server| {
        for (at, config) in HOSTILE.iter().enumerate() {
            let make =
                format!("mkdir -p n{at} && cd n{at} && git init -q . && printf '{config}' >> .git/config");
            let ran = bash(server, &make);
            assert_eq!(ran.exit_code(), 0, "{}", ran.text);
            assert!(ran.text.contains(&format!("n{at}/.git\": git starts")), "{config}\n{}", ran.text);
        }
        let led = r"mkdir -p led/evil/objects led/evil/refs && cd led && echo 'ref: refs/heads/x' > evil/HEAD && \
                    printf '[core]\n\tfsmonitor = x\n' > evil/config && printf 'gitdir: evil\0else' > .git";
        let ran = bash(server, led);
        assert!(
            ran.text.contains("led/.git\", ") && ran.text.contains("led/evil\": git starts"),
            "{}",
            ran.text
        );
    });
}

#[test]
fn repositories_as_git_makes_them_are_not_told() {
    in_each_tier(|_, server| {
        let make = "git init -q a && cd a && git config user.name A && git config user.email a@example.com && \
                    git commit -q --allow-empty -m x && git remote add origin https://example.com/a.git && \
                    git config branch.master.remote origin && cd .. && git clone -q a b && git init -q --bare c && \
                    git -C b checkout -q -b x && git -C a worktree add -q ../w";
        let ran = bash(server, make);
        assert_eq!(ran.exit_code(), 0, "{}", ran.text);
        assert!(!ran.text.contains("new: "), "{}", ran.text);
    });
}

/// Files that the user's own configuration names are protected, regardless of the place that names them.
#[test]
fn files_that_hidden_keys_and_the_environment_name_are_protected() {
    for tier in TIERS {
        eprintln!("--- {tier}");
        let program = in_tier(tier)
            .with("GIT_CONFIG_COUNT", "1")
            .with("GIT_CONFIG_KEY_0", "core.fsmonitor")
            .with("GIT_CONFIG_VALUE_0", "tools/counted.sh")
            .with("GIT_CONFIG_PARAMETERS", "'core.editor=tools/parameter.sh'")
            .with("GIT_SSH_COMMAND", "tools/ssh.sh -v");
        let config = "[core]\n\tbare = false\n# why \\\n[a] [core] fsmonitor=tools/hidden.sh\n\
                      [new]\n\tkey = tools/unknown.sh\n[url \"ext::tools/url.sh\"]\n\tinsteadOf = x\n";
        program.put("workspace/.git/HEAD", "ref: refs/heads/main\n");
        program.put("workspace/.git/config", config);
        for name in ["objects", "refs"] {
            fs::create_dir_all(program.workspace().join(".git").join(name)).expect("a folder");
        }
        let names = ["counted", "parameter", "ssh", "hidden", "unknown", "url", "free"];
        for name in names {
            program.put(&format!("workspace/tools/{name}.sh"), "mine");
        }
        let mut server = start(&program);
        bash_for(&mut server, "for name in tools/*.sh; do echo evil > $name; done; mv tools t; true", 5_000);
        let is = |name: &str| {
            fs::read_to_string(program.workspace().join(format!("tools/{name}.sh"))).expect(name)
        };
        for name in &names[..6] {
            assert_eq!(is(name), "mine", "{name}");
        }
        assert_eq!(is("free"), "evil\n");
    }
}

#[test]
fn names_that_count_by_a_pattern_or_by_their_folder_are_protected() {
    in_each_tier(|program, server| {
        program.put("workspace/app.code-workspace", "mine");
        program.put("workspace/.hg/store/x", "mine");
        program.put("workspace/lib/.github/workflows/x.yml", "mine");
        program.put("workspace/.config/nextest.toml", "mine");
        let attack = "for path in app.code-workspace new.code-workspace .hg/hgrc lib/.github/hooks .config/mise \
                      mise.toml mise.local.toml lib/.MISE.toml; do
                          echo evil > $path; mkdir $path; mkdir m; mv m $path; ln -s x $path; mv x $path; rm -f $path
                      done
                      mv .hg h; mv lib/.github g; true";
        bash_for(server, attack, 10_000);
        let at = |path: &str| program.workspace().join(path);
        assert_eq!(fs::read_to_string(at("app.code-workspace")).expect("the file"), "mine");
        for path in [
            "new.code-workspace",
            ".hg/hgrc",
            "lib/.github/hooks",
            ".config/mise",
            "mise.toml",
            "lib/.MISE.toml",
        ] {
            assert!(at(path).symlink_metadata().is_err(), "{path} is there");
        }
        assert!(at(".hg/store/x").exists() && at("lib/.github/workflows/x.yml").exists());
        let work = "echo a > lib/.github/workflows/x.yml && echo a > .config/nextest.toml && echo a > .hg/store/x && \
                    mkdir -p hooks .config/other && touch hgrc";
        bash(server, work).succeeded();
        let ran = bash(server, "mkdir -p n/hooks && touch n/hooks/x && mv n .github");
        assert!(ran.text.contains("new: ") && ran.text.contains(".github/hooks\""), "{}", ran.text);
    });
}
