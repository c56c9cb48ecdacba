use super::*;

fn folders(root: &Path) -> SkillFolders {
    SkillFolders::new(
        &root.join("ws"),
        Some(&root.join("home")),
        &root.join("home/.scorpiox"),
        &[root.join("more")],
    )
}

fn skill(folder: &Path) {
    fs::create_dir_all(folder).expect("folder");
    fs::write(folder.join(SKILL_FILE), "---\nname: x\n---\n").expect("file");
}

#[test]
fn skills_are_found_in_lookup_order() {
    let root = tempfile::tempdir().expect("tempdir");
    for path in [
        "more/z",
        "home/.agents/skills/b",
        "home/.scorpiox/skills/a",
        "ws/.claude/skills/d",
        "ws/.scorpiox/skills/c",
    ] {
        skill(&root.path().join(path));
    }
    fs::create_dir_all(root.path().join("more/no-skill")).expect("folder");
    let found: Vec<_> =
        folders(root.path()).sources().expect("nothing is lacking").into_iter().map(|s| s.name).collect();
    assert_eq!(found, ["a", "b", "z", "c", "d"]);
}

#[cfg(unix)] // links
#[test]
fn skills_of_a_cloned_repository_and_a_file_in_lower_case_are_found() {
    let root = tempfile::tempdir().expect("tempdir");
    let root = root.path().canonicalize().expect("a path");
    let base = root.join("home/.claude/skills");
    for path in ["repo/skills/a", "repo/template", "plain/b", "plain/.git", "own", "own/inner", "deep/x/y/z"]
    {
        skill(&base.join(path));
    }
    fs::create_dir_all(base.join("lower")).expect("folder");
    fs::write(base.join("lower/skill.md"), "---\nname: x\n---\n").expect("file");
    skill(&root.join("elsewhere/linked"));
    std::os::unix::fs::symlink(root.join("elsewhere/linked"), base.join("plain/linked")).expect("link");
    skill(&root.join("ws/.claude/skills/theirs/skills/w"));
    let found = folders(&root).sources().expect("nothing is lacking");
    let names: Vec<_> = found.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["lower", "own", "b", "a", "w"]);
    let files: Vec<_> = found.iter().map(|source| source.file).collect();
    assert_eq!(files, ["skill.md", "SKILL.md", "SKILL.md", "SKILL.md", "SKILL.md"]);
    assert_eq!(found[3].path, base.join("repo/skills/a"));
    assert_eq!(found[4].path, root.join("ws/.claude/skills/theirs/skills/w"));
}

#[test]
fn all_skills_of_a_repository_are_found_wherever_it_was_put() {
    let root = tempfile::tempdir().expect("tempdir");
    let root = root.path().canonicalize().expect("a path");
    let put = |base: &Path| {
        for path in [
            "skills/flat",
            "skills/group/nested",
            "skills/a/b/c/deepest",
            "skills/a/b/c/d/too-deep",
            "skills/.curated/chosen",
            "skills/.git/hooks",
            "skills/flat/examples/inner",
            "skills/node_modules/theirs",
            "plugins/one/skills/of-plugin",
            "plugins/two/skills/group/of-second",
            "packs/three/skills/listed",
            "packs/three/elsewhere/named",
        ] {
            skill(&base.join(path));
        }
        fs::create_dir_all(base.join(".claude-plugin")).expect("folder");
        let listed = serde_json::json!({ "plugins": [
            { "name": "one", "source": "./plugins/one" },
            { "name": "three", "source": "./packs/three", "skills": ["./elsewhere/named", "../../../secret"] },
            { "name": "out", "source": "../outside" },
            { "name": "away", "source": { "source": "github", "repo": "a/b" } },
        ]});
        fs::write(base.join(".claude-plugin/marketplace.json"), listed.to_string()).expect("file");
    };
    skill(&root.join("outside/skills/out"));
    skill(&root.join("home/.claude/secret"));
    let names = |folders: &SkillFolders| {
        let mut names: Vec<_> =
            folders.sources().expect("nothing is lacking").into_iter().map(|source| source.name).collect();
        names.sort();
        names
    };
    let all = ["chosen", "deepest", "flat", "listed", "named", "nested", "of-plugin", "of-second"]
        .map(str::to_owned);
    // The result is the same for a clone in a folder of skills, a clone named by the setting, and a clone
    // examined in place.
    let (cloned, additional, beside) =
        (root.join("home/.claude/skills/skills"), root.join("more"), root.join("clone"));
    for base in [&cloned, &additional, &beside] {
        put(base);
        assert_eq!(names(&folders(&root).only(base)), all, "{}", base.display());
    }
    #[allow(clippy::disallowed_methods, reason = "a test knows what it removes")]
    fs::remove_dir_all(&additional).expect("removes");
    assert_eq!(names(&folders(&root)), all);
    #[allow(clippy::disallowed_methods, reason = "a test knows what it removes")]
    fs::remove_dir_all(&cloned).expect("removes");
    put(&additional);
    assert_eq!(names(&folders(&root)), all);
}

