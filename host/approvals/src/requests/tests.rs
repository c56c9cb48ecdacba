use scorpiox_store::MemoryStore;

use super::*;
use crate::request::Way;
use crate::wanted::Asking;

fn requests() -> Requests {
    Requests::new(Arc::new(MemoryStore::default()))
}

fn wanted(arguments: &str) -> Wanted {
    Wanted {
        workspace: "/w".to_owned(),
        principal: None,
        caller: None,
        client: "a client".to_owned(),
        tool: "Bash".to_owned(),
        component: String::new(),
        arguments: arguments.to_owned(),
        rules: vec![Asking {
            name: "push".to_owned(),
            source: "policy.toml line 2".to_owned(),
            definition: "name = \"push\"".to_owned(),
            reason: None,
        }],
        is_strong: false,
        within_ms: 600_000,
        remember: vec!["workspace".to_owned()],
    }
}

fn answer(decision: Decision, extent: Extent) -> Answer {
    Answer { decision, extent, by: String::new(), channel: Way::Command, at: 1, words: None, signature: None }
}

fn join(requests: &Requests, wanted: Wanted) -> Joined {
    requests.join(wanted, &Cancel::default(), &|_| true).expect("room")
}

fn waits(joined: Joined) -> Request {
    seated(joined).0
}

fn seated(joined: Joined) -> (Request, Seat) {
    match joined {
        Joined::Waits(request, seat) => (request, seat),
        Joined::Answered(request) => panic!("answered: {request:?}"),
    }
}

/// Asks for an approval, and ends the call so that it can be repeated.
fn asked_and_gone(requests: &Requests) -> Request {
    let (request, seat) = seated(join(requests, wanted("{}")));
    requests.leave(&request, seat, true).expect("a store");
    request
}

fn is_approved(answered: &Answered) -> bool {
    matches!(answered, Answered::Yes(request)
        if request.answer().is_some_and(|answer| answer.decision == Decision::Approve))
}

#[test]
fn equal_calls_share_a_request_and_each_uses_the_answer_once() {
    let requests = requests();
    let seats: Vec<_> = (0..3).map(|_| seated(join(&requests, wanted("{}")))).collect();
    assert!(seats.iter().all(|(request, _)| request.number == 1));
    assert_eq!(waits(join(&requests, wanted("{\"a\":1}"))).number, 2);
    let take = |seat| requests.take(&seats[0].0, seat).expect("a store");
    assert_eq!(take(seats[0].1), Answered::Open);
    requests.answer(&seats[0].0, answer(Decision::Approve, Extent::Once)).expect("it is open");
    for (_, seat) in &seats {
        assert!(is_approved(&take(*seat)));
        assert_eq!(take(*seat), Answered::Over);
    }
    assert_eq!(waits(join(&requests, wanted("{}"))).number, 3, "the next call asks again");
}

#[test]
fn a_call_that_is_repeated_takes_the_answer_that_came_meanwhile() {
    for decision in [Decision::Approve, Decision::Deny] {
        let requests = requests();
        let request = asked_and_gone(&requests);
        requests.answer(&request, answer(decision, Extent::Once)).expect("it is open");
        match join(&requests, wanted("{}")) {
            Joined::Answered(found) => assert_eq!(found.answer().map(|it| it.decision), Some(decision)),
            Joined::Waits(found, _) => panic!("asked again: {found:?}"),
        }
        waits(join(&requests, wanted("{}")));
    }
}

#[test]
fn a_repeated_call_takes_the_place_of_the_one_that_left() {
    let requests = requests();
    asked_and_gone(&requests);
    assert_eq!(waits(join(&requests, wanted("{}"))).calls(), 1);
}

#[test]
fn a_request_that_no_call_waits_for_is_withdrawn() {
    let requests = requests();
    let (request, seat) = seated(join(&requests, wanted("{}")));
    requests.leave(&request, seat, false).expect("a store");
    assert_eq!(requests.list().expect("a store").requests, []);
    let refused = requests.answer(&request, answer(Decision::Approve, Extent::Once));
    assert!(matches!(refused, Err(Trouble::Refused(Why::Unknown(1)))), "{refused:?}");
}

