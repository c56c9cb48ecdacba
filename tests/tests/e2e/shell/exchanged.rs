//! Tests of directories that are named in the policy and that commands replace.

use std::os::unix::fs::symlink;

use scorpiox_tests::Canonical as _;
use serde_json::json;

use super::support::{TIERS, background, bash, in_tier, start, with_policy};

#[test]
fn a_link_that_a_command_made_is_no_folder_of_the_policy() {
    for tier in TIERS {
        let program = in_tier(tier);
        program.put("workspace/docs/a.txt", "mine");
        program.put("home/private/a.txt", "secret");
        program.put("home/area/sub/a.txt", "mine");
        let home = program.home().canonical().display().to_string();
        let docs = program.workspace().canonical().join("docs");
        let policy = format!(
            "[shell.profile.workspace]\nread = [\"@system\", \"{}\", \"{home}/area/sub\", \"{home}/area/later\"]\n\
             write = [\"@workspace\", \"@tmp\", \"{home}/area\"]\n",
            docs.display()
        );
        let program = with_policy(program, &policy);
        let mut server = start(&program);
        assert_eq!(
            bash(&mut server, &format!("cat docs/a.txt '{home}/area/sub/a.txt'")).succeeded(),
            "minemine"
        );
        let exchange = format!(
            "mv docs old; ln -s '{home}/private' docs; mv '{home}/area/sub' '{home}/area/old'; \
             ln -s '{home}/private' '{home}/area/sub'; ln -s '{home}/private' '{home}/area/later'"
        );
        bash(&mut server, &exchange);
        let look = format!(
            "for d in docs '{home}/area/sub' '{home}/area/later' '{home}/private'; do cat $d/a.txt; done; echo end"
        );
        let ran = bash(&mut server, &look);
        assert!(ran.output().ends_with("end\n") && !ran.text.contains("secret"), "{tier}: {}", ran.text);
        // The same holds for a newly started server.
        let ran = bash(&mut start(&program), &look);
        assert!(ran.output().ends_with("end\n") && !ran.text.contains("secret"), "{tier}: {}", ran.text);
    }
}

#[test]
fn a_link_of_the_person_is_followed_where_no_command_can_exchange_it() {
    let program = in_tier("T1");
    program.put("home/disk/reference/a.txt", "reference");
    let home = program.home().canonical();
    symlink(home.join("disk/reference"), home.join("reference")).expect("a link");
    let policy = "[shell.profile.workspace]\nread = [\"@system\", \"~/reference\"]\n";
    let program = with_policy(program, policy);
    let look = format!("cat '{}'", home.join("disk/reference/a.txt").display());
    assert_eq!(bash(&mut start(&program), &look).succeeded(), "reference");
}

#[test]
fn a_folder_that_changes_places_all_the_time_never_leads_out() {
    let program = in_tier("T1");
    program.put("home/private/a.txt", "secret");
    program.put("home/area/real/a.txt", "mine");
    let home = program.home().canonical().display().to_string();
    let policy = format!(
        "[shell.profile.workspace]\nread = [\"@system\", \"{home}/area/sub\"]\n\
         write = [\"@workspace\", \"@tmp\", \"{home}/area\"]\n"
    );
    let program = with_policy(program, &policy);
    let mut server = start(&program);
    let flips = format!(
        "cd '{home}/area'; ln -s '{home}/private' link; while :; do mv -T real sub; mv -T sub real; \
         mv -T link sub; mv -T sub link; done"
    );
    background(&mut server, &flips);
    for _ in 0..20 {
        let command = format!("cat '{home}/area/sub/a.txt'; cat '{home}/area/sub/a.txt'");
        let result = start(&program).call("Bash", json!({ "command": command }));
        assert!(!result.to_string().contains("secret"), "{result}");
    }
}
