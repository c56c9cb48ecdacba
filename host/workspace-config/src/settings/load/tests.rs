use super::*;
use proptest::prelude::*;
use tempfile::TempDir;

const TOOLS: [&str; 3] = ["Bash", "WebSearch", "ReadDocs"];

/// Separate folders for the binary, the home and the workspace.
struct Machine {
    root: TempDir,
}

impl Machine {
    fn new() -> Self {
        let root = TempDir::new().expect("temporary folder");
        for folder in ["bin", "home", "ws"] {
            fs::create_dir(root.path().join(folder)).expect("create");
        }
        Self { root }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    fn with(self, relative: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a parent")).expect("create");
        fs::write(path, text).expect("write");
        self
    }

    fn locations(&self) -> Locations {
        Locations {
            binary_dir: Some(self.path("bin")),
            home: Some(self.path("home")),
            workspace: self.path("ws"),
            worked_on: Vec::new(),
        }
    }

    fn load(&self) -> Settings {
        self.load_with(&[])
    }

    fn load_with(&self, environment: &[(&str, &str)]) -> Settings {
        Settings::load(&self.locations(), environment.iter().copied(), &TOOLS)
    }

    /// Returns the problems as displayed, without the temporary folder's name.
    fn problems(&self, settings: &Settings) -> Vec<String> {
        settings.problems().iter().map(|problem| self.plain(&problem.to_string())).collect()
    }

    /// Removes the temporary folder's name from a text, and converts separators to `/`.
    fn plain(&self, text: &str) -> String {
        let root = format!("{}{}", self.root.path().display(), std::path::MAIN_SEPARATOR);
        text.replace(&root, "").replace(std::path::MAIN_SEPARATOR, "/")
    }
}

const BESIDE: &str = "bin/scorpiox-env.txt";
const HOME: &str = "home/.claude/scorpiox-env.txt";
const CLAUDE: &str = "ws/.claude/scorpiox-env.txt";
const SCORPIOX: &str = "ws/.scorpiox/scorpiox-env.txt";

#[test]
fn without_files_everything_has_its_default() {
    let machine = Machine::new();
    let settings = machine.load();
    assert!(settings.tools_enabled() && settings.streaming() && settings.tool_enabled("Bash"));
    assert_eq!(settings.model(), "sonnet");
    assert!(settings.additional_skills().is_empty());
    assert!(settings.problems().is_empty());
    assert!(settings.entries().all(|entry| entry.origin == Origin::Default));
}

#[test]
fn each_tier_wins_over_the_ones_before_it() {
    let tiers = [BESIDE, HOME, CLAUDE, SCORPIOX, "home/.claude/scorpiox-env/p.txt"];
    let mut machine = Machine::new();
    for (n, file) in tiers.iter().enumerate() {
        machine =
            machine.with(file, format!("MODEL=m{n}\nACTIVE_PROFILE={}", ["", "p"][usize::from(n == 1)]));
        if n < 4 {
            assert_eq!(machine.load().model(), format!("m{n}"), "{file}");
        }
    }
    assert_eq!(machine.load().model(), "m4");
    assert_eq!(machine.load_with(&[("MODEL", "m5")]).model(), "m5");
}

#[test]
fn entries_name_every_key_with_its_origin() {
    let machine = Machine::new()
        .with(HOME, "STREAMING=off\n\nADDITIONAL_SKILLS=~/a,b")
        .with(SCORPIOX, "TOOL_WEBSEARCH=0");
    let settings = machine.load_with(&[("MODEL", "opus")]);
    let shown: Vec<_> = settings
        .entries()
        .map(|entry| machine.plain(&format!("{}={} ({})", entry.key, entry.value, entry.origin)))
        .collect();
    assert_eq!(
        shown,
        [
            "TOOLS=true (default)",
            "STREAMING=false (home/.claude/scorpiox-env.txt:1)",
            "MODEL=opus (environment)",
            "ACTIVE_PROFILE= (default)",
            "ADDITIONAL_SKILLS=home/a,home/.claude/b (home/.claude/scorpiox-env.txt:3)",
            "STRUCTURED=false (default)",
            "TOOL_PREFIX= (default)",
            "ANSWER_WITHIN=50 (default)",
            "TOOL_BASH=true (default)",
            "TOOL_WEBSEARCH=false (ws/.scorpiox/scorpiox-env.txt:1)",
            "TOOL_READDOCS=true (default)",
        ]
    );
    assert!(settings.problems().is_empty());
}

#[test]
fn tools_off_switches_off_every_tool() {
    let machine = Machine::new().with(HOME, "TOOLS=false\nTOOL_BASH=1");
    let settings = machine.load();
    assert!(!settings.tools_enabled());
    assert!(!settings.tool_enabled("Bash") && !settings.tool_enabled("added-by-a-skill"));
}

#[test]
fn bad_lines_and_values_are_named_and_the_rest_is_taken() {
    let machine = Machine::new()
        .with(BESIDE, "MODEL=opus")
        .with(HOME, "TOOLS=maybe\nmodel=x\nSTREAMING=0\nTOOL_WEBSERCH=0\nNEWS=1\nMODEL=\nwhat?");
    let settings = machine.load();
    assert!(settings.tools_enabled() && !settings.streaming());
    assert_eq!(settings.model(), "opus");
    assert_eq!(
        machine.problems(&settings),
        [
            "home/.claude/scorpiox-env.txt:1: TOOLS=\"maybe\" is ignored: the value must be true or false",
            "home/.claude/scorpiox-env.txt:2: \"model=…\": keys are upper case; write MODEL",
            "home/.claude/scorpiox-env.txt:4: unknown key TOOL_WEBSERCH; did you mean TOOL_WEBSEARCH?",
            "home/.claude/scorpiox-env.txt:5: unknown key NEWS",
            "home/.claude/scorpiox-env.txt:6: MODEL=\"\" is ignored: the value must be the name of a model, \
         1 to 200 characters without control characters",
            "home/.claude/scorpiox-env.txt:7: \"what?\": no \"=\"; write KEY=VALUE, or start the line with # \
         to make it a comment",
        ]
    );
}

#[test]
fn only_the_first_problems_of_a_file_are_kept() {
    let machine = Machine::new().with(HOME, format!("{}STREAMING=0", "x\n".repeat(500)));
    let settings = machine.load();
    assert!(!settings.streaming());
    assert_eq!(settings.problems().len(), MAX_PROBLEMS_PER_FILE + 1);
    assert_eq!(
        machine.problems(&settings).last().map(String::as_str),
        Some("home/.claude/scorpiox-env.txt: 480 more problems in this file are not shown")
    );
}

#[test]
fn a_workspace_may_switch_off_but_not_on() {
    let machine = Machine::new()
        .with(HOME, "TOOL_BASH=0")
        .with(CLAUDE, "TOOL_BASH=1\nTOOL_READDOCS=0\nMODEL=haiku\nTOOLS=true")
        .with(SCORPIOX, "TOOL_READDOCS=1\nTOOL_WEBSEARCH=0");
    let settings = machine.load();
    let enabled: Vec<_> = TOOLS.iter().filter(|tool| settings.tool_enabled(tool)).collect();
    assert_eq!(enabled, [&"ReadDocs"], "what one workspace file switched off, another may switch on");
    assert_eq!(settings.model(), "haiku");
    assert_eq!(
        machine.problems(&settings),
        ["ws/.claude/scorpiox-env.txt:1: a file in the workspace, or a profile that it chooses, cannot \
         switch on TOOL_BASH; home/.claude/scorpiox-env.txt:1 switched it off"]
    );
}

#[test]
fn a_workspace_cannot_name_folders_of_skills() {
    let machine = Machine::new()
        .with(HOME, "ADDITIONAL_SKILLS=~/mine")
        .with(SCORPIOX, "ADDITIONAL_SKILLS=/etc\nACTIVE_PROFILE=p")
        .with("home/.claude/scorpiox-env/p.txt", "ADDITIONAL_SKILLS=~/of-p");
    let settings = machine.load();
    assert_eq!(settings.additional_skills(), [machine.path("home/mine")]);
    assert!(settings.problems().iter().all(|p| matches!(p.kind, ProblemKind::UsersAlone { .. })));
    assert_eq!(settings.problems().len(), 2);
}

#[test]
fn what_models_are_shown_is_the_users_alone() {
    let machine = Machine::new();
    let settings = machine.load();
    assert_eq!((settings.structured(), settings.tool_prefix()), (false, None));
    assert_eq!(settings.answer_within(), Some(std::time::Duration::from_secs(50)));
    let lines = "STRUCTURED=true\nTOOL_PREFIX=a_\nANSWER_WITHIN=0";
    let machine = Machine::new().with(SCORPIOX, lines).with(CLAUDE, lines);
    let settings = machine.load();
    assert_eq!((settings.structured(), settings.tool_prefix()), (false, None));
    assert_eq!(settings.problems().len(), 6);
    let settings = Machine::new().with(HOME, lines).load();
    assert_eq!((settings.structured(), settings.tool_prefix()), (true, Some("a_")));
    assert_eq!(settings.answer_within(), None);
    assert!(settings.problems().is_empty());
}

#[test]
fn a_profile_is_read_from_the_highest_tier_that_has_it() {
    let machine = Machine::new()
        .with(BESIDE, "ACTIVE_PROFILE=work\nTOOL_BASH=0")
        .with("bin/scorpiox-env/work.txt", "MODEL=beside")
        .with("home/.claude/scorpiox-env/work.txt", "MODEL=home\nTOOL_BASH=1\nADDITIONAL_SKILLS=s");
    let settings = machine.load();
    assert_eq!(settings.model(), "home");
    assert!(settings.tool_enabled("Bash"), "the user's profile may widen");
    assert_eq!(settings.additional_skills(), [machine.path("home/.claude/scorpiox-env/s")]);
    assert!(settings.problems().is_empty());
}

#[test]
fn a_workspace_cannot_put_its_own_profile_in_the_place_of_the_users() {
    let machine = Machine::new()
        .with(HOME, "ACTIVE_PROFILE=strict")
        .with("home/.claude/scorpiox-env/strict.txt", "TOOL_BASH=0\nMODEL=home")
        .with("ws/.scorpiox/scorpiox-env/strict.txt", "TOOL_READDOCS=0\nTOOL_BASH=1\nMODEL=ws");
    let settings = machine.load();
    assert!(!settings.tool_enabled("Bash"), "the user's profile still holds");
    assert!(!settings.tool_enabled("ReadDocs"), "the workspace's narrows further");
    assert_eq!(settings.model(), "ws");
}

#[test]
fn a_workspace_cannot_deselect_the_users_profile() {
    for choice in ["ACTIVE_PROFILE=lax", "ACTIVE_PROFILE="] {
        let machine = Machine::new()
            .with(HOME, "ACTIVE_PROFILE=strict")
            .with("home/.claude/scorpiox-env/strict.txt", "TOOL_BASH=0")
            .with("home/.claude/scorpiox-env/lax.txt", "TOOL_BASH=1\nTOOL_WEBSEARCH=0")
            .with(SCORPIOX, choice);
        let settings = machine.load();
        assert!(!settings.tool_enabled("Bash"), "{choice}");
        assert_eq!(settings.tool_enabled("WebSearch"), choice.ends_with('='), "{choice}");
        let profile = settings.entries().nth(3).expect("ACTIVE_PROFILE").value;
        assert_eq!(profile, if choice.ends_with('=') { "strict" } else { "strict + lax" });
    }
}

#[test]
fn the_environment_chooses_the_profile_over_everyone_and_sets_values_after_it() {
    let machine = Machine::new()
        .with(SCORPIOX, "ACTIVE_PROFILE=other")
        .with("home/.claude/scorpiox-env/mine.txt", "MODEL=mine\nSTREAMING=0")
        .with("home/.claude/scorpiox-env/other.txt", "MODEL=other\nTOOL_BASH=0");
    let settings = machine.load_with(&[("STREAMING", "1"), ("ACTIVE_PROFILE", "mine")]);
    assert_eq!(settings.model(), "mine");
    assert!(settings.streaming() && settings.tool_enabled("Bash"));
}

#[test]
fn a_missing_profile_is_reported_with_the_places_that_were_searched() {
    let machine = Machine::new().with(HOME, "ACTIVE_PROFILE=gone");
    let settings = machine.load();
    assert_eq!(
        machine.problems(&settings),
        ["home/.claude/scorpiox-env.txt:1: ACTIVE_PROFILE=gone: no such profile; looked for \
         ws/.scorpiox/scorpiox-env/gone.txt, ws/.claude/scorpiox-env/gone.txt, \
         home/.claude/scorpiox-env/gone.txt, bin/scorpiox-env/gone.txt"]
    );
}

#[test]
fn a_profile_neither_leaves_its_folder_nor_chooses_another() {
    let machine = Machine::new()
        .with(HOME, "ACTIVE_PROFILE=../scorpiox-env\nACTIVE_PROFILE=p")
        .with("home/.claude/scorpiox-env/p.txt", "ACTIVE_PROFILE=q\nMODEL=p")
        .with("home/.claude/scorpiox-env/q.txt", "MODEL=q");
    let settings = machine.load();
    assert_eq!(settings.model(), "p");
    let kinds: Vec<_> = settings.problems().iter().map(|p| &p.kind).collect();
    assert!(matches!(kinds[..], [ProblemKind::BadValue { .. }, ProblemKind::ProfileInProfile]), "{kinds:?}");
}

#[test]
fn only_known_variables_are_looked_at() {
    let machine = Machine::new().with(HOME, "MODEL=file\nTOOL_BASH=0");
    let settings = machine.load_with(&[
        ("PATH", "/bin"),
        ("MODEL", ""),
        ("STREAMING", "sometimes"),
        ("TOOL_BASH", " 1 "),
        ("TOOL_BUSH", "0"),
        ("ADDITIONAL_SKILLS", "relative"),
    ]);
    assert_eq!(settings.model(), "file", "an empty variable is not set");
    assert!(settings.streaming() && settings.tool_enabled("Bash"));
    assert_eq!(
        machine.problems(&settings),
        [
            "environment: unknown key TOOL_BUSH; did you mean TOOL_BASH?",
            "environment: STREAMING=\"sometimes\" is ignored: the value must be true or false",
            "environment: ADDITIONAL_SKILLS=\"relative\" is ignored: the value must be a list of absolute paths \
         or paths that start with ~/",
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_utf8_is_a_problem() {
    use std::os::unix::ffi::OsStrExt;
    let machine = Machine::new();
    let bytes = OsStr::from_bytes(b"\xff");
    let environment = [(OsStr::new("MODEL"), bytes), (bytes, bytes), (OsStr::new("PATH"), bytes)];
    let settings = Settings::load(&machine.locations(), environment, &TOOLS);
    assert_eq!(machine.problems(&settings), ["environment: MODEL is ignored: its value is not UTF-8"]);
}

#[test]
fn what_is_no_readable_file_of_reasonable_size_is_a_problem() {
    let machine = Machine::new()
        .with("bin/scorpiox-env.txt/folder", "")
        .with(HOME, format!("MODEL=big\n#{}", "x".repeat(64 * 1024)))
        .with("ws/.claude", "a file where a folder is expected");
    let settings = machine.load();
    assert_eq!(settings.model(), "sonnet");
    assert_eq!(
        machine.problems(&settings),
        [
            "bin/scorpiox-env.txt: not a regular file; it is ignored",
            "home/.claude/scorpiox-env.txt: larger than 65536 bytes; its settings are ignored",
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_change_is_no_word_of_the_persons() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let machine = Machine::new().with("home/.claude/scorpiox-env.txt", "TOOLS=0");
    let path = machine.path("home/.claude/scorpiox-env.txt");
    assert!(!machine.load().tools_enabled());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("mode");
    let settings = machine.load();
    assert!(settings.tools_enabled());
    assert!(matches!(settings.problems(), [Problem { kind: ProblemKind::Foreign(_), .. }]));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("mode");
    // Only root can change the owner of a file.
    if chown(&path, Some(12345), None).is_ok() {
        assert!(machine.load().tools_enabled());
    }
}

#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods)] // the test creates a pipe
fn a_pipe_that_takes_the_place_of_a_file_is_not_waited_for() {
    let machine = Machine::new().with("ws/real.txt", "TOOLS=0");
    let made = std::process::Command::new("mkfifo").arg(machine.path("ws/pipe")).status().expect("mkfifo");
    assert!(made.success());
    fs::create_dir_all(machine.path("ws/.scorpiox")).expect("create");
    let link = machine.path(SCORPIOX);
    std::os::unix::fs::symlink("../link", &link).expect("link");
    let other = machine.path("ws/link");
    std::os::unix::fs::symlink("real.txt", &other).expect("link");
    // A thread keeps replacing the link's target; a load that blocks would never finish.
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut next = ["pipe", "real.txt"].into_iter().cycle();
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let new = machine.path("ws/new");
                std::os::unix::fs::symlink(next.next().expect("a name"), &new).expect("link");
                fs::rename(new, &other).expect("rename");
            }
        });
        for _ in 0..2000 {
            machine.load();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[cfg(unix)]
#[test]
fn a_file_of_the_workspace_that_links_out_of_it_is_not_read() {
    let machine = Machine::new().with("secret", "TOOLS=0\nkey=secret").with("ws/real.txt", "MODEL=inside");
    fs::create_dir_all(machine.path("ws/.scorpiox")).expect("create");
    let link = machine.path(SCORPIOX);
    std::os::unix::fs::symlink(machine.path("secret"), &link).expect("link");
    let settings = machine.load();
    assert!(settings.tools_enabled());
    assert!(matches!(settings.problems(), [Problem { kind: ProblemKind::OutsideWorkspace(_), .. }]));

    fs::remove_file(&link).expect("remove");
    std::os::unix::fs::symlink("../real.txt", &link).expect("link");
    assert_eq!(machine.load().model(), "inside");
}

#[cfg(unix)]
#[test]
fn a_workspace_that_is_a_link_itself_is_read() {
    let machine = Machine::new().with(SCORPIOX, "MODEL=linked");
    std::os::unix::fs::symlink(machine.path("ws"), machine.path("link")).expect("link");
    let locations = Locations { workspace: machine.path("link"), ..machine.locations() };
    assert_eq!(Settings::load(&locations, [("", ""); 0], &TOOLS).model(), "linked");
}

#[test]
fn a_folder_that_is_two_tiers_is_read_once_and_trusted() {
    let machine = Machine::new().with(HOME, "ADDITIONAL_SKILLS=~/a");
    let locations = Locations { workspace: machine.path("home"), ..machine.locations() };
    let settings = Settings::load(&locations, [("", ""); 0], &TOOLS);
    assert_eq!(settings.additional_skills(), [machine.path("home/a")]);
    assert!(settings.problems().is_empty());
}

#[test]
fn beside_a_program_that_was_built_in_the_workspace_nothing_is_trusted() {
    let machine = Machine::new().with("ws/target/scorpiox-env.txt", "ADDITIONAL_SKILLS=/a\nTOOL_BASH=0");
    let locations = Locations { binary_dir: Some(machine.path("ws/target")), ..machine.locations() };
    let settings = Settings::load(&locations, [("", ""); 0], &TOOLS);
    assert!(settings.additional_skills().is_empty() && !settings.tool_enabled("Bash"));
    assert_eq!(settings.problems().len(), 1);
}

#[test]
fn without_home_and_binary_folder_the_workspace_is_read() {
    let machine = Machine::new().with(SCORPIOX, "TOOL_BASH=no");
    let locations =
        Locations { binary_dir: None, home: None, workspace: machine.path("ws"), worked_on: Vec::new() };
    assert!(!Settings::load(&locations, [("", ""); 0], &TOOLS).tool_enabled("bash"));
}

fn any_line() -> impl Strategy<Value = String> {
    let switch = prop_oneof![Just("0"), Just("1"), Just("true"), Just("off"), Just("maybe")];
    let key = prop_oneof![Just("TOOLS"), Just("TOOL_BASH"), Just("TOOL_WEBSEARCH"), Just("STREAMING")];
    prop_oneof![
        4 => (key, switch).prop_map(|(key, value)| format!("{key}={value}")),
        2 => prop_oneof![Just(""), Just("p"), Just("q"), Just("absent")].prop_map(|p| format!("ACTIVE_PROFILE={p}")),
        1 => Just("ADDITIONAL_SKILLS=somewhere,/else".to_owned()),
        1 => "[A-Z_]{1,6}=[a-z]{0,3}|[ -~]{0,12}",
    ]
}

fn any_file() -> impl Strategy<Value = String> {
    proptest::collection::vec(any_line(), 0..5).prop_map(|lines| lines.join("\n"))
}

/// Generates files for some of these paths.
fn any_files(paths: &'static [&'static str]) -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let each: Vec<_> = paths.iter().map(|path| (Just(*path), any_file())).collect();
    (each, proptest::collection::vec(any::<bool>(), paths.len())).prop_map(|(files, keep)| {
        files.into_iter().zip(keep).filter_map(|(file, keep)| keep.then_some(file)).collect()
    })
}

const USERS: [&str; 5] = [
    BESIDE,
    HOME,
    "bin/scorpiox-env/p.txt",
    "home/.claude/scorpiox-env/p.txt",
    "home/.claude/scorpiox-env/q.txt",
];
const WORKSPACES: [&str; 5] = [
    CLAUDE,
    SCORPIOX,
    "ws/.claude/scorpiox-env/p.txt",
    "ws/.scorpiox/scorpiox-env/p.txt",
    "ws/.scorpiox/scorpiox-env/q.txt",
];

proptest! {
    #[test]
    fn files_in_the_workspace_never_widen(
        users in any_files(&USERS),
        workspaces in any_files(&WORKSPACES),
        environment in proptest::collection::vec(
            (prop_oneof![Just("TOOLS"), Just("TOOL_BASH"), Just("ACTIVE_PROFILE")],
             prop_oneof![Just("0"), Just("1"), Just("p"), Just("q")]), 0..3),
    ) {
        let mut machine = Machine::new();
        for (path, text) in users {
            machine = machine.with(path, text);
        }
        let without = machine.load_with(&environment);
        for (path, text) in workspaces {
            machine = machine.with(path, text);
        }
        let with = machine.load_with(&environment);
        for tool in TOOLS.iter().chain(&["of a skill"]) {
            prop_assert!(without.tool_enabled(tool) || !with.tool_enabled(tool), "{tool} was switched on");
        }
        prop_assert!(without.tools_enabled() || !with.tools_enabled());
        prop_assert_eq!(without.additional_skills(), with.additional_skills());
    }

    #[test]
    fn any_bytes_load_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let machine = Machine::new().with(HOME, &bytes).with(SCORPIOX, &bytes);
        let settings = machine.load();
        prop_assert!(settings.problems().len() <= 2 * (MAX_PROBLEMS_PER_FILE + 1) + 1);
    }
}

#[cfg(unix)]
#[test]
fn a_folder_of_the_person_s_that_leads_into_the_workspace_is_the_workspace_s() {
    let machine = Machine::new().with("ws/dots/scorpiox-env.txt", "ADDITIONAL_SKILLS=/a\nTOOL_BASH=0");
    fs::create_dir_all(machine.path("home")).expect("create");
    std::os::unix::fs::symlink(machine.path("ws/dots"), machine.path("home/.claude")).expect("link");
    let settings = machine.load();
    assert!(settings.additional_skills().is_empty() && !settings.tool_enabled("Bash"));
    // The same applies if the user's folder is the workspace.
    let machine = Machine::new().with(HOME, "ADDITIONAL_SKILLS=/a");
    let locations = Locations { workspace: machine.path("home/.claude"), ..machine.locations() };
    assert!(Settings::load(&locations, [("", ""); 0], &TOOLS).additional_skills().is_empty());
}