#[test]
fn a_call_that_is_cancelled_leaves_no_approval_behind() {
    let requests = requests();
    let (request, seat) = seated(join(&requests, wanted("{}")));
    requests.answer(&request, answer(Decision::Approve, Extent::Once)).expect("it is open");
    requests.leave(&request, seat, false).expect("a store");
    waits(join(&requests, wanted("{}")));
}

#[test]
fn the_share_of_a_server_that_died_is_lost() {
    let requests = requests();
    let (request, _) = seated(join(&requests, wanted("{}")));
    let (_, seat) = seated(join(&requests, wanted("{}")));
    requests.answer(&request, answer(Decision::Approve, Extent::Once)).expect("it is open");
    assert!(is_approved(&requests.take(&request, seat).expect("a store")));
    waits(join(&requests, wanted("{}")));
}

#[test]
fn an_answer_counts_once_and_in_time() {
    let requests = requests();
    let request = waits(join(&requests, wanted("{}")));
    requests.answer(&request, answer(Decision::Deny, Extent::Once)).expect("it is open");
    let twice = requests.answer(&request, answer(Decision::Approve, Extent::Once));
    assert!(matches!(twice, Err(Trouble::Refused(Why::Before(1, Decision::Deny)))), "{twice:?}");

    let late = Wanted { within_ms: 0, ..wanted("{\"late\":1}") };
    let (request, seat) = seated(join(&requests, late.clone()));
    let refused = requests.answer(&request, answer(Decision::Approve, Extent::Once));
    assert!(matches!(refused, Err(Trouble::Refused(Why::Late(_)))), "{refused:?}");
    assert_eq!(requests.take(&request, seat).expect("a store"), Answered::Over);
    assert_ne!(waits(join(&requests, late)).number, request.number);
}

#[test]
fn an_approval_is_remembered_only_as_the_rules_offer_until_it_is_revoked() {
    let requests = requests();
    let request = asked_and_gone(&requests);
    let session = requests.answer(&request, answer(Decision::Approve, Extent::Session));
    assert!(matches!(session, Err(Trouble::Refused(Why::NotOffered(..)))), "{session:?}");
    requests.answer(&request, answer(Decision::Approve, Extent::Workspace)).expect("it is offered");
    for _ in 0..3 {
        assert!(matches!(join(&requests, wanted("{}")), Joined::Answered(_)));
    }
    waits(join(&requests, Wanted { principal: Some("bob".to_owned()), ..wanted("{}") }));
    assert_eq!(requests.remembered().expect("a store").len(), 1);
    assert!(requests.revoke(request.number).expect("a store"));
    assert!(!requests.revoke(request.number).expect("a store"));
    waits(join(&requests, wanted("{}")));
}

#[test]
fn an_answer_that_no_longer_counts_is_asked_for_again() {
    let requests = requests();
    let request = asked_and_gone(&requests);
    requests.answer(&request, answer(Decision::Approve, Extent::Workspace)).expect("it is offered");
    let again = requests.join(wanted("{}"), &Cancel::default(), &|_| false).expect("room");
    assert_ne!(waits(again).number, request.number);
}

#[test]
fn a_denial_is_not_remembered() {
    let requests = requests();
    let request = waits(join(&requests, wanted("{}")));
    requests.answer(&request, answer(Decision::Deny, Extent::Workspace)).expect("it is open");
    assert_eq!(requests.remembered().expect("a store"), []);
}

#[test]
fn a_workspace_has_a_bounded_number_of_open_requests() {
    let requests = requests();
    for at in 0..MAX_OPEN {
        waits(join(&requests, wanted(&at.to_string())));
    }
    let refused = requests.join(wanted("one more"), &Cancel::default(), &|_| true);
    assert!(matches!(refused, Err(Trouble::TooMany)), "{refused:?}");
    waits(join(&requests, wanted("0")));
    let elsewhere = |at: usize| Wanted { workspace: "/other".to_owned(), ..wanted(&at.to_string()) };
    waits(join(&requests, elsewhere(0)));
    // A principal leaves room for others.
    let of = |principal: &str, at| Wanted { principal: Some(principal.to_owned()), ..elsewhere(at) };
    (0..MAX_OPEN_OF_ONE).for_each(|at| drop(waits(join(&requests, of("eve", at)))));
    let refused = requests.join(of("eve", 99), &Cancel::default(), &|_| true);
    assert!(matches!(refused, Err(Trouble::TooMany)), "{refused:?}");
    waits(join(&requests, of("ann", 0)));
}

