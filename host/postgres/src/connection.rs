//! One connection, used by one thread at a time.

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

/// How long an answer is waited for. Each statement takes a moment; locks are not waited for that long.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(30);
/// The same for whoever can do without it, such as the messages that go along with a result.
pub(crate) const SHORT_TIME: Duration = Duration::from_secs(2);

/// What a statement is given.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A value that a statement is given which is sent, and not waited for.
pub(crate) type Owned = Box<dyn ToSql + Sync + Send>;

/// What was sent, and its answer when that comes.
type Answer = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// Judges the row that a check gave.
type Judge = Box<dyn FnOnce(Option<&Row>) -> Result<(), StoreError> + Send>;

/// The reason for which something that was sent did not succeed.
enum Failure {
    /// The database or the network refused it.
    Database(Error),
    /// A check of its answer did.
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
    /// By their texts.
    statements: HashMap<&'static str, Statement>,
    /// What was sent and not looked at since, the oldest first.
    sent: Vec<Answer>,
    location: Arc<str>,
    pub(crate) is_broken: bool,
    /// An answer was not waited for any longer: the server may be at it still.
    is_hanging: bool,
    /// The end of a transaction that only read, which nobody waited for.
    left: Option<Answer>,
    /// The way that a request goes which ends what the server is at.
    pub(crate) encryption: Encryption,
    /// The setting that has the server look whether its client is still there while it waits, if it can.
    pub(crate) look_setting: &'static str,
    /// A transaction has begun.
    has_begun: bool,
    /// The time for which the present user waits for an answer.
    pub(crate) answer_time: Duration,
    /// The code of the last error that the database reported.
    pub(crate) reported: Option<SqlState>,
    /// Tells it from all others that there ever were: no other connection writes the row of its commits.
    pub(crate) id: Mark,
    /// Number of connections that its process had made by then, with this one.
    pub(crate) number: u64,
    /// The commits that were made over it.
    pub(crate) commits: Commits,
}

/// The last commits of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Commits {
    /// The one that was acknowledged last, and when.
    pub(crate) kept: Option<(Mark, Instant)>,
    /// The one that was sent last.
    pub(crate) sent: Mark,
}

