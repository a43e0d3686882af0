//! Storms of events to brokers, compared with storms of no-ops.

use anyhow::{Result, ensure};
use carillon::clock::Clock;

use super::Arguments;
use crate::{
    brokers::Broker,
    database::Kind,
    goals,
    storm::{self, Round},
    table::Table,
};

/// One round: a storm of no-ops, and a storm to each broker in the order of `brokers`.
struct Rounds {
    nothing: Round,
    events: Vec<Round>,
}

/// The brokers that are to be measured and are installed. Prints the names of the others.
pub(super) async fn brokers(arguments: &Arguments) -> Vec<Broker> {
    let mut brokers = Vec::new();
    for broker in Broker::ALL {
        if !arguments.broker.is_empty() && !arguments.broker.contains(&broker) {
            continue;
        }
        match broker.missing().await {
            None => brokers.push(broker),
            Some(missing) => eprintln!("{}: skipped, as there is no {missing}", broker.name()),
        }
    }
    brokers
}

/// Measures storms on one database, and returns a table for each broker.
pub(super) async fn measure(
    arguments: &Arguments,
    kind: Kind,
    brokers: &[Broker],
) -> Result<Vec<Table>> {
    if brokers.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for _ in 0..arguments.place.rounds {
        let nothing =
            storm::one(arguments.place.fresh(kind).await?, arguments.events, None).await?;
        let mut events = Vec::new();
        for broker in brokers {
            events.push(one(arguments, kind, *broker).await?);
        }
        all.push(Rounds { nothing, events });
    }
    let tables = brokers.iter().enumerate();
    Ok(tables.map(|(index, broker)| table(arguments, kind, *broker, index, &all)).collect())
}

/// Performs a storm to a broker, which must have each event exactly once in the end.
async fn one(arguments: &Arguments, kind: Kind, broker: Broker) -> Result<Round> {
    let running = broker.start(&Clock::system()).await?;
    let fresh = arguments.place.fresh(kind).await?;
    let round = storm::one(fresh, arguments.events, Some(&running.target()?)).await?;
    let (count, name) = (running.count().await?, broker.name());
    ensure!(
        count == u64::try_from(arguments.events)?,
        "of {} events {name} has {count}",
        arguments.events
    );
    running.stop().await?;
    eprintln!("{name}: {count} events in {:.2} s", round.seconds);
    Ok(round)
}

#[expect(clippy::cast_precision_loss, reason = "a count of events")]
fn table(arguments: &Arguments, kind: Kind, broker: Broker, index: usize, all: &[Rounds]) -> Table {
    let n = arguments.events as f64;
    let of =
        |figure: fn(&Round) -> f64| all.iter().map(move |rounds| figure(&rounds.events[index]));
    let over = |figure: fn(&Round) -> f64| {
        all.iter().map(move |rounds| figure(&rounds.nothing) / figure(&rounds.events[index]))
    };
    let (seconds, cpu) = (|round: &Round| round.seconds, |round: &Round| round.cpu.total());
    Table::new(format!(
        "{}: storm of {} events to {}",
        kind.name(),
        arguments.events,
        broker.name()
    ))
    .line("events/s, each at the broker", of(seconds).map(|seconds| n / seconds))
    .line("exec/s of a storm of nothing", all.iter().map(|rounds| n / rounds.nothing.seconds))
    .goal("the one over the other", over(seconds), goals::P25)
    .line("events per CPU-s", of(cpu).map(|cpu| n / cpu))
    .line("over that of nothing", over(cpu))
    .line("peak memory, MB", of(|round| round.memory_mb))
}
