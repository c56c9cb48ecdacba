//! Requests in a store.

use std::sync::Arc;
use std::time::SystemTime;

use scorpiox_executor::Cancel;
use scorpiox_store::{Changes, Mode, Store, StoreError, Transaction};
use scorpiox_text::hex;
use serde::{Deserialize, Serialize};

use crate::request::{Answer, Decision, Extent, Request, Seat, State};
use crate::scan::scan;
use crate::wanted::Wanted;

/// Maximum number of requests of a workspace that wait for an answer.
pub const MAX_OPEN: usize = 50;
/// Maximum number of requests of one principal over HTTP that wait, so that others find room.
const MAX_OPEN_OF_ONE: usize = 10;
/// Maximum number of equal calls that wait at the same time.
const MAX_SEATS: usize = 200;
/// Maximum number of remembered approvals.
const MAX_REMEMBERED: usize = 1000;
/// Store namespace.
const NAMESPACE: &str = "approvals";
/// Store quota.
const QUOTA: u64 = 64 << 20;
/// Maximum number of finished requests that stay listed.
const MAX_ENDED: usize = 500;
/// Time that a finished request stays listed, in milliseconds.
const LISTED_MS: u64 = 24 * 3_600_000;

/// Requests for approval in a store, shared by all servers.
#[derive(Debug, Clone)]
pub struct Requests(Arc<dyn Store>);

/// Result of asking for an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// The request waits for an answer, and the call waits with it on this seat.
    Waits(Request, Seat),
    /// The request was answered earlier. This use of the answer is counted.
    Answered(Request),
}

/// Result of looking for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// There is no answer yet.
    Open,
    /// There is an answer. This use of it is counted.
    Yes(Box<Request>),
    /// The time for an answer is over, or the request was withdrawn.
    Over,
}

/// Reason why an answer is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// There is no such request.
    #[error("there is no approval {0}; `scorpiox-code approvals` lists those that wait")]
    Unknown(u64),
    /// The time for an answer is over.
    #[error("the time to answer approval {0} is over; the call can be repeated")]
    Late(u64),
    /// The request was answered before.
    #[error("approval {0} was already answered ({1})")]
    Before(u64, Decision),
    /// The rules do not offer this extent.
    #[error("the rules of approval {0} do not offer to remember it so (\"{1}\")")]
    NotOffered(u64, Extent),
    /// The store has another request of that number than the person saw.
    #[error("approval {0} is another call now than the one that was shown; nothing was answered")]
    Changed(u64),
}

/// Requests at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// Requests, oldest first.
    pub requests: Vec<Request>,
    /// Time on the clock of the store, in milliseconds since 1970.
    pub now: u64,
}