#[test]
fn everything_that_an_approval_is_bound_to_changes_the_binding() {
    let first = wanted("{}");
    let mut rules = first.rules.clone();
    rules[0].definition.push('x');
    let others = [
        Wanted { workspace: "/w2".to_owned(), ..first.clone() },
        Wanted { principal: Some(String::new()), ..first.clone() },
        Wanted { caller: Some("ann".to_owned()), ..first.clone() },
        Wanted { tool: "Bash2".to_owned(), ..first.clone() },
        Wanted { component: "c".to_owned(), ..first.clone() },
        Wanted { arguments: "{ }".to_owned(), ..first.clone() },
        Wanted { rules, ..first.clone() },
    ];
    assert!(others.iter().all(|other| other.binding() != first.binding()));
    assert_eq!(Wanted { client: "another".to_owned(), ..first.clone() }.binding(), first.binding());
}

#[test]
fn a_damaged_request_hides_no_other() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let requests = Requests::new(Arc::clone(&store));
    let request = waits(join(&requests, wanted("{}")));
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a store");
    transaction.set(NAMESPACE, &by_number(7), b"{", QUOTA).expect("room");
    transaction.commit().expect("a store");
    assert_eq!(requests.list().expect("a store").requests.len(), 1);
    waits(join(&requests, wanted("{}")));
    requests.answer(&request, answer(Decision::Approve, Extent::Once)).expect("it is open");
}

/// Somebody with write access to the store lets keys of another call lead to an answered request.
#[test]
fn an_answer_is_used_for_its_own_call_alone() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let requests = Requests::new(Arc::clone(&store));
    let request = asked_and_gone(&requests);
    let answered = requests.answer(&request, answer(Decision::Approve, Extent::Once)).expect("it is open");
    let other = wanted("{\"other\":1}");
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a store");
    set(&mut *transaction, &remembered(&other.binding()), &answered).expect("room");
    // What was approved once is not remembered.
    set(&mut *transaction, &remembered(&answered.wanted.binding()), &answered).expect("room");
    let key = by_binding(&other.binding());
    transaction.set(NAMESPACE, &key, request.number.to_string().as_bytes(), QUOTA).expect("room");
    transaction.commit().expect("a store");
    waits(join(&requests, other));
    assert!(matches!(join(&requests, wanted("{}")), Joined::Answered(_)));
    waits(join(&requests, wanted("{}")));
}

/// Somebody with write access to the store, or a database that lost its last writes, has another call under the number
/// that a person was shown.
#[test]
fn an_answer_is_for_the_request_that_was_shown_alone() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let requests = Requests::new(Arc::clone(&store));
    let (shown, seat) = seated(join(&requests, wanted("{}")));
    let put = |key: &str, request: &Request| {
        let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a store");
        set(&mut *transaction, key, request).expect("room");
        transaction.commit().expect("a store");
    };
    let key = by_number(shown.number);
    let others = [
        Request { id: "another".to_owned(), ..shown.clone() },
        Request { wanted: wanted("{\"other\":1}"), ..shown.clone() },
    ];
    for other in &others {
        put(&key, other);
        let refused = requests.answer(&shown, answer(Decision::Approve, Extent::Once));
        assert!(matches!(refused, Err(Trouble::Refused(Why::Changed(1)))), "{refused:?}");
        assert_eq!(requests.take(&shown, seat).expect("a store"), Answered::Over);
        requests.leave(&shown, seat, false).expect("a store");
        assert!(requests.get(1).expect("a store").is_some_and(|found| found.is(other)));
    }
    put(&key, &Request { number: 2, ..shown.clone() });
    assert!(requests.get(1).is_err() && requests.list().expect("a store").requests.is_empty());
    put(&key, &shown);
    requests.answer(&shown, answer(Decision::Approve, Extent::Once)).expect("it is open");
}