impl Connection {
    /// Connects. Its notifications ring the bells.
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
        let connected = threads::wait(|| {
            let connecting = async {
                Ok(match &address.encryption {
                    Encryption::None => {
                        let (client, messages) = config.connect(NoTls).await.map_err(|error| told(&error))?;
                        (client, carried(messages, bells.cloned()))
                    }
                    Encryption::Verified(authorities) => {
                        let tls = tls::connector(authorities.as_deref())?;
                        let (client, messages) = config.connect(tls).await.map_err(|error| told(&error))?;
                        (client, carried(messages, bells.cloned()))
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
            left: None,
            encryption: address.encryption.clone(),
            look_setting: "",
            has_begun: false,
            answer_time,
            reported: None,
            id,
            number: 0,
            commits: Commits::default(),
        })
    }

    /// Carries messages until this is done, or for so long.
    pub(crate) fn carry(&mut self, work: impl Future<Output = ()>, at_most: Duration) {
        self.line.wait(work, at_most);
    }

    /// Whether the other side has hung up, as far as that is known without asking it.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.line.look();
        self.is_broken || self.client.is_closed()
    }

    /// Reports whether an answer may still come to something that was sent.
    pub(crate) fn waits(&self) -> bool {
        self.is_hanging || !self.sent.is_empty()
    }

    /// The same for the end of a transaction that only read.
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

    /// The client of a connection that is used no more. Nothing that was sent is looked at any more.
    pub(crate) fn take_client(&mut self) -> Arc<Client> {
        self.sent.clear();
        self.left = None;
        Arc::clone(&self.client)
    }

    /// Reports whether the last error was that the tables are not there.
    pub(crate) fn lacks_tables(&self) -> bool {
        let codes = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
        self.reported.as_ref().is_some_and(|reported| codes.contains(reported))
    }

    /// Reports whether nothing more can be done with it: nobody goes on with a transaction of somebody else.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken || self.has_begun
    }

    /// Begins a transaction in which these tables are written. Nothing is sent before it has begun, and nothing is written where
    /// others have a trigger on them.
    pub(crate) fn begin(&mut self, begin: Begin, tables: Tables) -> Result<(), StoreError> {
        let sql = begin.sql(self.answer_time, tables, self.look_setting);
        let client = Arc::clone(&self.client);
        self.reported = None;
        self.has_begun = true;
        let answer = self.answered(client.batch_execute(&sql));
        // Who reads first looks when it writes.
        let is_writer = tables != Tables::Nothing && begin != Begin::Snapshot;
        let answer = answer.and_then(|()| if is_writer { guard::send(self) } else { Ok(()) });
        answer.inspect_err(|_| {
            let reported = self.reported.take();
            let _ = self.roll_back();
            self.reported = reported;
        })
    }

    /// Keeps what the transaction wrote.
    pub(crate) fn commit(&mut self) -> Result<(), StoreError> {
        self.end("COMMIT")
    }

    /// Ends the transaction; nothing is kept.
    pub(crate) fn roll_back(&mut self) -> Result<(), StoreError> {
        self.end("ROLLBACK")
    }

    fn end(&mut self, sql: &str) -> Result<(), StoreError> {
        let client = self.in_transaction()?;
        self.has_begun = false;
        let ended = self.answered(client.batch_execute(sql));
        if ended.is_err() && !self.is_broken {
            // The end itself may be what failed, as when somebody cancelled it: the transaction would still be there.
            let reported = self.reported.take();
            self.is_broken |= self.answered(client.batch_execute("ROLLBACK")).is_err();
            self.reported = reported;
        }
        ended
    }

    /// Looks something up, in a transaction of its own.
    pub(crate) fn look<T>(
        &mut self,
        look: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.begin(Begin::Look, Tables::Nothing)?;
        let looked = look(self);
        self.leave();
        looked
    }

    /// Writes these tables, in a transaction of its own.
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
                // The error says more than how the end of it went.
                let _ = self.roll_back();
                self.reported = reported;
                Err(error)
            }
        });
        written.map_err(|error| guard::told(self, error))
    }

    /// The only way to send anything: names of others are not found in a transaction.
    fn in_transaction(&self) -> Result<Arc<Client>, StoreError> {
        if !self.has_begun {
            let why = format!("{}: nothing is sent outside of a transaction", self.location);
            return Err(StoreError::Other(why));
        }
        Ok(Arc::clone(&self.client))
    }

    /// Runs a statement; its rows.
    pub(crate) fn rows(&mut self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let client = self.in_transaction()?;
        let statement = self.statement(sql)?;
        self.answered(client.query(&statement, params))
    }

    /// Runs a statement that gives at most one row.
    pub(crate) fn row(&mut self, sql: &'static str, params: Params<'_>) -> Result<Option<Row>, StoreError> {
        let client = self.in_transaction()?;
        let statement = self.statement(sql)?;
        self.answered(client.query_opt(&statement, params))
    }

    /// Runs a statement; how many rows it changed.
    pub(crate) fn change(&mut self, sql: &'static str, params: Params<'_>) -> Result<u64, StoreError> {
        let client = self.in_transaction()?;
        let statement = self.statement(sql)?;
        self.answered(client.execute(&statement, params))
    }

    /// Runs statements that have no parameters and whose rows nobody wants.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), StoreError> {
        let client = self.in_transaction()?;
        self.answered(client.batch_execute(sql))
    }

    /// Sends a statement. What becomes of it is known with the next answer.
    pub(crate) fn send_change(&mut self, sql: &'static str, params: Vec<Owned>) -> Result<(), StoreError> {
        let client = self.in_transaction()?;
        let statement = self.statement(sql)?;
        self.queue(Box::pin(async move {
            client.execute(&statement, &borrowed(&params)).await?;
            Ok(())
        }));
        Ok(())
    }

    /// Sends a question whose answer decides whether all that follows counts. It is judged with the next answer.
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

    /// Returns the milliseconds after which the server itself ends a statement.
    pub(crate) fn statement_time(&self) -> u128 {
        statement_time(self.answer_time)
    }

    /// The address of the database, without the password.
    pub(crate) fn location(&self) -> &Arc<str> {
        &self.location
    }

    /// Ends a transaction that only read: nobody waits for that.
    pub(crate) fn leave(&mut self) {
        let Ok(client) = self.in_transaction() else { return };
        let mut left: Answer = Box::pin(async move { Ok(client.batch_execute("ROLLBACK").await?) });
        // The first look sends it.
        let is_sent = left.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        self.left = is_sent.then_some(left);
        self.has_begun = false;
        self.sent.clear();
        self.line.glance();
        self.is_broken |= self.client.is_closed();
    }

    /// The statement of a text, which the server is told once.
    fn statement(&mut self, sql: &'static str) -> Result<Statement, StoreError> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let client = self.in_transaction()?;
        let statement = self.answered(client.prepare(sql))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Puts something behind all that was sent.
    fn queue(&mut self, mut answer: Answer) {
        // The first look sends it.
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => self.sent.push(answer),
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => self.sent.push(Box::pin(async move { Err(error) })),
        }
    }

    /// Waits for an answer, and for those of all that was sent before. The first error is the one that counts: others
    /// follow from it.
    fn answered<T>(&mut self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        if self.is_hanging {
            // It is not waited for once more.
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
        // Answers come in their order.
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