/// Reason why a request cannot be made or answered.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Too many requests wait.
    #[error(
        "too many approvals wait already ({MAX_OPEN} in a workspace, {MAX_OPEN_OF_ONE} of a caller over HTTP); \
         `scorpiox-code approvals` lists them"
    )]
    TooMany,
    /// The answer is not accepted.
    #[error(transparent)]
    Refused(#[from] Why),
    /// The store fails.
    #[error("approvals cannot be kept: {0}")]
    Store(#[from] StoreError),
    /// The system has no random numbers.
    #[error("the system provides no random numbers")]
    Random,
}

impl Requests {
    /// Creates the collection. Reads and writes nothing yet.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.0
    }

    /// Returns the time on the clock of the store, in milliseconds since 1970.
    pub fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let own = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        own.saturating_add_signed(self.0.clock_ahead())
    }

    /// Returns a value that reports changes, which answers are.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub fn changes(&self) -> Result<Box<dyn Changes>, StoreError> {
        self.0.changes()
    }

    /// Asks for an approval, or joins an equal request. Earlier answers that do not `count`, for example because
    /// the approver was removed since, are as if they were not given.
    ///
    /// # Errors
    ///
    /// Fails if too many requests wait, or if the store fails. Nothing is asked then.
    pub fn join(
        &self,
        wanted: Wanted,
        cancel: &Cancel,
        counts: &dyn Fn(&Request) -> bool,
    ) -> Result<Joined, Trouble> {
        let binding = wanted.binding();
        let mut transaction = self.0.begin(Mode::Write, cancel, &mut || ())?;
        let now = self.now();
        // Keys alone prove nothing: somebody else may have written to the store.
        let is_equal = |request: &Request| request.wanted.binding() == binding;
        let anywhere = wanted.binding_for(Extent::Always);
        let is_kept = |request: &Request| match request.answer().map(|answer| answer.extent) {
            Some(Extent::Workspace) => is_equal(request),
            Some(Extent::Always) => request.wanted.binding_for(Extent::Always) == anywhere,
            Some(Extent::Once | Extent::Session) | None => false,
        };
        let mut kept = below(&mut *transaction, &remembered(&binding))?;
        kept.extend(below(&mut *transaction, &remembered(&anywhere))?);
        if let Some(request) = kept.into_iter().find(|request| is_kept(request) && counts(request)) {
            return Ok(Joined::Answered(request));
        }
        let (key, listed) = (by_binding(&binding), all(&mut *transaction)?);
        sweep(&mut *transaction, &listed, now)?;
        let known = number(&mut *transaction, &key)?;
        let known = listed.iter().find(|request| Some(request.number) == known);
        if let Some(request) = known.filter(|request| request.is_current(now) && is_equal(request)) {
            let mut request = request.clone();
            let joined = match &mut request.state {
                State::Open { seats, .. } if seats.len() >= MAX_SEATS => return Err(Trouble::TooMany),
                State::Open { seats, away } => {
                    *away = away.saturating_sub(1);
                    let seat = seat()?;
                    seats.push(seat);
                    Some(Joined::Waits(request.clone(), seat))
                }
                State::Answered { away, .. } if *away > 0 => {
                    *away -= 1;
                    Some(Joined::Answered(request.clone())).filter(|_| counts(&request))
                }
                State::Answered { .. } => None,
            };
            if let Some(joined) = joined {
                write(&mut *transaction, &request)?;
                transaction.commit()?;
                return Ok(joined);
            }
        }
        let is_open =
            |request: &&Request| request.wanted.workspace == wanted.workspace && request.is_open(now);
        let is_own = |request: &&Request| request.wanted.principal == wanted.principal;
        let open: Vec<_> = listed.iter().filter(is_open).collect();
        let of_one = open.iter().copied().filter(is_own).count();
        if open.len() >= MAX_OPEN || wanted.principal.is_some() && of_one >= MAX_OPEN_OF_ONE {
            return Err(Trouble::TooMany);
        }
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|_| Trouble::Random)?;
        let (seat, number) = (seat()?, transaction.increment(NAMESPACE, NUMBER, 1, QUOTA)?);
        let request = Request {
            number: u64::try_from(number).unwrap_or_default(),
            id: hex(&id),
            asked: now,
            until: now.saturating_add(wanted.within_ms),
            wanted,
            state: State::Open { seats: vec![seat], away: 0 },
        };
        write(&mut *transaction, &request)?;
        transaction.set(NAMESPACE, &key, request.number.to_string().as_bytes(), QUOTA)?;
        transaction.commit()?;
        Ok(Joined::Waits(request, seat))
    }

    /// Looks for the answer to a request that a call waits for, and uses it.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub fn take(&self, asked: &Request, seat: Seat) -> Result<Answered, StoreError> {
        // Looks without a lock as long as there is no answer.
        for mode in [Mode::ReadFirst, Mode::Write] {
            let mut transaction = self.0.begin(mode, &Cancel::default(), &mut || ())?;
            let found = same(&mut *transaction, asked)?;
            let Some(mut request) = found.filter(|request| request.is_current(self.now())) else {
                return Ok(Answered::Over);
            };
            match &mut request.state {
                State::Open { .. } => return Ok(Answered::Open),
                State::Answered { seats, .. } if !seats.contains(&seat) => return Ok(Answered::Over),
                State::Answered { seats, .. } => seats.retain(|other| *other != seat),
            }
            if mode == Mode::Write {
                write(&mut *transaction, &request)?;
                transaction.commit()?;
                return Ok(Answered::Yes(Box::new(request)));
            }
        }
        Ok(Answered::Open)
    }

    /// Ends the wait of a call without an answer. If it `returns`, an equal call takes its place; otherwise, a
    /// request that no call waits for is withdrawn.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub fn leave(&self, asked: &Request, seat: Seat, returns: bool) -> Result<(), StoreError> {
        let mut transaction = self.0.begin(Mode::Write, &Cancel::default(), &mut || ())?;
        let Some(mut request) = same(&mut *transaction, asked)? else { return Ok(()) };
        let (State::Open { seats, away } | State::Answered { seats, away, .. }) = &mut request.state;
        if !seats.contains(&seat) {
            return Ok(());
        }
        seats.retain(|other| *other != seat);
        *away = away.saturating_add(u32::from(returns));
        if request.calls() == 0 && request.answer().is_none() {
            remove(&mut *transaction, &request)?;
            return transaction.commit();
        }
        write(&mut *transaction, &request)?;
        transaction.commit()
    }

    /// Answers the request that a person was `shown`.
    ///
    /// # Errors
    ///
    /// Fails if the request cannot be answered (any more), if the store has another one of its number, or if the
    /// store fails.
    pub fn answer(&self, shown: &Request, answer: Answer) -> Result<Request, Trouble> {
        let number = shown.number;
        let mut transaction = self.0.begin(Mode::Write, &Cancel::default(), &mut || ())?;
        let found = read(&mut *transaction, &by_number(number))?.ok_or(Why::Unknown(number))?;
        let mut request = Some(found).filter(|found| found.is(shown)).ok_or(Why::Changed(number))?;
        let now = self.now();
        let (seats, away) = match &request.state {
            State::Answered { answer, .. } => return Err(Why::Before(number, answer.decision).into()),
            State::Open { .. } if !request.is_current(now) => return Err(Why::Late(number).into()),
            State::Open { seats, away } => (seats.clone(), *away),
        };
        let extent = answer.extent;
        if extent != Extent::Once && !request.wanted.remember.contains(&extent.to_string()) {
            return Err(Why::NotOffered(number, extent).into());
        }
        let is_kept = answer.decision == Decision::Approve && request.wanted.keeps(extent);
        request.until = now.saturating_add(request.wanted.within_ms);
        request.state = State::Answered { answer, seats, away };
        write(&mut *transaction, &request)?;
        if is_kept {
            keep(&mut *transaction, &request)?;
        }
        transaction.commit()?;
        Ok(request)
    }

    /// Counts a run of a call with an answer that its client carries until a time, of which there may be `most` at all
    /// servers together. Returns `false` if it is one too many.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub fn spend(&self, call: &str, most: usize, until: u64) -> Result<bool, StoreError> {
        let mut transaction = self.0.begin(Mode::Write, &Cancel::default(), &mut || ())?;
        let now = self.now();
        let mut over = Vec::new();
        scan(&mut *transaction, NAMESPACE, RUNS, |entry| {
            over.extend((Runs::read(&entry.value).until < now).then(|| entry.key.clone()));
            Ok(())
        })?;
        over.iter().try_for_each(|key| transaction.delete(NAMESPACE, key))?;
        let key = format!("{RUNS}{call}");
        let mut runs = transaction.get(NAMESPACE, &key)?.map(|value| Runs::read(&value)).unwrap_or_default();
        if runs.count >= most {
            return Ok(false);
        }
        runs = Runs { count: runs.count + 1, until: runs.until.max(until) };
        let value = serde_json::to_vec(&runs).map_err(|error| StoreError::Other(error.to_string()))?;
        transaction.set(NAMESPACE, &key, &value, QUOTA)?;
        transaction.commit()?;
        Ok(true)
    }

    /// Returns the requests of the last day.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub fn list(&self) -> Result<Listed, StoreError> {
        if self.0.is_absent()? {
            return Ok(Listed { requests: Vec::new(), now: self.now() });
        }
        let requests = all(&mut *self.0.begin(Mode::ReadFirst, &Cancel::default(), &mut || ())?)?;
        // The clock of a database is known once it was asked for something.
        Ok(Listed { requests, now: self.now() })
    }

    /// Returns the remembered approvals, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub fn remembered(&self) -> Result<Vec<Request>, StoreError> {
        if self.0.is_absent()? {
            return Ok(Vec::new());
        }
        let mut transaction = self.0.begin(Mode::ReadFirst, &Cancel::default(), &mut || ())?;
        let mut found = below(&mut *transaction, REMEMBERED)?;
        found.sort_by_key(|request| request.number);
        Ok(found)
    }

    /// Revokes a remembered approval. Returns `false` if there is none of that number.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub fn revoke(&self, number: u64) -> Result<bool, StoreError> {
        let mut transaction = self.0.begin(Mode::Write, &Cancel::default(), &mut || ())?;
        let found = below(&mut *transaction, REMEMBERED)?.into_iter().find(|known| known.number == number);
        let Some(request) = found else { return Ok(false) };
        transaction.delete(NAMESPACE, &kept_at(&request))?;
        use_up(&mut *transaction, number)?;
        transaction.commit()?;
        Ok(true)
    }

    /// Ends the use of an answer by calls that are repeated.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub fn withdraw(&self, number: u64) -> Result<(), StoreError> {
        if self.0.is_absent()? {
            return Ok(());
        }
        let mut transaction = self.0.begin(Mode::Write, &Cancel::default(), &mut || ())?;
        use_up(&mut *transaction, number)?;
        transaction.commit()
    }

    /// Returns the request of that number.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub fn get(&self, number: u64) -> Result<Option<Request>, StoreError> {
        if self.0.is_absent()? {
            return Ok(None);
        }
        let mut transaction = self.0.begin(Mode::ReadFirst, &Cancel::default(), &mut || ())?;
        read(&mut *transaction, &by_number(number))
    }
}