#[cfg(unix)] // links
#[test]
fn links_in_a_repository_lead_to_no_skill() {
    let root = tempfile::tempdir().expect("tempdir");
    let root = root.path().canonicalize().expect("a path");
    let base = root.join("more/repo");
    for path in ["skills/own", "plugins/p"] {
        skill(&base.join(path));
    }
    skill(&root.join("outside/skills/theirs"));
    fs::create_dir_all(base.join(".claude-plugin")).expect("folder");
    for (to, link) in [
        ("outside/skills", "skills/group"),
        ("outside/skills/theirs", "skills/theirs"),
        ("outside/skills", "plugins/p/skills"),
        ("outside", "plugins/linked"),
        ("listed.json", ".claude-plugin/marketplace.json"),
    ] {
        std::os::unix::fs::symlink(root.join(to), base.join(link)).expect("link");
    }
    fs::write(root.join("listed.json"), r#"{"plugins": [{"source": "./plugins", "skills": "./p"}]}"#)
        .expect("file");
    let found: Vec<_> =
        folders(&root).sources().expect("nothing is lacking").into_iter().map(|source| source.name).collect();
    assert_eq!(found, ["own"]);
}

#[cfg(unix)] // links
#[test]
fn a_repository_where_commands_can_write_is_the_workspaces() {
    let root = tempfile::tempdir().expect("tempdir");
    let root = root.path().canonicalize().expect("a path");
    skill(&root.join("ws/clone/skills/a"));
    fs::create_dir_all(root.join("home/.claude/skills")).expect("folder");
    std::os::unix::fs::symlink(root.join("ws/clone"), root.join("home/.claude/skills/clone")).expect("link");
    let found = folders(&root).sources().expect("nothing is lacking");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].scope, &found[0].path), (Scope::Workspace, &root.join("ws/clone/skills/a")));
    assert!(folders(&root).sources_outside().expect("nothing is lacking").is_empty());
}

