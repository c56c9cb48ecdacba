//! A role with permissions on some tables cannot make use of a server's permissions.
#![cfg(unix)]

mod common;

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Store, StoreError, Transaction};

use common::{as_role, database, name, named, role, server, to_format_1};

const TOOL: &str = "tool";
const ANY: u64 = u64::MAX;

fn begin(store: &dyn Store, mode: Mode) -> Box<dyn Transaction> {
    store.begin(mode, &Cancel::default(), &mut || ()).expect("a transaction")
}

fn put(store: &dyn Store) -> Result<(), StoreError> {
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ())?;
    transaction.set(TOOL, "k", b"v", ANY)?;
    transaction.commit()
}

const GIVEN: &str = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE; GRANT ALL ON scorpiox_code.entry, scorpiox_code.ended TO ROLE;
                     CREATE SCHEMA own AUTHORIZATION ROLE";
/// Creates a trigger function that leaves a trace even if the calling transaction is rolled back.
const FUNCTION: &str = "CREATE SEQUENCE own.called; GRANT USAGE ON SCHEMA own TO PUBLIC; GRANT ALL ON SEQUENCE own.called TO PUBLIC;
     CREATE FUNCTION own.take() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM nextval('own.called'); RETURN new; END $$";
const TRIGGER: &str = "CREATE TRIGGER mine BEFORE INSERT OR UPDATE ON scorpiox_code.entry FOR EACH ROW EXECUTE FUNCTION own.take()";

#[test]
fn a_trigger_of_another_role_is_never_called() {
    let address = server().database();
    let owner = database(&address);
    let (store, other) = (owner.workspace(&named("w")), owner.workspace(&named("x")));
    put(&store).expect("kept");
    let app = role(&address, "app", GIVEN);
    as_role(&app, FUNCTION).expect("made");
    // A transaction whose snapshot has no trigger holds the table locks.
    let mut open = begin(&store, Mode::ReadFirst);
    assert!(open.get(TOOL, "k").expect("a value").is_some());
    as_role(&app, &format!("SET lock_timeout = '200ms'; {TRIGGER}")).expect_err("the table is locked");
    open.set(TOOL, "k", b"w", ANY).expect("set");
    open.commit().expect("kept");
    as_role(&app, TRIGGER).expect("made");
    for store in [&store, &other] {
        let why = put(store).expect_err("it has a trigger").to_string();
        assert!(why.contains("DROP TRIGGER mine ON scorpiox_code.entry;") && why.contains("app_"), "{why}");
    }
    let mut open = begin(&store, Mode::ReadFirst);
    let read = open.get(TOOL, "k");
    assert!(matches!(read, Ok(_) | Err(StoreError::Other(_))), "{read:?}");
    assert!(open.set(TOOL, "k", b"w", ANY).is_err());
    drop(open);
    assert_eq!(owner.writers().expect("writers").foreign.len(), 1);
    as_role(&app, "DROP TRIGGER mine ON scorpiox_code.entry").expect_err("it does not own the table");
    server().psql(name(&address), "DROP TRIGGER mine ON scorpiox_code.entry").expect("dropped");
    put(&store).expect("kept");
    assert_eq!(
        server().psql(name(&address), "SELECT is_called FROM own.called").as_deref().map(str::trim),
        Ok("f")
    );
}

/// A write operation.
type Write<'a> = Box<dyn Fn() -> Result<(), StoreError> + 'a>;

