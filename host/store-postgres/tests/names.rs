//! Functions and operators of other roles are never called, even through a pooler that resets settings
//! between transactions.
#![cfg(unix)]

mod common;

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Order, Store};
use scorpiox_test_support::postgres::pooler::pooler;

use common::{LONG, database, name, named, server, to_format_1};

const TOOL: &str = "tool";

/// Built-in functions used by statements of this program, with their return types.
const FUNCTIONS: [(&str, &str); 18] = [
    ("now", "timestamptz"),
    ("clock_timestamp", "timestamptz"),
    ("current_database", "name"),
    ("octet_length(bytea)", "integer"),
    ("octet_length(text)", "integer"),
    ("quote_ident(text)", "text"),
    ("quote_ident(name)", "text"),
    ("pg_has_role(oid, text)", "boolean"),
    ("pg_has_role(oid, unknown)", "boolean"),
    ("aclexplode(aclitem[])", "text"),
    ("acldefault(\"char\", oid)", "aclitem[]"),
    ("pg_notify(text, text)", "void"),
    ("encode(bytea, text)", "text"),
    ("substring(bytea, integer, integer)", "bytea"),
    ("pg_advisory_xact_lock(bigint)", "void"),
    ("has_table_privilege(text, text)", "boolean"),
    ("has_table_privilege(oid, oid, text)", "boolean"),
    ("has_schema_privilege(oid, oid, text)", "boolean"),
];
const OPERATORS: [(&str, &str, &str); 9] = [
    ("=", "name", "name"),
    ("=", "name", "text"),
    ("=", "text", "text"),
    ("=", "oid", "oid"),
    ("=", "bigint", "bigint"),
    ("=", "bytea", "bytea"),
    ("<>", "bytea", "bytea"),
    ("*", "double precision", "interval"),
    ("-", "timestamptz", "interval"),
];

/// Creates functions and operators that shadow the built-in ones. In some versions any role may create them
/// in the schema `public`; here the database searches that schema first.
fn set_traps(address: &str) {
    let of = |sql: &str| server().psql(name(address), sql);
    let mut made = 0;
    let body = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a trap was called'; END $$";
    for (function, result) in FUNCTIONS {
        let function = if function.contains('(') { function.to_owned() } else { format!("{function}()") };
        // Functions with some argument types cannot be created.
        made +=
            usize::from(of(&format!("CREATE FUNCTION public.{function} RETURNS {result} {body}")).is_ok());
    }
    for (at, (operator, left, right)) in OPERATORS.into_iter().enumerate() {
        let trap = format!(
            "CREATE FUNCTION public.trap{at}({left}, {right}) RETURNS boolean {body};
             CREATE OPERATOR public.{operator} (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = public.trap{at})"
        );
        of(&trap).expect("made");
    }
    assert!(made >= FUNCTIONS.len() - 2, "{made}");
    let first = format!("ALTER DATABASE {} SET search_path = public, pg_catalog", name(address));
    server().psql("postgres", &first).expect("set");
    assert!(of("SELECT now()").expect_err("it is a trap").contains("a trap was called"));
}

#[test]
fn no_statement_finds_names_of_others_over_a_pooler_that_forgets() {
    let address = server().database();
    database(&address).migrate().expect("tables");
    to_format_1(&address);
    set_traps(&address);
    let port = pooler(server().port());
    let pooled = address.replace(&format!(":{}/", server().port()), &format!(":{port}/"));
    let owner = database(&pooled);
    assert_eq!(owner.format(), Ok(Some(1)));
    assert_eq!((owner.migrate(), owner.migrate()), (Ok(true), Ok(false)));
    assert_eq!((owner.is_open_to_others(), owner.close_to_others()), (Ok(true), Ok(true)));
    assert_eq!(owner.is_open_to_others(), Ok(false));
    owner.secret("http", &[1; 32]).expect("a secret");
    owner.pass_on("text").expect("passed on");
    assert_eq!(owner.end_session(b"2", (b"1", b"3"), 9, LONG), Ok(Some(true)));
    assert_eq!(owner.has_ended(b"2"), Ok(true));
    let store = owner.workspace(&named("w"));
    let mut changes = store.changes().expect("changes");
    let mut open = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a writer");
    open.set(TOOL, "k", b"v", u64::MAX).expect("set");
    open.arm(TOOL, 1, 2).expect("armed");
    open.add_message(TOOL, 1, 2, "text").expect("added");
    open.commit().expect("kept");
    assert_eq!(changes.changed(), Ok(true));
    let mut open = store.begin(Mode::ReadFirst, &Cancel::default(), &mut || ()).expect("a reader");
    assert_eq!(open.get(TOOL, "k").expect("a value").as_deref(), Some(&b"v"[..]));
    assert_eq!(open.scan(TOOL, "", None, 9, Order::Ascending).expect("entries").len(), 1);
    assert_eq!(open.damaged(), Ok(Vec::new()));
    assert_eq!(open.take_messages(1000, &|_| 1).expect("messages").len(), 1);
    open.commit().expect("kept");
    assert_eq!(owner.workspaces().expect("names").len(), 1);
    assert_eq!(owner.miscounted(), Ok(Vec::new()));
}
