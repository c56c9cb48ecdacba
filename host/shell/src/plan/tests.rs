use scorpiox_policy::Policy;
use scorpiox_test_support::bed::Bed;
use scorpiox_workspace_config::SkillFolders;

use super::*;

/// Returns the areas of the built-in profile for a server in `workspace`.
fn areas_of(bed: &Bed, workspace: &str) -> Result<Vec<Area>, ShellError> {
    let site = Site {
        workspace: bed.at(workspace),
        home: Some(bed.at("home")),
        own_home: bed.at("own"),
        workspace_name: "workspace".to_owned(),
        skills: Arc::new(SkillFolders::new(&bed.at("own"), None, &bed.at("own"), &[])),
        is_managed_required: false,
        worked_on: Vec::new(),
    };
    let policy = Policy::builtin();
    let places = Places::standard(site.workspace.clone(), site.home.clone(), &site.own_home);
    areas(&site, &policy.shell.profiles["workspace"], &places, &site.writable(&policy))
}

#[test]
fn a_workspace_may_hold_programs_that_people_start_and_not_lie_among_them() {
    let bed =
        Bed::with(&["home/.cargo/bin", "home/.rustup/toolchains/stable/bin", "disk/pyenv/shims", "own"]);
    bed.link(bed.at("disk/pyenv"), "home/.pyenv");
    for workspace in ["home/.cargo/bin", "home/.rustup", "home/.rustup/toolchains/stable/bin", "disk/pyenv"] {
        let error = areas_of(&bed, workspace).expect_err(workspace).to_string();
        assert!(error.contains("where programs outside the sandbox start from"), "{error}");
    }
    for workspace in ["home/.cargo", "home", "disk"] {
        let areas = areas_of(&bed, workspace).expect("may be worked on");
        assert!(areas.iter().any(|area| area.write && area.path == bed.at(workspace)), "{areas:?}");
    }
}