/// Runs of a call with an answer that its client carries.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
struct Runs {
    count: usize,
    /// Time until which the answer is good, in milliseconds since 1970.
    until: u64,
}

impl Runs {
    /// Reads a value. A damaged one permits no further run.
    fn read(value: &[u8]) -> Self {
        serde_json::from_slice(value).unwrap_or(Self { count: usize::MAX, until: u64::MAX })
    }
}

/// Key of the last number.
const NUMBER: &str = "number";
/// Beginning of the keys of requests.
const REQUEST: &str = "request/";
/// Beginning of the keys of runs.
const RUNS: &str = "runs/";
/// Beginning of the keys of remembered approvals.
const REMEMBERED: &str = "remembered/";

fn seat() -> Result<Seat, Trouble> {
    getrandom::u64().map(Seat).map_err(|_| Trouble::Random)
}

fn by_number(number: u64) -> String {
    format!("{REQUEST}{number:020}")
}

fn by_binding(binding: &str) -> String {
    format!("binding/{binding}")
}

fn remembered(binding: &str) -> String {
    format!("{REMEMBERED}{binding}")
}

/// Returns the key of a remembered approval.
fn kept_at(request: &Request) -> String {
    let extent = request.answer().map_or(Extent::Once, |answer| answer.extent);
    remembered(&request.wanted.binding_for(extent))
}

