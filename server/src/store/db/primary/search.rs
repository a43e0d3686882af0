//! Finds the writable server among several.

use std::time::Duration;

use futures::{StreamExt, future::join_all, stream::FuturesUnordered};
use sea_orm::sqlx::{self, ConnectOptions, Connection, Row, postgres::PgConnection};

use super::address::{Address, Host};
use crate::clock::Clock;

/// How long a server may take to accept a connection and to report its state.
const PATIENCE: Duration = Duration::from_secs(5);
/// A server that has not answered is queried again at this interval, beside the pending queries.
/// A connection that was opened while the network dropped all packets
/// would stay dead after the network recovers.
const ANEW: Duration = Duration::from_secs(1);

/// One life of a writable server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrimaryServer {
    /// The index of the server's host in the address.
    pub(super) host: usize,
    /// The server's timeline, whose number grows with each promotion; 0 if it was not queried.
    pub(super) timeline: u32,
    /// When the server started.
    pub(super) started_at: i64,
}

/// The answer of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HostAnswer {
    /// The server is writable.
    Primary(PrimaryServer),
    /// The server follows another one.
    Standby,
    /// The server accepts no more connections, so its state is unknown.
    Full,
    /// There was no answer. `why` is the reason, and `soon` says whether an answer may come soon.
    Nothing { why: String, soon: bool },
}

impl HostAnswer {
    /// Whether to query the host again. A server that is starting may become available or be
    /// promoted, but a wrong password stays wrong.
    pub(super) fn may_change(&self) -> bool {
        match self {
            Self::Primary(_) | Self::Standby | Self::Full => true,
            Self::Nothing { soon, .. } => *soon,
        }
    }
}

/// Queries all hosts at once.
pub(super) async fn ask_all(address: &Address) -> Vec<HostAnswer> {
    let with_timeline = address.hosts.len() > 1;
    let asked = address
        .hosts
        .iter()
        .enumerate()
        .map(|(index, host)| first_answer(PATIENCE, move || ask(index, host, with_timeline)));
    join_all(asked).await
}

/// Repeats a query until one of its attempts is answered or the first one times out.
/// Earlier attempts continue when later ones start, because on a slow
/// network the first attempt is answered first.
async fn first_answer<F>(patience: Duration, ask: impl Fn() -> F) -> HostAnswer
where
    F: Future<Output = Result<HostAnswer, sqlx::Error>>,
{
    let clock = Clock::system();
    let answer = async {
        let mut asked = FuturesUnordered::new();
        loop {
            asked.push(ask());
            tokio::select! {
                biased;
                Some(answer) = asked.next() => return answer,
                () = clock.sleep(ANEW) => {}
            }
        }
    };
    match clock.timeout(patience, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => unanswered(&error),
        Err(_) => HostAnswer::Nothing { why: format!("no answer in {patience:?}"), soon: true },
    }
}

async fn ask(index: usize, host: &Host, with_timeline: bool) -> Result<HostAnswer, sqlx::Error> {
    let options = host.options.clone().disable_statement_logging();
    let mut connection: PgConnection = options.connect().await?;
    let question = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on', \
                    (extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint";
    let row = sqlx::query(question).fetch_one(&mut connection).await?;
    let answer = if row.try_get(0)? {
        HostAnswer::Standby
    } else if row.try_get(1)? {
        let why = "it refuses writes (default_transaction_read_only)".to_owned();
        HostAnswer::Nothing { why, soon: false }
    } else {
        let timeline = if with_timeline { timeline(&mut connection).await } else { 0 };
        HostAnswer::Primary(PrimaryServer { host: index, timeline, started_at: row.try_get(2)? })
    };
    // It does not matter whether the server receives the goodbye.
    let _ = connection.close().await;
    Ok(answer)
}

/// The timeline, from the first part of the name of the server's current WAL file.
/// Some managed services do not report it, so their hosts count as equal.
async fn timeline(connection: &mut PgConnection) -> u32 {
    let question = "SELECT pg_walfile_name(pg_current_wal_lsn())";
    let name = sqlx::query_scalar::<_, String>(question).fetch_one(connection).await;
    let digits = name.ok().and_then(|name| name.get(..8).map(str::to_owned));
    digits.and_then(|digits| u32::from_str_radix(&digits, 16).ok()).unwrap_or(0)
}

