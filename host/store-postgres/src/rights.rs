//! Permissions of other roles on the tables.
//!
//! A server needs `SELECT`, `INSERT`, `UPDATE` and `DELETE`. Any other permission bypasses row-level
//! security: the role can truncate a table or have its own functions called when a server writes. `UPDATE` or
//! `DELETE` also allow locking a table.

use scorpiox_store::StoreError;
use tokio_postgres::Row;

use crate::bounds::MOST_ROWS;
use crate::connection::Connection;
use crate::guard::line;

/// Revokes all other permissions from roles that do not own the tables, as far as this role may.
pub(crate) fn take_away(connection: &mut Connection) -> Result<(), StoreError> {
    // Revoking a table permission also revokes it from the columns.
    let rows = connection.rows(
        "SELECT DISTINCT quote_ident(c.relname), a.privilege_type,
             CASE a.grantee WHEN 0::oid THEN 'PUBLIC' ELSE quote_ident(r.rolname) END
         FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         CROSS JOIN LATERAL (
             SELECT * FROM aclexplode(c.relacl)
             UNION ALL SELECT e.* FROM pg_catalog.pg_attribute AS t CROSS JOIN LATERAL aclexplode(t.attacl) AS e
             WHERE t.attrelid = c.oid
         ) AS a LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
         WHERE n.nspname = 'scorpiox_code' AND c.relkind = 'r' AND a.grantee <> c.relowner
             AND a.privilege_type NOT IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') AND pg_has_role(c.relowner, 'USAGE')
             AND (a.grantee = 0::oid OR r.rolname IS NOT NULL)",
        &[],
    )?;
    for row in &rows {
        let (table, right, role): (&str, &str, &str) = (row.get(0), row.get(1), row.get(2));
        connection.run(&format!("REVOKE {right} ON scorpiox_code.{table} FROM {role} CASCADE"))?;
    }
    Ok(())
}

/// Returns the other roles with write permissions, each with the statement that revokes them.
pub(crate) fn others(connection: &mut Connection) -> Result<Vec<String>, StoreError> {
    let mut others = given(connection)?;
    others.extend(members(connection)?);
    others.extend(owners(connection)?);
    others.extend(unbound(connection)?);
    Ok(others)
}

/// Returns the roles that may read all tables and that row-level security does not bind, such as those of backups: they
/// read the secret.
fn unbound(connection: &mut Connection) -> Result<Vec<String>, StoreError> {
    let rows = connection.rows(
        "SELECT quote_ident(r.rolname) FROM pg_catalog.pg_roles AS r
         CROSS JOIN pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname = 'scorpiox_code' AND c.relname = 'secret' AND r.rolbypassrls AND NOT r.rolsuper
             AND r.rolname <> current_user AND has_schema_privilege(r.oid, n.oid, 'USAGE')
             AND has_table_privilege(r.oid, c.oid, 'SELECT')
         ORDER BY 1 LIMIT $1",
        &[&MOST_ROWS],
    )?;
    let told = |row: &Row| {
        let role = line(row.get(0));
        format!(
            "the role {role} is not bound by row-level security, and can read the servers' secret: ALTER ROLE {role} \
             NOBYPASSRLS;"
        )
    };
    Ok(rows.iter().map(told).collect())
}

/// Returns the granted permissions.
fn given(connection: &mut Connection) -> Result<Vec<String>, StoreError> {
    let rows = connection.rows(
        "WITH tables AS (
             SELECT c.oid, c.relname, c.relacl, c.relowner FROM pg_catalog.pg_class AS c
             JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = 'scorpiox_code' AND c.relkind = 'r'
         ), rights AS (
             SELECT c.relname, c.relowner, a.grantee, a.privilege_type, false AS is_of_column
             FROM tables AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
             UNION ALL SELECT c.relname, c.relowner, a.grantee, a.privilege_type, true
             FROM tables AS c JOIN pg_catalog.pg_attribute AS t ON t.attrelid = c.oid
             CROSS JOIN LATERAL aclexplode(t.attacl) AS a
         )
         SELECT CASE a.grantee WHEN 0::oid THEN 'PUBLIC' ELSE quote_ident(r.rolname) END,
             string_agg(DISTINCT a.privilege_type, ', '),
             string_agg(DISTINCT 'scorpiox_code.' || quote_ident(a.relname), ', '),
             count(DISTINCT (a.relname, a.privilege_type))
                     FILTER (WHERE a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE') AND NOT a.is_of_column)
                 = 3 * (SELECT count(*) FROM tables)
         FROM rights AS a LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
         WHERE a.grantee <> a.relowner AND a.privilege_type <> 'SELECT'
             AND (a.grantee = 0::oid OR r.rolname <> current_user AND NOT r.rolsuper)
         GROUP BY 1 ORDER BY 1 LIMIT $1",
        &[&MOST_ROWS],
    )?;
    let told = |row: &Row| {
        let (role, rights, tables) = (line(row.get(0)), line(row.get(1)), line(row.get(2)));
        let has_all: bool = row.get(3);
        let may = if has_all { ", as a server has" } else { "" };
        format!(
            "the role {role} has {rights} on {tables}{may}: REVOKE {rights} ON {tables} FROM {role} CASCADE;"
        )
    };
    Ok(rows.iter().map(told).collect())
}

