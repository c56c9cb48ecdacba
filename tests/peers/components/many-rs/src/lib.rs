//! More functions than a plugin has tools without its user's consent.

wit_bindgen::generate!({ world: "peer", path: "wit" });

struct Peer;

macro_rules! functions {
    ($($name:ident)*) => {
        impl Guest for Peer {
            $(fn $name(of: String) -> String {
                format!("{} of {of}", stringify!($name))
            })*
        }
    };
}

functions! {
    add_item assign_copilot add_comment add_reply cancel_run create_branch create_gist create_issue create_file
    create_pull create_repo delete_file delete_log delete_run dismiss_note dispatch download_log fork_repo
    get_alert get_check get_code get_commit get_copilot get_diff get_discussion get_file get_gist get_issue
    get_job get_label get_log get_me get_milestone get_note get_project get_pull get_reaction get_release
    get_repo get_review get_run get_secret get_status get_tag get_team get_thread get_tree get_usage get_user
    get_workflow list_alerts list_artifacts list_branches list_checks list_codes list_commits list_discussions
    list_files list_forks list_gists list_issues list_jobs list_labels list_members list_milestones list_notes
    list_projects list_pulls list_releases list_reviews list_runs list_secrets list_stars list_tags list_teams
    list_threads list_types list_users list_workflows lock_issue mark_done merge_pull push_files rename_label
    request_review rerun_failed rerun_run run_workflow search_code search_issues search_pulls search_repos
    search_users star_repo update_file
}

export!(Peer);