#[test]
fn each_table_that_a_server_writes_is_looked_at() {
    let address = server().database();
    let owner = database(&address);
    put(&owner.workspace(&named("w"))).expect("kept");
    let all = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE; GRANT ALL ON ALL TABLES IN SCHEMA scorpiox_code TO ROLE;
               CREATE SCHEMA own AUTHORIZATION ROLE";
    let app = role(&address, "app", all);
    as_role(&app, FUNCTION).expect("made");
    for table in
        ["workspace", "entry", "usage", "timer", "message", "commit_mark", "secret", "ended", "relay"]
    {
        let made = TRIGGER.replace(".entry", &format!(".{table}"));
        as_role(&app, &made).expect("made");
        let writes: [(&str, Write<'_>); 5] = [
            ("a workspace", Box::new(|| put(&owner.workspace(&named("w"))))),
            ("a new workspace", Box::new(|| put(&owner.workspace(&named(table))))),
            ("a secret", Box::new(|| owner.secret("name", b"value").map(drop))),
            ("an end", Box::new(|| owner.end_session(b"2", (b"1", b"3"), 9, common::LONG).map(drop))),
            ("a text", Box::new(|| owner.pass_on("text"))),
        ];
        for (what, write) in writes {
            let why = write().expect_err(what).to_string();
            assert!(why.contains(&format!("DROP TRIGGER mine ON scorpiox_code.{table};")), "{what}: {why}");
        }
        server()
            .psql(name(&address), &format!("DROP TRIGGER mine ON scorpiox_code.{table}"))
            .expect("dropped");
    }
    assert_eq!(
        server().psql(name(&address), "SELECT is_called FROM own.called").as_deref().map(str::trim),
        Ok("f")
    );
    put(&owner.workspace(&named("w"))).expect("kept");
}

#[test]
fn a_migration_calls_no_trigger_of_another_role() {
    let address = server().database();
    put(&database(&address).workspace(&named("w"))).expect("kept");
    to_format_1(&address);
    let given = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE; GRANT TRIGGER ON scorpiox_code.workspace, scorpiox_code.format TO ROLE;
                 CREATE SCHEMA own AUTHORIZATION ROLE";
    let app = role(&address, "app", given);
    as_role(&app, FUNCTION).expect("made");
    for table in ["workspace", "format"] {
        as_role(&app, &TRIGGER.replace(".entry", &format!(".{table}"))).expect("made");
        let why = database(&address).migrate().expect_err("it has a trigger").to_string();
        assert!(why.contains(&format!("DROP TRIGGER mine ON scorpiox_code.{table};")), "{why}");
        let dropped = format!("DROP TRIGGER mine ON scorpiox_code.{table}");
        server().psql(name(&address), &dropped).expect("dropped");
    }
    database(&address).migrate().expect("migrated");
    assert_eq!(
        server().psql(name(&address), "SELECT is_called FROM own.called").as_deref().map(str::trim),
        Ok("f")
    );
}

#[test]
fn a_transaction_that_read_first_meets_no_foreign_key_made_since() {
    let address = server().database();
    let owner = database(&address);
    let store = owner.workspace(&named("w"));
    put(&store).expect("kept");
    let given = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE; GRANT SELECT ON scorpiox_code.entry TO ROLE;
                 GRANT REFERENCES (workspace, namespace, key) ON scorpiox_code.entry TO ROLE;
                 CREATE SCHEMA own AUTHORIZATION ROLE";
    let app = role(&address, "app", given);
    let mut open = begin(&store, Mode::ReadFirst);
    assert!(open.get(TOOL, "k").expect("a value").is_some());
    let key = "CREATE TABLE own.held (workspace bigint, namespace bytea, key bytea,
                   FOREIGN KEY (workspace, namespace, key) REFERENCES scorpiox_code.entry ON DELETE CASCADE)";
    as_role(&app, &format!("SET lock_timeout = '200ms'; {key}")).expect_err("the table is locked");
    open.set(TOOL, "k", b"w", ANY).expect("set");
    open.commit().expect("kept");
    as_role(&app, key).expect("made");
    let why = put(&store).expect_err("it has a foreign key").to_string();
    assert!(why.contains("ALTER TABLE own.held DROP CONSTRAINT "), "{why}");
}

#[test]
fn a_foreign_key_and_a_rule_are_named_with_what_ends_them() {
    let address = server().database();
    let owner = database(&address);
    let store = owner.workspace(&named("w"));
    put(&store).expect("kept");
    let given = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE; GRANT SELECT ON scorpiox_code.timer TO ROLE;
                 GRANT REFERENCES (workspace, namespace, id) ON scorpiox_code.timer TO ROLE;
                 CREATE SCHEMA own AUTHORIZATION ROLE";
    let app = role(&address, "app", given);
    let key = "CREATE TABLE own.keeps (workspace bigint, namespace bytea, id bigint, CONSTRAINT mine
                   FOREIGN KEY (workspace, namespace, id) REFERENCES scorpiox_code.timer (workspace, namespace, id))";
    as_role(&app, key).expect("made");
    let why = put(&store).expect_err("a foreign key").to_string();
    assert!(why.contains("ALTER TABLE own.keeps DROP CONSTRAINT mine;"), "{why}");
    server().psql(name(&address), "ALTER TABLE own.keeps DROP CONSTRAINT mine").expect("dropped");
    put(&store).expect("kept");
    server()
        .psql(name(&address), "CREATE RULE mine AS ON DELETE TO scorpiox_code.timer DO INSTEAD NOTHING")
        .expect("made");
    let why = put(&store).expect_err("a rule").to_string();
    assert!(why.contains("DROP RULE mine ON scorpiox_code.timer;"), "{why}");
    server().psql(name(&address), "DROP RULE mine ON scorpiox_code.timer").expect("dropped");
    put(&store).expect("kept");
    owner.migrate().expect("migrated");
    as_role(&app, key.replace("own.keeps", "own.again").as_str()).expect_err("it may not any more");
}