fn parse(key: &str, value: &[u8]) -> Result<Request, StoreError> {
    let damaged = |why: String| StoreError::Other(format!("the value at {key:?} of {NAMESPACE} {why}"));
    let request: Request =
        serde_json::from_slice(value).map_err(|error| damaged(format!("is no request ({error})")))?;
    if key.starts_with(REQUEST) && key != by_number(request.number) {
        return Err(damaged(format!("is a request with another number ({})", request.number)));
    }
    Ok(request)
}

fn read(transaction: &mut dyn Transaction, key: &str) -> Result<Option<Request>, StoreError> {
    transaction.get(NAMESPACE, key)?.map(|value| parse(key, &value)).transpose()
}

/// Returns the state of a request now, unless another one has its number.
fn same(transaction: &mut dyn Transaction, asked: &Request) -> Result<Option<Request>, StoreError> {
    let found = read(transaction, &by_number(asked.number))?;
    Ok(found.filter(|found| found.is(asked)))
}

fn number(transaction: &mut dyn Transaction, key: &str) -> Result<Option<u64>, StoreError> {
    let value = transaction.get(NAMESPACE, key)?;
    Ok(value.and_then(|value| std::str::from_utf8(&value).ok()?.parse().ok()))
}

fn write(transaction: &mut dyn Transaction, request: &Request) -> Result<(), StoreError> {
    set(transaction, &by_number(request.number), request)
}