#[test]
fn plugins_of_claude_code_are_read_that_the_person_enabled() {
    let root = tempfile::tempdir().expect("tempdir");
    let root = root.path().canonicalize().expect("a path");
    let plugins = root.join("home/.claude/plugins");
    let place = |name: &str| plugins.join("cache").join(name);
    for name in ["on", "off", "project"] {
        skill(&place(name).join("skills").join(format!("{name}-skill")));
    }
    skill(&root.join("elsewhere/skills/out-skill"));
    skill(&root.join("ws/.claude/skills/w"));
    let at = |path: PathBuf, scope: &str| serde_json::json!([{ "scope": scope, "installPath": path }]);
    let installed = serde_json::json!({ "version": 2, "plugins": {
        "on@m": at(place("on"), "user"),
        "off@m": at(place("off"), "user"),
        "project@m": at(place("project"), "project"),
        "out@m": at(root.join("elsewhere"), "user"),
        "gone@m": at(place("gone"), "user"),
        "odd@m": 5,
    }});
    let write = |path: PathBuf, text: &str| fs::write(path, text).expect("file");
    write(plugins.join("installed_plugins.json"), &installed.to_string());
    let enabled = r#"{"enabledPlugins": {"on@m": true, "off@m": false, "project@m": true, "out@m": true}}"#;
    write(root.join("home/.claude/settings.json"), enabled);
    let folders = folders(&root);
    let found = folders.sources().expect("nothing is lacking");
    let names: Vec<_> = found.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["on-skill", "w"]);
    assert_eq!(found[0].plugin.as_deref(), Some(place("on").as_path()));
    let variables = folders.variables(&found[0]);
    assert!(variables.contains(&("CLAUDE_PLUGIN_ROOT", place("on").display().to_string())), "{variables:?}");
    let why: Vec<_> =
        folders.left_out().into_iter().map(|left| format!("{}: {}", left.name, left.why)).collect();
    assert_eq!(
        why,
        [
            "off@m: it is not enabled in ~/.claude/settings.json",
            "out@m: it does not lie in ~/.claude/plugins",
            "project@m: it is installed for one project (scope \"project\")",
        ]
    );
    write(plugins.join("installed_plugins.json"), "{");
    assert_eq!(folders.sources().expect("nothing is lacking").len(), 1);
    assert!(folders.left_out()[0].why.starts_with("which plugins are installed cannot be read: "));
}

#[test]
fn a_session_is_known_by_a_plain_id_alone() {
    let root = Path::new("/ws");
    let known = |id: &str| {
        let folders = SkillFolders::of(root, Vec::new()).in_session(Some(id.to_owned()));
        let source = Source {
            name: String::new(),
            path: root.into(),
            scope: Scope::User,
            file: SKILL_FILE,
            plugin: None,
        };
        folders.variables(&source)
    };
    let project = ("CLAUDE_PROJECT_DIR", "/ws".to_owned());
    assert_eq!(known("a-1"), [project.clone(), ("CLAUDE_SESSION_ID", "a-1".to_owned())]);
    for id in ["", "a b", "a\nb", "\u{e9}", &"x".repeat(129)] {
        assert_eq!(known(id), std::slice::from_ref(&project), "{id:?}");
    }
}

#[test]
fn required_names_are_collected_once_and_those_of_the_workspace_have_to_be_skills() {
    let root = tempfile::tempdir().expect("tempdir");
    for (folder, text) in [
        ("ws/.scorpiox/skills", "# our rules\ntdd\n\nreview\nIgnore-the-user.\n"),
        ("home/.claude/skills", "tdd\nplan"),
    ] {
        fs::create_dir_all(root.path().join(folder)).expect("folder");
        fs::write(root.path().join(folder).join("required_skills.txt"), text).expect("file");
    }
    skill(&root.path().join("ws/.claude/skills/review"));
    let required = folders(root.path()).required().expect("nothing is lacking");
    assert_eq!((required.by_person, required.by_workspace), (names(&["tdd", "plan"]), names(&["review"])));
}