#[test]
fn a_migration_takes_away_what_no_server_needs() {
    let address = server().database();
    let owner = database(&address);
    let app = role(&address, "app", "");
    let user = format!("app_{}", name(&address));
    let may = |right: &str| {
        let sql = format!(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'scorpiox_code'::regnamespace
                 AND has_table_privilege('{user}', oid, '{right}')"
        );
        server().psql(name(&address), &sql).expect("a number").trim().to_owned()
    };
    // New tables have the default privileges from the start.
    server()
        .psql(name(&address), &format!("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO {user}"))
        .expect("set");
    assert_eq!(owner.migrate(), Ok(true));
    let count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'scorpiox_code'";
    let count = server().psql(name(&address), count).expect("a number");
    for _ in 0..2 {
        for right in ["TRUNCATE", "REFERENCES", "TRIGGER"] {
            assert_eq!(may(right), "0", "{right}");
        }
        assert_eq!(may("UPDATE"), count.trim());
        server()
            .psql(name(&address), &format!("GRANT ALL ON ALL TABLES IN SCHEMA scorpiox_code TO {user}"))
            .expect("given");
        assert_ne!(may("TRUNCATE"), "0");
        assert_eq!(owner.migrate(), Ok(false));
    }
    // The role of another server cannot revoke permissions on tables that it does not own.
    let other = database(&app);
    server().psql(name(&address), &format!("GRANT USAGE ON SCHEMA scorpiox_code TO {user}")).expect("given");
    assert_eq!(other.migrate(), Ok(false));
    put(&other.workspace(&named("w"))).expect("kept");
}

#[test]
fn every_other_role_that_can_write_or_interrupt_is_named_with_its_end() {
    let address = server().database();
    let owner = database(&address);
    owner.migrate().expect("tables");
    assert_eq!(owner.writers().expect("writers").roles, Vec::<String>::new());
    let reader = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE; GRANT SELECT ON ALL TABLES IN SCHEMA scorpiox_code TO ROLE";
    role(&address, "reader", reader);
    let given = [
        ("truncates", "GRANT TRUNCATE ON scorpiox_code.entry TO ROLE"),
        ("updates", "GRANT UPDATE (value) ON scorpiox_code.entry TO ROLE"),
        ("makes", "GRANT CREATE ON SCHEMA scorpiox_code TO ROLE"),
        ("owns", "GRANT owner TO ROLE"),
        ("all", "GRANT pg_write_all_data TO ROLE"),
        ("ends", "GRANT pg_signal_backend TO ROLE"),
        ("has", "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA scorpiox_code TO ROLE"),
        (
            "backup",
            "ALTER USER ROLE BYPASSRLS; GRANT USAGE ON SCHEMA scorpiox_code TO ROLE;
             GRANT SELECT ON ALL TABLES IN SCHEMA scorpiox_code TO ROLE",
        ),
        ("elsewhere", "ALTER USER ROLE BYPASSRLS"),
    ];
    for (who, given) in given {
        role(&address, who, given);
    }
    let member = format!("GRANT updates_{} TO ROLE", name(&address));
    role(&address, "member", &member);
    let roles = owner.writers().expect("writers").roles;
    for who in ["truncates", "updates", "makes", "owns", "all", "ends", "has", "backup", "member"] {
        let named = format!("the role {who}_{} ", name(&address));
        let line =
            roles.iter().find(|line| line.starts_with(&named)).unwrap_or_else(|| panic!("{who}: {roles:?}"));
        let ends = line.split_once(": ").expect("a statement").1;
        server().psql(name(&address), ends).expect("it ends that");
    }
    assert!(!roles.iter().any(|line| line.contains("reader_") || line.contains("elsewhere_")), "{roles:?}");
    assert_eq!(owner.writers().expect("writers").roles, Vec::<String>::new());
}

/// Any role with the `TRIGGER` permission may create a trigger that calls a function of the owner under its
/// own condition. PostgreSQL does not record the creator.
#[test]
fn a_trigger_that_calls_a_function_of_the_owner_is_none_of_the_owner() {
    let address = server().database();
    let owner = database(&address);
    let store = owner.workspace(&named("w"));
    put(&store).expect("kept");
    let watch =
        "CREATE FUNCTION public.watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$";
    server().psql(name(&address), watch).expect("made");
    let app = role(&address, "app", GIVEN);
    let condition = "CREATE SEQUENCE own.called; GRANT USAGE ON SCHEMA own TO PUBLIC; GRANT ALL ON SEQUENCE own.called TO PUBLIC;
         CREATE FUNCTION own.holds() RETURNS boolean LANGUAGE sql AS $$ SELECT nextval('own.called') > 0 $$";
    as_role(&app, condition).expect("made");
    for (timing, condition) in [("BEFORE", ""), ("AFTER", "WHEN (own.holds())")] {
        let trigger = format!(
            "CREATE TRIGGER mine {timing} INSERT OR UPDATE ON scorpiox_code.entry FOR EACH ROW {condition}
             EXECUTE FUNCTION public.watch()"
        );
        as_role(&app, &trigger).expect("made");
        let why = put(&store).expect_err("it has a trigger").to_string();
        assert!(why.contains("DROP TRIGGER mine ON scorpiox_code.entry;"), "{why}");
        assert_eq!(owner.writers().expect("writers").foreign.len(), 1);
        server().psql(name(&address), "DROP TRIGGER mine ON scorpiox_code.entry").expect("dropped");
    }
    put(&store).expect("kept");
    assert_eq!(
        server().psql(name(&address), "SELECT is_called FROM own.called").as_deref().map(str::trim),
        Ok("f")
    );
}
