//! The figures in words: one line per figure, with its goal.

use crate::{
    database::Kind,
    goals::{self, Goal},
    process,
    spread::Spread,
    storm::{Arguments, Measured},
    table::Table,
};

/// Prints all measurements.
pub(crate) fn print(arguments: &Arguments, all: &[Measured]) {
    heading(arguments.rounds, all.iter().map(|one| one.load));
    for kind in [Kind::Postgres, Kind::Sqlite] {
        for count in &arguments.schedules {
            let rounds: Vec<&Measured> =
                all.iter().filter(|one| one.database == kind && one.schedules == *count).collect();
            if !rounds.is_empty() {
                storm(kind, *count, &rounds).print();
            }
        }
        if all.iter().any(|one| one.database == kind) {
            growth(kind, &arguments.schedules, all, limits(kind, all)).print();
        }
    }
}

/// Prints the circumstances of the measurement.
pub(crate) fn heading(rounds: usize, load: impl Iterator<Item = f64>) {
    println!("machine   {}", process::machine());
    println!("build     {}", profile());
    println!("load      {} of one minute, others' work included", shown(Spread::of(load)));
    println!("rounds    {rounds}, interleaved; median (least-greatest)");
}

/// The profile of this build, by which Cargo names the folder of the program.
fn profile() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let folder = program.parent().and_then(|folder| folder.file_name());
    folder.map_or_else(|| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[expect(clippy::cast_precision_loss, reason = "counts of schedules, commits and milliseconds")]
fn storm(kind: Kind, count: usize, rounds: &[&Measured]) -> Table {
    let n = count as f64;
    let over = |figure: &dyn Fn(&Measured) -> Option<f64>| {
        rounds.iter().filter_map(|one| figure(one)).collect::<Vec<f64>>()
    };
    let rate = |one: &Measured| n / one.round.seconds;
    let (postgres, large) = (kind == Kind::Postgres, count == 10_000);
    let only = |condition: bool, goal: Goal| condition.then_some(goal);
    let mut table = Table::new(format!("{}: storm of {count}", kind.name()))
        .put(
            "seconds to the last record",
            over(&|one| Some(one.round.seconds)),
            only(postgres && large, goals::P2),
        )
        .line("exec/s", over(&|one| Some(rate(one))))
        .put(
            "exec per CPU-s",
            over(&|one| Some(n / one.round.cpu.total())),
            only(postgres, goals::P3),
        )
        .line("CPU seconds", over(&|one| Some(one.round.cpu.total())));
    table = match kind {
        Kind::Postgres => table
            .line(
                "of it in the database",
                over(&|one| Some(one.round.cpu.database / one.round.cpu.total())),
            )
            .put(
                "exec/s over RB",
                over(&|one| Some(rate(one) / one.limits.rb?)),
                only(large, goals::P4),
            )
            .goal("exec/s over R1", over(&|one| Some(rate(one) / one.limits.r1?)), goals::P5),
        Kind::Sqlite => {
            table.goal("exec/s over SB", over(&|one| Some(rate(one) / one.limits.sb?)), goals::P6)
        }
    };
    table
        .goal("first started, ms late", over(&|one| Some(one.round.first_ms as f64)), goals::P7)
        .goal(
            "first handled, ms late",
            over(&|one| Some(one.round.first_handled_ms as f64)),
            goals::P7,
        )
        .line("p50 started, ms late", over(&|one| Some(one.round.p50_ms as f64)))
        .line("p99 started, ms late", over(&|one| Some(one.round.p99_ms as f64)))
        .line("commits per 1,000", over(&|one| Some(one.round.commits as f64 * 1_000.0 / n)))
        .line("statements per 1,000", over(&|one| Some(one.round.statements as f64 * 1_000.0 / n)))
        .put("peak memory, MB", over(&|one| Some(one.round.memory_mb)), only(large, goals::P16))
}

fn limits(kind: Kind, all: &[Measured]) -> Table {
    let over = |figure: fn(&Measured) -> Option<f64>| all.iter().filter_map(figure);
    let table = Table::new(format!("{}: what it can do at the best", kind.name()));
    match kind {
        Kind::Postgres => table
            .line("R1, commits/s of one row", over(|one| one.limits.r1))
            .line("RB, rows/s, 500 a commit", over(|one| one.limits.rb)),
        Kind::Sqlite => table.line("SB, rows/s, 500 a commit", over(|one| one.limits.sb)),
    }
}

/// Whether a larger storm runs at the same rate as the smallest.
#[expect(clippy::cast_precision_loss, reason = "counts of schedules")]
fn growth(kind: Kind, sizes: &[usize], all: &[Measured], mut table: Table) -> Table {
    let Some(small) = sizes.iter().min() else { return table };
    let rates = |count: usize| {
        all.iter()
            .filter(move |one| one.database == kind && one.schedules == count)
            .map(move |one| count as f64 / one.round.seconds)
    };
    for large in sizes.iter().filter(|size| *size > small) {
        let ratios = rates(*large).zip(rates(*small)).map(|(large, small)| large / small);
        let what = format!("exec/s at {large} over {small}");
        let is_of_goal = (*small, *large) == (1_000, 10_000);
        table = table.put(&what, ratios, is_of_goal.then_some(goals::P8));
    }
    table
}

pub(crate) fn shown(spread: Option<Spread>) -> String {
    spread.map_or_else(|| "-".to_owned(), |spread| spread.to_string())
}