#[test]
fn a_flood_of_requests_that_end_leaves_a_bounded_list() {
    let requests = requests();
    for at in 0..MAX_ENDED + 20 {
        waits(join(&requests, Wanted { within_ms: 0, ..wanted(&at.to_string()) }));
    }
    let listed = requests.list().expect("a store").requests;
    assert!(listed.len() <= MAX_ENDED + 1, "{}", listed.len());
    assert_eq!(listed.last().map(|request| request.number), u64::try_from(MAX_ENDED + 20).ok());
}

#[test]
fn an_answer_that_a_client_carries_is_used_as_often_as_it_was_given_at_all_servers() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (one, other) = (Requests::new(Arc::clone(&store)), Requests::new(Arc::clone(&store)));
    let until = one.now() + 60_000;
    let spend = |requests: &Requests, most| requests.spend("7f", most, until).expect("a store");
    assert!(spend(&one, 1) && !spend(&one, 1) && !spend(&other, 1));
    assert!(spend(&other, 2) && !spend(&one, 2));
    assert!(one.spend("80", 1, until).expect("a store"));
    // Those of answers that are no longer good are forgotten.
    assert!(one.spend("old", 1, one.now() - 1).expect("a store"));
    assert!(one.spend("81", 1, until).expect("a store"));
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a store");
    assert_eq!(transaction.get(NAMESPACE, "runs/old").expect("a store"), None);
    transaction.set(NAMESPACE, "runs/7f", b"?", QUOTA).expect("room");
    transaction.commit().expect("a store");
    assert!(!spend(&one, 9), "a damaged value");
}

#[test]
fn all_runs_that_are_over_are_forgotten_however_many_there_are() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let requests = Requests::new(Arc::clone(&store));
    let current = requests.now() + 60_000;
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a store");
    let run = |until| serde_json::to_vec(&Runs { count: 1, until }).expect("JSON");
    for number in 0..=scorpiox_store::MAX_SCAN_ENTRIES {
        transaction.set(NAMESPACE, &format!("runs/{number:06}"), &run(current), QUOTA).expect("room");
    }
    transaction.set(NAMESPACE, "runs/z", &run(1), QUOTA).expect("room");
    transaction.commit().expect("a store");
    assert!(requests.spend("80", 1, current).expect("a store"));
    let mut transaction = store.begin(Mode::ReadFirst, &Cancel::default(), &mut || ()).expect("a store");
    assert_eq!(transaction.get(NAMESPACE, "runs/z").expect("a store"), None);
}

#[test]
fn an_approval_that_holds_always_is_kept_for_a_principal_in_all_workspaces() {
    let requests = requests();
    let of = |workspace: &str, principal: Option<&str>| Wanted {
        workspace: workspace.to_owned(),
        principal: principal.map(str::to_owned),
        caller: principal.map(str::to_owned),
        remember: vec!["always".to_owned()],
        ..wanted("{}")
    };
    let always = || answer(Decision::Approve, Extent::Always);
    let asked = waits(join(&requests, of("/w", Some("bob"))));
    let Trouble::Refused(refused) =
        requests.answer(&asked, answer(Decision::Approve, Extent::Workspace)).expect_err("it is not offered")
    else {
        panic!("it is refused")
    };
    assert_eq!(refused, Why::NotOffered(1, Extent::Workspace));
    requests.answer(&asked, always()).expect("an answer");
    for workspace in ["/w", "/other", "/other"] {
        assert!(matches!(join(&requests, of(workspace, Some("bob"))), Joined::Answered(_)), "{workspace}");
    }
    waits(join(&requests, of("/other", Some("carl"))));
    // That of the person at the machine is an entry of the policy.
    let (own, seat) = seated(join(&requests, of("/w", None)));
    requests.answer(&own, always()).expect("an answer");
    assert_eq!(requests.remembered().expect("a store").len(), 1);
    requests.leave(&own, seat, true).expect("a store");
    requests.withdraw(own.number).expect("a store");
    waits(join(&requests, of("/w", None)));
    assert!(requests.revoke(1).expect("a store") && requests.remembered().expect("a store").is_empty());
    waits(join(&requests, of("/other", Some("bob"))));
}
