//! Integrity check of a file.

use rusqlite::Connection;

/// Returns the problems found.
pub(super) fn problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found = connection.prepare("PRAGMA integrity_check")?;
    let found = found.query_map([], |row| row.get::<_, String>(0))?;
    let found: Vec<_> = found.collect::<Result<_, _>>()?;
    let mut problems: Vec<_> = found.into_iter().filter(|line| line != "ok").collect();
    let mut miscounted = connection.prepare(
        "SELECT CAST(n.namespace AS BLOB), coalesce(u.bytes, 0) AS counted, coalesce(e.bytes, 0) AS used
         FROM (SELECT namespace FROM usage UNION SELECT namespace FROM kv) AS n
         LEFT JOIN usage AS u USING (namespace)
         LEFT JOIN (
             SELECT namespace, sum(length(CAST(key AS BLOB)) + length(value)) AS bytes FROM kv GROUP BY namespace
         ) AS e USING (namespace)
         WHERE counted <> used ORDER BY 1",
    )?;
    let told = miscounted.query_map([], |row| {
        let (namespace, counted, used): (Vec<u8>, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let namespace = namespace.escape_ascii();
        Ok(format!("{namespace} uses {used} bytes, and {counted} were counted"))
    })?;
    for one in told {
        problems.push(one?);
    }
    Ok(problems)
}