/// Returns the members of roles with write permissions, and those that can end a server's connections and its
/// waits for a standby.
fn members(connection: &mut Connection) -> Result<Vec<String>, StoreError> {
    let rows = connection.rows(
        "WITH RECURSIVE tables AS (
             SELECT c.oid, c.relacl, c.relowner FROM pg_catalog.pg_class AS c
             JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = 'scorpiox_code' AND c.relkind = 'r'
         ), writers AS (
             SELECT relowner AS role FROM tables
             UNION SELECT a.grantee FROM tables CROSS JOIN LATERAL aclexplode(relacl) AS a
             WHERE a.privilege_type <> 'SELECT' AND a.grantee <> 0::oid
             UNION SELECT a.grantee FROM tables JOIN pg_catalog.pg_attribute AS t ON t.attrelid = tables.oid
             CROSS JOIN LATERAL aclexplode(t.attacl) AS a WHERE a.privilege_type <> 'SELECT' AND a.grantee <> 0::oid
             UNION SELECT oid FROM pg_catalog.pg_roles
             WHERE rolname IN ('pg_write_all_data', 'pg_maintain', 'pg_signal_backend')
         ), memberships AS (
             SELECT m.roleid, m.member FROM pg_catalog.pg_auth_members AS m JOIN writers AS w ON w.role = m.roleid
             UNION SELECT m.roleid, m.member FROM pg_catalog.pg_auth_members AS m
             JOIN memberships AS b ON b.member = m.roleid
         )
         SELECT DISTINCT quote_ident(r.rolname), quote_ident(o.rolname) FROM memberships AS m
         JOIN pg_catalog.pg_roles AS r ON r.oid = m.member JOIN pg_catalog.pg_roles AS o ON o.oid = m.roleid
         WHERE r.rolname <> current_user AND NOT r.rolsuper ORDER BY 1, 2 LIMIT $1",
        &[&MOST_ROWS],
    )?;
    let told = |row: &Row| {
        let (role, of) = (line(row.get(0)), line(row.get(1)));
        format!("the role {role} has the rights of {of}, of which it is a member: REVOKE {of} FROM {role};")
    };
    Ok(rows.iter().map(told).collect())
}

/// Returns roles that own a table or the schema although the owner of the tables does not, or that may create
/// tables in the schema.
fn owners(connection: &mut Connection) -> Result<Vec<String>, StoreError> {
    let rows = connection.rows(
        "WITH owner AS (
             SELECT c.relowner AS oid FROM pg_catalog.pg_class AS c
             JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = 'scorpiox_code' AND c.relname = 'format'
         ), others AS (
             SELECT n.nspowner AS role, 'owns the schema scorpiox_code' AS does, 'ALTER SCHEMA scorpiox_code' AS ends
             FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'scorpiox_code'
             UNION ALL SELECT c.relowner, 'owns scorpiox_code.' || quote_ident(c.relname),
                 'ALTER TABLE scorpiox_code.' || quote_ident(c.relname)
             FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = 'scorpiox_code' AND c.relkind IN ('r', 'p')
         )
         SELECT quote_ident(r.rolname), o.does, o.ends || ' OWNER TO ' || quote_ident(w.rolname)
         FROM others AS o CROSS JOIN owner JOIN pg_catalog.pg_roles AS r ON r.oid = o.role
         JOIN pg_catalog.pg_roles AS w ON w.oid = owner.oid
         WHERE o.role <> owner.oid AND r.rolname <> current_user AND NOT r.rolsuper
         UNION ALL
         SELECT CASE a.grantee WHEN 0::oid THEN 'PUBLIC' ELSE quote_ident(r.rolname) END,
             'may make tables in the schema scorpiox_code',
             'REVOKE CREATE ON SCHEMA scorpiox_code FROM '
                 || CASE a.grantee WHEN 0::oid THEN 'PUBLIC' ELSE quote_ident(r.rolname) END || ' CASCADE'
         FROM pg_catalog.pg_namespace AS n CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
         LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
         WHERE n.nspname = 'scorpiox_code' AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner
             AND (a.grantee = 0::oid OR r.rolname <> current_user AND NOT r.rolsuper)
         ORDER BY 1, 2 LIMIT $1",
        &[&MOST_ROWS],
    )?;
    let told = |row: &Row| {
        let (role, does, ends) = (line(row.get(0)), line(row.get(1)), line(row.get(2)));
        format!("the role {role} {does}: {ends};")
    };
    Ok(rows.iter().map(told).collect())
}
