//! The basis of all tests: each gets a fresh database, on SQLite and on PostgreSQL.
//!
//! Nothing is mocked. A SQLite test gets a file in its own folder, a PostgreSQL test a database;
//! both are copies of a migrated template. `CARILLON_TEST_POSTGRES` may name the PostgreSQL
//! server, by the URL of an administrator's connection. Otherwise the test process starts a
//! temporary server, which ends with the process, however the process ends.
//!
//! - `database`: [`TestDatabase`], dropped with its data at the end of the test
//! - `postgres`: the PostgreSQL server
//! - `broker`: a broker that tasks publish to, which can be killed, frozen and restarted
//! - `redis`: a Redis server, which can be killed, frozen and flushed
//! - `replicas`: a primary and its synchronous standby, which can be killed and promoted
//! - `rows`: rows of the ledger and jobs, for tests that write them themselves
//! - `process`: ports, and freezing of the processes that tests start
//! - `command`: the built binary, run to its end
//! - `server`: the built binary as a server on a free port, queried over HTTP
//! - `socket`: a WebSocket to that server

mod broker;
mod command;
mod database;
pub(crate) mod postgres;
mod process;
mod redis;
mod replicas;
mod rows;
mod server;
mod socket;

pub(crate) use broker::{Broker, tool};
pub(crate) use command::{Command, Finished};
pub(crate) use database::TestDatabase;
pub(crate) use process::{free_port, freeze, thaw};
pub(crate) use redis::Redis;
pub(crate) use replicas::Replicas;
pub(crate) use rows::{fire_row, job_row, run_row};
pub(crate) use server::{Server, cookie, device_cookie, set_cookie};
pub(crate) use socket::Socket;

/// Runs each test, an `async fn(TestDatabase)`, on SQLite and on PostgreSQL.
macro_rules! on_both {
    ($($test:ident),+ $(,)?) => { $(
        mod $test {
            use crate::support::TestDatabase;

            #[tokio::test]
            async fn on_sqlite() {
                super::$test(TestDatabase::sqlite().await).await;
            }

            #[tokio::test]
            async fn on_postgres() {
                super::$test(TestDatabase::postgres().await).await;
            }
        }
    )+ };
}
pub(crate) use on_both;
