//! The crash test: the real server is killed with SIGKILL again and again in the middle of storms
//! of due schedules; after each restart it must bring every fire to its end.
//!
//! A storm is 1,000 schedules due at one instant. Each of them runs a program that appends its
//! idempotency key, run and attempt to a file outside the database: a witness that does not depend
//! on the tables. In each storm the server is killed three times; after more kills, recovery would
//! reach its limits and give up, which is tested elsewhere. The moments come from a seeded
//! generator and are spread over the storm's progress: while the server claims, hands over,
//! executes and settles. Then the storm finishes, and the file and the tables are compared with the
//! expected result.
//!
//! `CRASH_SEED` repeats the moments of an earlier run, `CRASH_KILLS` sets their number.
//!
//! - `server`: the process
//! - `storm`: the schedules, and the progress of their storm
//! - `verdict`: the comparison

mod server;
mod storm;
mod verdict;

use std::time::Duration;

use carillon::clock::Clock;
use rand::{Rng, SeedableRng, rngs::StdRng};

use self::{server::Server, storm::Storm, verdict::Tally};
use crate::support::{TestDatabase, on_both};

on_both!(nothing_is_lost_or_doubled_when_the_server_is_killed);

/// The number of kills after which recovery still takes a run over.
const KILLS_A_STORM: usize = 3;

async fn nothing_is_lost_or_doubled_when_the_server_is_killed(database: TestDatabase) {
    let seed = setting("CRASH_SEED").unwrap_or_else(rand::random);
    let kills = setting("CRASH_KILLS").map_or(50, |kills| usize::try_from(kills).unwrap());
    println!("CRASH_SEED={seed} CRASH_KILLS={kills}");
    let mut random = StdRng::seed_from_u64(seed);
    let clock = Clock::system();
    let start = clock.instant();
    let mut storm = Storm::new(database).await;
    let mut done = 0;
    let mut tally = Tally::default();
    while done < kills {
        let now = (kills - done).min(KILLS_A_STORM);
        storm.arm().await;
        let mut server = Server::start(&storm);
        for moment in moments(&mut random, now) {
            let progress = wait_for(&moment, &storm, &mut server, &clock).await;
            server.kill();
            done += 1;
            println!("kill {done:2} at {progress:?}");
            server = Server::start(&storm);
        }
        storm.drained(&mut server, &clock).await;
        server.kill();
        tally += verdict::check(&mut storm).await;
    }
    println!("{tally:?} in {:.1?}", start.elapsed());
    assert!(tally.lost_attempts > 0 || kills < 20, "no kill hit anything");
}

/// When to kill: a short time after the storm has reached a point.
#[derive(Debug, Clone, Copy)]
struct Moment {
    when: When,
    later: Duration,
}

#[derive(Debug, Clone, Copy)]
enum When {
    /// Some fires are claimed but not yet handed over.
    HandingOver,
    /// The storm has made this many steps, counted over all fires.
    Progress(usize),
}

/// `count` moments of one storm, in order. In half of the storms, the first kill comes between
/// claim and hand-off: that phase takes only a few milliseconds, so random moments would seldom
/// meet it.
fn moments(random: &mut StdRng, count: usize) -> Vec<Moment> {
    let mut progress: Vec<usize> =
        (0..count).map(|_| random.random_range(0..storm::PROGRESS)).collect();
    progress.sort_unstable();
    let mut moments = Vec::with_capacity(count);
    for (number, progress) in progress.into_iter().enumerate() {
        // A storm begins slowly, so a longer range of delays also meets the start of the process.
        let span = if progress < 100 { 1_500 } else { 20 };
        let later = Duration::from_millis(random.random_range(0..span));
        let handing_over = number == 0 && random.random_bool(0.5);
        moments.push(if handing_over {
            Moment { when: When::HandingOver, later: Duration::ZERO }
        } else {
            Moment { when: When::Progress(progress), later }
        });
    }
    moments
}

async fn wait_for(
    moment: &Moment,
    storm: &Storm,
    server: &mut Server,
    clock: &Clock,
) -> storm::Progress {
    let come = |progress: storm::Progress| match moment.when {
        When::HandingOver => progress.is_handing_over() || progress.sum() > storm::PROGRESS / 2,
        When::Progress(sum) => progress.sum() >= sum,
    };
    let progress = storm.reaches(come, server, clock).await;
    if moment.later.is_zero() {
        return progress;
    }
    clock.sleep(moment.later).await;
    storm.progress().await
}

fn setting(name: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "the tests' own configuration")]
    let value = std::env::var(name).ok()?;
    Some(value.parse().expect("a number"))
}