fn set(transaction: &mut dyn Transaction, key: &str, request: &Request) -> Result<(), StoreError> {
    let value = serde_json::to_vec(request).map_err(|error| StoreError::Other(error.to_string()))?;
    transaction.set(NAMESPACE, key, &value, QUOTA)
}

/// Leaves no share of an answer for calls that are repeated.
fn use_up(transaction: &mut dyn Transaction, number: u64) -> Result<(), StoreError> {
    if let Some(mut listed) = read(transaction, &by_number(number))?
        && let State::Answered { away, .. } = &mut listed.state
    {
        *away = 0;
        write(transaction, &listed)?;
    }
    Ok(())
}

/// Keeps an approval for the workspace, in place of the oldest if there are too many.
fn keep(transaction: &mut dyn Transaction, request: &Request) -> Result<(), StoreError> {
    let kept = below(transaction, REMEMBERED)?;
    if kept.len() >= MAX_REMEMBERED
        && let Some(oldest) = kept.iter().min_by_key(|known| known.number)
    {
        transaction.delete(NAMESPACE, &kept_at(oldest))?;
    }
    set(transaction, &kept_at(request), request)
}

fn remove(transaction: &mut dyn Transaction, request: &Request) -> Result<(), StoreError> {
    transaction.delete(NAMESPACE, &by_number(request.number))?;
    let key = by_binding(&request.wanted.binding());
    if number(transaction, &key)? == Some(request.number) {
        transaction.delete(NAMESPACE, &key)?;
    }
    Ok(())
}

/// Removes the requests that ended more than a day ago, and the oldest of those that ended if there are many.
fn sweep(transaction: &mut dyn Transaction, listed: &[Request], now: u64) -> Result<(), StoreError> {
    let ended: Vec<_> = listed.iter().filter(|request| !request.is_current(now)).collect();
    let surplus = ended.len().saturating_sub(MAX_ENDED);
    let old = ended
        .iter()
        .enumerate()
        .filter(|(at, request)| *at < surplus || request.until.saturating_add(LISTED_MS) < now);
    old.map(|(_, request)| request).try_for_each(|request| remove(transaction, request))
}

fn all(transaction: &mut dyn Transaction) -> Result<Vec<Request>, StoreError> {
    below(transaction, REQUEST)
}

/// Returns the requests whose keys have this beginning, in the order of the keys.
fn below(transaction: &mut dyn Transaction, beginning: &str) -> Result<Vec<Request>, StoreError> {
    let mut found = Vec::new();
    scan(transaction, NAMESPACE, beginning, |entry| {
        match parse(&entry.key, &entry.value) {
            Ok(request) => found.push(request),
            // A damaged entry must not prevent all other approvals.
            Err(error) => tracing::warn!("{error}; it is left as it is"),
        }
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests;