fn unanswered(error: &sqlx::Error) -> HostAnswer {
    const TOO_MANY_CONNECTIONS: &str = "53300";
    const CANNOT_CONNECT_NOW: &str = "57P03";
    let code = error.as_database_error().and_then(|error| error.code());
    if code.as_deref() == Some(TOO_MANY_CONNECTIONS) {
        return HostAnswer::Full;
    }
    let soon = if let sqlx::Error::Io(error) = error {
        error.kind() == std::io::ErrorKind::ConnectionRefused
    } else {
        code.as_deref() == Some(CANNOT_CONNECT_NOW)
    };
    HostAnswer::Nothing { why: error.to_string(), soon }
}

/// The server to write to. If several claim to be the primary, it is the one with the latest
/// timeline: a promotion left the others behind without their knowledge.
/// Among equals, it is the current server, or else the first.
pub(super) fn choose(
    answers: &[HostAnswer],
    current: Option<PrimaryServer>,
) -> Option<PrimaryServer> {
    let primaries = answers.iter().filter_map(|answer| match answer {
        HostAnswer::Primary(server) => Some(*server),
        HostAnswer::Standby | HostAnswer::Full | HostAnswer::Nothing { .. } => None,
    });
    let in_use =
        |server: &PrimaryServer| current.is_some_and(|current| current.host == server.host);
    let rank =
        |server: &PrimaryServer| (server.timeline, in_use(server), std::cmp::Reverse(server.host));
    primaries.max_by_key(rank)
}

/// Why there is no primary, as text for a log line or an error.
pub(super) fn reasons(address: &Address, answers: &[HostAnswer]) -> String {
    let each = address.hosts.iter().zip(answers).map(|(host, answer)| {
        let why = match answer {
            HostAnswer::Primary(_) => "is a primary",
            HostAnswer::Standby => "is a standby",
            HostAnswer::Full => "takes no more connections",
            HostAnswer::Nothing { why, .. } => why,
        };
        if answers.len() > 1 { format!("{}: {why}", host.name) } else { why.to_owned() }
    });
    each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use tokio::sync::Notify;

    use super::*;

    /// More than enough time, even on a busy machine.
    const MINUTE: Duration = Duration::from_secs(60);

    fn primary(host: usize, timeline: u32) -> HostAnswer {
        HostAnswer::Primary(PrimaryServer { host, timeline, started_at: 0 })
    }

    fn chosen(answers: &[HostAnswer], current: Option<usize>) -> Option<usize> {
        let current = current.map(|host| PrimaryServer { host, timeline: 1, started_at: 0 });
        choose(answers, current).map(|server| server.host)
    }

    #[tokio::test]
    async fn a_server_is_asked_anew_while_a_question_has_no_answer() {
        let asked = AtomicUsize::new(0);
        // The first two attempts are never answered.
        let ask = || {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            async move { if number < 2 { pending().await } else { Ok(HostAnswer::Standby) } }
        };
        assert_eq!(first_answer(MINUTE, ask).await, HostAnswer::Standby);
    }

    #[tokio::test]
    async fn a_question_on_a_slow_way_is_not_given_up_for_a_later_one() {
        let asked = AtomicUsize::new(0);
        let others = Notify::new();
        // The first query is answered after the second has been sent. The second is never answered.
        let ask = || {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            let others = &others;
            async move {
                if number == 0 {
                    others.notified().await;
                    return Ok(HostAnswer::Full);
                }
                others.notify_one();
                pending().await
            }
        };
        assert_eq!(first_answer(MINUTE, ask).await, HostAnswer::Full);
    }

    #[test]
    fn a_standby_is_never_chosen() {
        assert_eq!(chosen(&[HostAnswer::Standby, primary(1, 1)], Some(0)), Some(1));
        assert_eq!(chosen(&[HostAnswer::Standby, HostAnswer::Full], Some(0)), None);
    }

    #[test]
    fn a_primary_that_was_left_behind_by_a_promotion_is_not_chosen() {
        assert_eq!(chosen(&[primary(0, 1), primary(1, 2)], Some(0)), Some(1));
        assert_eq!(chosen(&[primary(0, 3), primary(1, 2)], Some(1)), Some(0));
    }

    #[test]
    fn among_equal_servers_the_one_in_use_stays() {
        assert_eq!(chosen(&[primary(0, 1), primary(1, 1)], Some(1)), Some(1));
        assert_eq!(chosen(&[primary(0, 1), primary(1, 1)], None), Some(0));
    }
}