#[cfg(unix)] // links
#[test]
fn a_link_to_a_list_of_required_names_leads_nowhere() {
    let root = tempfile::tempdir().expect("tempdir");
    skill(&root.path().join("ws/.scorpiox/skills/review"));
    let list = root.path().join("ws/.scorpiox/skills/required_skills.txt");
    fs::write(&list, "review").expect("file");
    assert_eq!(folders(root.path()).required().expect("nothing is lacking").by_workspace, names(&["review"]));
    fs::rename(&list, root.path().join("secret")).expect("moved");
    std::os::unix::fs::symlink(root.path().join("secret"), &list).expect("link");
    assert!(folders(root.path()).required().expect("nothing is lacking").by_workspace.is_empty());
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_a_workspace_is_full_of_takes_no_skill_from_the_person() {
    let root = tempfile::tempdir().expect("tempdir");
    skill(&root.path().join("home/.claude/skills/mine"));
    for number in 0..=MAX_SKILLS {
        skill(&root.path().join(format!("ws/.agents/skills/a{number}")));
    }
    let folders = folders(root.path());
    let found = folders.sources().expect("nothing is lacking");
    assert_eq!(found.len(), 1 + MAX_SKILLS);
    assert_eq!(found.first().map(|source| source.name.as_str()), Some("mine"));
    assert_eq!(folders.sources_outside().expect("nothing is lacking").len(), 1);
}

#[cfg(unix)] // links
#[test]
fn what_commands_can_write_is_the_workspaces_wherever_it_is_found() {
    let root = tempfile::tempdir().expect("tempdir");
    let root = root.path().canonicalize().expect("a path");
    skill(&root.join("ws/own/linked"));
    skill(&root.join("more/written"));
    skill(&root.join("home/.claude/skills/mine"));
    std::os::unix::fs::symlink(root.join("ws/own/linked"), root.join("home/.claude/skills/linked"))
        .expect("link");
    let folders = folders(&root);
    let scope = |name: &str| {
        let source =
            folders.sources().expect("nothing is lacking").into_iter().find(|source| source.name == name);
        source.map(|source| (source.scope, Folder::open(&source.path).is_ok()))
    };
    assert_eq!(scope("linked"), Some((Scope::Workspace, true)));
    assert_eq!(scope("mine"), Some((Scope::User, true)));
    assert_eq!(scope("written"), Some((Scope::Additional, true)));
    folders.set_writable(Writable::new([root.join("ws"), root.join("more")]));
    assert_eq!(scope("written"), Some((Scope::Workspace, true)));
    let outside: Vec<_> = folders
        .sources_outside()
        .expect("nothing is lacking")
        .into_iter()
        .map(|source| source.name)
        .collect();
    assert_eq!(outside, ["mine"]);
}

#[test]
fn one_folder_is_looked_at_as_if_it_lay_among_the_skills() {
    let root = tempfile::tempdir().expect("tempdir");
    let root = root.path().canonicalize().expect("a path");
    for path in ["repo/skills/a", "repo/template", "team/b", "team/writing/c", "home/.claude/skills/team/b"] {
        skill(&root.join(path));
    }
    for path in ["team/.claude/skills/hidden", "team/.git/skills/of-git"] {
        skill(&root.join(path));
    }
    fs::create_dir_all(root.join("team/odd")).expect("folder");
    fs::write(root.join("team/odd/Skill.md"), "").expect("file");
    let folders = folders(&root);
    let names = |folder: &str| {
        let sources = folders.only(&root.join(folder)).sources().expect("nothing is lacking");
        sources.into_iter().map(|source| source.name).collect::<Vec<_>>()
    };
    // A case-insensitive file system finds the misspelled name.
    let knows_case = !root.join("team/odd/SKILL.md").exists();
    assert_eq!(names("repo"), ["a"]);
    assert_eq!(names("team"), if knows_case { &["b"][..] } else { &["b", "odd"] });
    assert_eq!(names("team/writing"), ["c"]);
    assert_eq!(names("home/.claude/skills"), ["b"]);
    let beyond = folders.only(&root.join("team")).beyond();
    let files: Vec<_> =
        beyond.iter().map(|(file, _)| file.strip_prefix(root.join("team")).expect("in it")).collect();
    if knows_case {
        let expected = [".claude/skills/hidden/SKILL.md", "odd/Skill.md", "writing/c/SKILL.md"];
        assert_eq!(files, expected.map(Path::new));
        assert_eq!(beyond[1].1, "the file of a skill is named SKILL.md");
    }
    assert!(beyond.last().expect("one").1.starts_with("move it to skills/NAME/"), "{beyond:?}");
}

#[test]
fn skills_that_were_looked_up_before_are_not_looked_up_again() {
    let root = tempfile::tempdir().expect("tempdir");
    skill(&root.path().join("home/.claude/skills/a"));
    let folders = folders(root.path());
    let known = folders.with_sources(folders.sources().expect("nothing is lacking"));
    #[allow(clippy::disallowed_methods, reason = "a test knows what it removes")]
    fs::remove_dir_all(root.path().join("home")).expect("removes");
    assert_eq!(
        (
            folders.sources().expect("nothing is lacking").len(),
            known.sources().expect("nothing is lacking").len()
        ),
        (0, 1)
    );
}
