//! Names the connections that hold the locks a migration waits for. Any role that may connect can take such a
//! lock and keep it.

use scorpiox_store::StoreError;

use crate::connection::Connection;

/// Key of the advisory lock that serializes migrations.
pub(crate) const ALONE: i64 = 7_022_359_318_401_230_435;
/// Maximum number of connections named in an error.
const MOST_NAMED: usize = 5;

/// Returns the error for a migration that did not get its locks in time. It names the connections that hold
/// them and the statements that terminate them. The holder of the advisory lock comes first: a migration that
/// waits for it waits for no reader of the tables.
pub(crate) fn refusal(connection: &mut Connection, location: &str, within: &str) -> StoreError {
    let sql = "SELECT l.pid, coalesce(a.usename::text, ''), coalesce(a.application_name, '')
         FROM pg_catalog.pg_locks AS l LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
         WHERE l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
             AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
             AND (
                 l.locktype = 'advisory' AND l.objsubid = 1
                     AND (l.classid::bigint << 32) | l.objid::bigint = $1
                 OR l.relation IN (
                     SELECT c.oid FROM pg_catalog.pg_class AS c
                     JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                     WHERE n.nspname = 'scorpiox_code'
                 )
             )
         GROUP BY 1, 2, 3 ORDER BY bool_or(l.locktype = 'advisory') DESC, 1 LIMIT 100";
    let found = connection.look(|connection| connection.rows(sql, &[&ALONE]));
    let holders: Vec<_> = match found {
        Ok(rows) => rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect(),
        Err(error) => return error,
    };
    StoreError::Other(sentence(location, within, &holders))
}

fn sentence(location: &str, within: &str, holders: &[(Option<i32>, String, String)]) -> String {
    let begin = format!("{location}: the migration did not get its locks within {within}");
    if holders.is_empty() {
        return format!("{begin}, and nobody has them any more; run `scorpiox-code store migrate` again");
    }
    let named = holders.iter().take(MOST_NAMED).map(|(pid, role, application)| match pid {
        Some(pid) => format!("process {pid} of the role {role:?} (application {application:?})"),
        None => "a prepared transaction, which pg_prepared_xacts names".to_owned(),
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if holders.len() > MOST_NAMED {
        named = format!("{named} and {} more", holders.len() - MOST_NAMED);
    }
    let ends: Vec<_> = holders.iter().take(MOST_NAMED).filter_map(|(pid, ..)| *pid).collect();
    let ends =
        ends.iter().map(|pid| format!("SELECT pg_terminate_backend({pid});")).collect::<Vec<_>>().join(" ");
    let ends = if ends.is_empty() { "ROLLBACK PREPARED 'NAME'".to_owned() } else { ends };
    format!(
        "{begin}; these have them: {named}. Where it is no other migration that still runs, end it with psql, as that role or as one that \
         has pg_signal_backend: {ends} Then run `scorpiox-code store migrate` again"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_holder_has_the_command_that_ends_it_and_chooses_no_words() {
        let holder = |pid| (pid, "reader".to_owned(), "x\n\u{1b}[2J".to_owned());
        let one = sentence("here", "10s", &[holder(Some(7))]);
        for part in ["process 7 of the role \"reader\"", "SELECT pg_terminate_backend(7);", "store migrate"] {
            assert!(one.contains(part), "{one}");
        }
        assert!(!one.chars().any(char::is_control), "{one:?}");
        assert!(sentence("here", "10s", &[holder(None)]).contains("ROLLBACK PREPARED"));
        let many = sentence("here", "10s", &(0..9).map(|pid| holder(Some(pid))).collect::<Vec<_>>());
        assert!(many.contains("and 4 more") && !many.contains("backend(5)"), "{many}");
        assert!(sentence("here", "10s", &[]).contains("again"));
    }
}
