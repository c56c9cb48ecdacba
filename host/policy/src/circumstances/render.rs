//! Renders conditions.

use super::Conditions;

/// Returns the lists of conditions by their keys, without empty ones.
pub(crate) fn lists(conditions: &Conditions) -> Vec<(&'static str, Vec<String>)> {
    let Conditions { workspaces, remotes, unix_users, unix_groups, clients, callers, read_before } =
        conditions;
    let mut lists = vec![
        ("workspaces", texts(workspaces)),
        ("remotes", texts(remotes)),
        ("unix_users", texts(unix_users)),
        ("unix_groups", texts(unix_groups)),
        ("clients", texts(clients)),
        ("principals", texts(callers.principals.as_deref().unwrap_or_default())),
        ("groups", callers.groups.clone().unwrap_or_default()),
        ("after.read", read_before.iter().map(|rule| rule.glob().to_owned()).collect()),
    ];
    lists.retain(|(_, entries)| !entries.is_empty());
    lists
}

fn texts<T: ToString>(entries: &[T]) -> Vec<String> {
    entries.iter().map(ToString::to_string).collect()
}
