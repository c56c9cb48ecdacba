//! A database connection, used by one thread at a time.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use scorpiox_executor::threads;
use scorpiox_store::StoreError;
use tokio::runtime::Builder;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, NoTls, Row, Statement};

use crate::address::{Address, Encryption};
use crate::begin::{Begin, Tables, statement_time};
use crate::ear::Bells;
use crate::error::store_error;
use crate::guard;
use crate::line::{Line, Reactor, carried};
use crate::mark::{Mark, mark};
use crate::tls;
use crate::warnings::Warnings;

/// Default time to wait for an answer. Statements are quick, and lock waits are much shorter than this.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Time to wait for an answer that the caller can do without, such as messages attached to a result.
pub(crate) const SHORT_TIME: Duration = Duration::from_secs(2);

/// Interval between warnings of a connection that its notifications are not sent.
const WARN_PAUSE: Duration = Duration::from_mins(1);

/// Commits. PostgreSQL answers `COMMIT` with success even if it rolls back a transaction that failed, and the
/// driver does not tell the two answers apart. The statement before it fails in such a transaction.
const COMMIT: &str = "SELECT; COMMIT";

/// Parameters of a statement.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Owned parameter of a statement that is sent without waiting for the answer.
pub(crate) type Owned = Box<dyn ToSql + Sync + Send>;

/// Pending answer to a statement that was sent.
type Answer = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// Callback that accepts or refuses the row returned by a check.
type Judge = Box<dyn FnOnce(Option<&Row>) -> Result<(), StoreError> + Send>;

/// Reason why a statement failed.
enum Failure {
    /// The database or the network failed.
    Database(Error),
    /// A check refused the answer.
    Refused(StoreError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

/// A connection to a database.
pub(crate) struct Connection {
    client: Arc<Client>,
    pub(crate) line: Line,
    /// Prepared statements, by SQL text.
    statements: HashMap<&'static str, Statement>,
    /// Pending answers, oldest first.
    sent: Vec<Answer>,
    location: Arc<str>,
    pub(crate) is_broken: bool,
    /// `true` after a timed-out answer: the server may still be running the statement.
    is_hanging: bool,
    /// Time of the last warning that a notification was not sent.
    warned: Option<Instant>,
    /// Pending `ROLLBACK` of a read-only transaction, which nobody waits for.
    left: Option<Answer>,
    /// Encryption of the connection, also used for cancel requests.
    pub(crate) encryption: Encryption,
    /// SQL that makes the server check for a disconnected client while it waits; empty if unsupported.
    pub(crate) look_setting: &'static str,
    /// `true` while a transaction is open.
    has_begun: bool,
    /// Time that the current user of the connection waits for an answer.
    pub(crate) answer_time: Duration,
    warnings: Warnings,
    /// SQLSTATE of the last error that the database reported.
    pub(crate) reported: Option<SqlState>,
    /// Globally unique ID of the connection. No other connection writes the row that records its commits.
    pub(crate) id: Mark,
    /// Sequence number of the connection in its process, starting at 1.
    pub(crate) number: u64,
    /// Last commits made over the connection.
    pub(crate) commits: Commits,
}

/// The last commits of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Commits {
    /// Last acknowledged commit, and its time.
    pub(crate) kept: Option<(Mark, Instant)>,
    /// Last commit that was sent.
    pub(crate) sent: Mark,
}

impl Connection {
    /// Connects to the database. Notifications on the connection ring `bells`.
    pub(crate) fn open(
        address: &Address,
        location: &Arc<str>,
        answer_time: Duration,
        bells: Option<&Arc<Bells>>,
    ) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::Other(format!("there is no room for a connection: {error}")))?;
        let runtime = Reactor(Some(runtime));
        let id = mark()?;
        let told = |error: &Error| store_error(error, location);
        let config = &address.config;
        let warnings = Warnings::default();
        let connected = threads::wait(|| {
            let connecting = async {
                Ok(match &address.encryption {
                    Encryption::None => {
                        let (client, messages) = config.connect(NoTls).await.map_err(|error| told(&error))?;
                        (client, carried(messages, bells.cloned(), warnings.clone()))
                    }
                    Encryption::Verified(authorities) => {
                        let tls = tls::connector(authorities.as_deref())?;
                        let (client, messages) = config.connect(tls).await.map_err(|error| told(&error))?;
                        (client, carried(messages, bells.cloned(), warnings.clone()))
                    }
                })
            };
            runtime.run(async {
                let connected = timeout(answer_time, connecting).await;
                connected.unwrap_or_else(|_| Err(no_answer(location, answer_time)))
            })
        });
        let (client, messages) = connected?;
        Ok(Self {
            client: Arc::new(client),
            line: Line { messages, runtime },
            statements: HashMap::new(),
            sent: Vec::new(),
            location: Arc::clone(location),
            is_broken: false,
            is_hanging: false,
            warned: None,
            left: None,
            encryption: address.encryption.clone(),
            look_setting: "",
            has_begun: false,
            answer_time,
            warnings,
            reported: None,
            id,
            number: 0,
            commits: Commits::default(),
        })
    }

    /// Processes protocol messages until `work` completes, for at most `at_most`.
    pub(crate) fn carry(&mut self, work: impl Future<Output = ()>, at_most: Duration) {
        self.line.wait(work, at_most);
    }

    /// Returns `true` if the connection is known to be closed, without asking the server.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.line.look();
        self.is_broken || self.client.is_closed()
    }

    /// Returns `true` if an answer to a sent statement is still outstanding.
    pub(crate) fn waits(&self) -> bool {
        self.is_hanging || !self.sent.is_empty()
    }

    /// Returns `true` if the `ROLLBACK` of a read-only transaction is still unanswered.
    pub(crate) fn has_left(&mut self) -> bool {
        let Some(mut left) = self.left.take() else { return false };
        self.line.look();
        let is_awaited = left.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        self.left = is_awaited.then_some(left);
        is_awaited
    }

    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Returns the client of a connection that is being given up, and discards all pending answers.
    pub(crate) fn take_client(&mut self) -> Arc<Client> {
        self.sent.clear();
        self.left = None;
        Arc::clone(&self.client)
    }

    /// Returns `true` if the last error says that the tables do not exist.
    pub(crate) fn lacks_tables(&self) -> bool {
        let codes = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
        self.reported.as_ref().is_some_and(|reported| codes.contains(reported))
    }

    /// Returns `true` if the connection cannot be reused: it is broken, or another user's transaction is
    /// still open.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken || self.has_begun
    }

    /// Returns `true` if an answer did not come in time.
    pub(crate) fn is_hanging(&self) -> bool {
        self.is_hanging
    }

    /// Begins a transaction that writes `tables`. Waits until the transaction is open before anything else is
    /// sent. Writes fail if the tables have a foreign trigger.
    pub(crate) fn begin(&mut self, begin: Begin, tables: Tables) -> Result<(), StoreError> {
        let sql = begin.sql(self.answer_time, tables, self.look_setting);
        let client = Arc::clone(&self.client);
        self.reported = None;
        self.has_begun = true;
        let answer = self.answered(client.batch_execute(&sql));
        // A transaction that reads first sends the guard when it starts writing.
        let is_writer = tables != Tables::Nothing && begin != Begin::Snapshot;
        let answer = answer.and_then(|()| if is_writer { guard::send(self) } else { Ok(()) });
        answer.inspect_err(|_| {
            let reported = self.reported.take();
            let _ = self.roll_back();
            self.reported = reported;
        })
    }

    /// Commits the transaction. A warning leaves it in doubt whether the commit outlives this server.
    pub(crate) fn commit(&mut self) -> Result<(), StoreError> {
        self.warnings.take();
        self.end(COMMIT)?;
        let warning = self.warnings.take();
        warning.map_or(Ok(()), |why| Err(StoreError::InDoubt(format!("{}: {why}", self.location))))
    }

    /// Rolls the transaction back.
    pub(crate) fn roll_back(&mut self) -> Result<(), StoreError> {
        self.end("ROLLBACK")
    }

    fn end(&mut self, sql: &str) -> Result<(), StoreError> {
        let client = self.in_transaction()?;
        self.has_begun = false;
        let ended = self.answered(client.batch_execute(sql));
        if ended.is_err() && !self.is_broken {
            // The `COMMIT` or `ROLLBACK` itself may have failed (if it was cancelled, for example), which
            // leaves the transaction open.
            let reported = self.reported.take();
            self.is_broken |= self.answered(client.batch_execute("ROLLBACK")).is_err();
            self.reported = reported;
        }
        ended
    }

    /// Runs `look` in a read-only transaction.
    pub(crate) fn look<T>(
        &mut self,
        look: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.begin(Begin::Look, Tables::Nothing)?;
        let looked = look(self);
        self.leave();
        looked
    }

    /// Runs `look` in a transaction that may write. It is rolled back.
    pub(crate) fn probe<T>(
        &mut self,
        look: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.begin(Begin::Write, Tables::Nothing)?;
        let looked = look(self);
        self.leave();
        looked
    }

    /// Runs `work` in a transaction that writes `tables`.
    pub(crate) fn write<T>(
        &mut self,
        begin: Begin,
        tables: Tables,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let written = self.begin(begin, tables).and_then(|()| match work(self) {
            Ok(done) => self.commit().map(|()| done),
            Err(error) => {
                let reported = self.reported.take();
                // The original error is more useful than the result of the rollback.
                let _ = self.roll_back();
                self.reported = reported;
                Err(error)
            }
        });
        written.map_err(|error| guard::told(self, error))
    }

    /// Wakes the processes that listen on a channel, in a transaction of its own: any role that may connect can fill
    /// the queue of notifications, which would fail the transaction that has the content. Without the notification,
    /// the content is found at the next look.
    pub(crate) fn ring(&mut self, channel: &'static str) {
        let rung = self.write(Begin::Write, Tables::Nothing, |connection| {
            connection.row("SELECT pg_notify($1, '')::text", &[&channel]).map(drop)
        });
        if let Err(error) = rung
            && self.warned.is_none_or(|at| at.elapsed() >= WARN_PAUSE)
        {
            self.warned = Some(Instant::now());
            tracing::warn!("other servers hear of news only when they look for them: {error}");
        }
    }

    /// Returns the client, or an error outside of a transaction. All statements go through this check,
    /// because only a transaction sets `search_path` and so ignores objects of other roles.
    fn in_transaction(&self) -> Result<Arc<Client>, StoreError> {
        if !self.has_begun {
            let why = format!("{}: nothing is sent outside of a transaction", self.location);
            return Err(StoreError::Other(why));
        }
        Ok(Arc::clone(&self.client))
    }

    /// Runs a statement and returns its rows.
    pub(crate) fn rows(&mut self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let client = self.in_transaction()?;
        let statement = self.statement(sql)?;
        self.answered(client.query(&statement, params))
    }

    /// Runs a statement that returns at most one row.
    pub(crate) fn row(&mut self, sql: &'static str, params: Params<'_>) -> Result<Option<Row>, StoreError> {
        let client = self.in_transaction()?;
        let statement = self.statement(sql)?;
        self.answered(client.query_opt(&statement, params))
    }

    /// Runs a statement and returns the number of changed rows.
    pub(crate) fn change(&mut self, sql: &'static str, params: Params<'_>) -> Result<u64, StoreError> {
        let client = self.in_transaction()?;
        let statement = self.statement(sql)?;
        self.answered(client.execute(&statement, params))
    }

    /// Runs statements without parameters, and ignores their rows.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), StoreError> {
        let client = self.in_transaction()?;
        self.answered(client.batch_execute(sql))
    }

    /// Sends a statement without waiting. Its result is checked together with the next answer.
    pub(crate) fn send_change(&mut self, sql: &'static str, params: Vec<Owned>) -> Result<(), StoreError> {
        let client = self.in_transaction()?;
        let statement = self.statement(sql)?;
        self.queue(Box::pin(async move {
            client.execute(&statement, &borrowed(&params)).await?;
            Ok(())
        }));
        Ok(())
    }

    /// Sends a query whose row `judge` checks together with the next answer. If it refuses, everything sent
    /// later fails too.
    pub(crate) fn send_check(
        &mut self,
        sql: &'static str,
        params: Vec<Owned>,
        judge: Judge,
    ) -> Result<(), StoreError> {
        let client = self.in_transaction()?;
        let statement = self.statement(sql)?;
        self.queue(Box::pin(async move {
            let row = client.query_opt(&statement, &borrowed(&params)).await?;
            judge(row.as_ref()).map_err(Failure::Refused)
        }));
        Ok(())
    }

    /// Returns the statement timeout that the server enforces, in milliseconds.
    pub(crate) fn statement_time(&self) -> u128 {
        statement_time(self.answer_time)
    }

    /// Returns the address of the database, without the password.
    pub(crate) fn location(&self) -> &Arc<str> {
        &self.location
    }

    /// Ends a read-only transaction without waiting for the answer.
    pub(crate) fn leave(&mut self) {
        let Ok(client) = self.in_transaction() else { return };
        let mut left: Answer = Box::pin(async move { Ok(client.batch_execute("ROLLBACK").await?) });
        // The first poll sends the statement.
        let is_sent = left.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        self.left = is_sent.then_some(left);
        self.has_begun = false;
        self.sent.clear();
        self.line.glance();
        self.is_broken |= self.client.is_closed();
    }

    /// Returns the prepared statement for `sql`, preparing it on first use.
    fn statement(&mut self, sql: &'static str) -> Result<Statement, StoreError> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let client = self.in_transaction()?;
        let statement = self.answered(client.prepare(sql))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Queues an answer after those already pending.
    fn queue(&mut self, mut answer: Answer) {
        // The first poll sends the statement.
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => self.sent.push(answer),
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => self.sent.push(Box::pin(async move { Err(error) })),
        }
    }

    /// Waits for `answer` and for all pending answers before it. Returns the first error, which causes the
    /// later ones.
    fn answered<T>(&mut self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        if self.is_hanging {
            // A connection that timed out before is not waited for again.
            return Err(no_answer(&self.location, self.answer_time));
        }
        let sent = std::mem::take(&mut self.sent);
        let earlier = async move {
            for answer in sent {
                answer.await?;
            }
            Ok(())
        };
        let both = async { tokio::join!(earlier, answer) };
        let Some((earlier, answer)) = self.line.wait(both, self.answer_time) else {
            (self.is_broken, self.is_hanging) = (true, true);
            return Err(no_answer(&self.location, self.answer_time));
        };
        // Answers arrive in order, so the `ROLLBACK` has been answered too.
        self.left = None;
        let answer = earlier.and(answer.map_err(Failure::Database));
        answer.map_err(|failure| {
            self.is_broken |= self.client.is_closed();
            let error = match failure {
                Failure::Database(error) => {
                    self.reported = error.code().cloned();
                    store_error(&error, &self.location)
                }
                Failure::Refused(error) => error,
            };
            self.is_broken |= matches!(error, StoreError::Unreachable(_));
            error
        })
    }
}

fn borrowed(params: &[Owned]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|param| &**param as &(dyn ToSql + Sync)).collect()
}

fn no_answer(location: &str, within: Duration) -> StoreError {
    StoreError::Unreachable(format!("{location}: no answer came within {} s", within.as_secs()))
}

impl Debug for Connection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({})", self.location)
    }
}
