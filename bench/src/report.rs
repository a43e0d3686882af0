//! The figures in words: one line a figure, with the goal that it answers to.

use crate::{
    database::Kind,
    process,
    spread::Spread,
    storm::{Arguments, Measured},
};

/// Prints all that was measured.
pub(crate) fn print(arguments: &Arguments, all: &[Measured]) {
    heading(arguments.rounds, all.iter().map(|one| one.load));
    for kind in [Kind::Postgres, Kind::Sqlite] {
        for count in &arguments.schedules {
            let rounds: Vec<&Measured> =
                all.iter().filter(|one| one.database == kind && one.schedules == *count).collect();
            if !rounds.is_empty() {
                storm(kind, *count, &rounds);
            }
        }
        if all.iter().any(|one| one.database == kind) {
            limits(kind, all);
            growth(kind, &arguments.schedules, all);
        }
    }
}

/// Where and how it was measured.
pub(crate) fn heading(rounds: usize, load: impl Iterator<Item = f64>) {
    println!("machine   {}", process::machine());
    println!("build     {}", profile());
    println!("load      {} of one minute, others' work included", shown(Spread::of(load)));
    println!("rounds    {rounds}, interleaved; median (least-greatest)");
}

/// The folder that Cargo built this program into bears the profile's name.
fn profile() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let folder = program.parent().and_then(|folder| folder.file_name());
    folder.map_or_else(|| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[expect(clippy::cast_precision_loss, reason = "counts of schedules, commits and milliseconds")]
fn storm(kind: Kind, count: usize, rounds: &[&Measured]) {
    let n = count as f64;
    let over = |figure: &dyn Fn(&Measured) -> Option<f64>| {
        shown(Spread::of(rounds.iter().filter_map(|one| figure(one))))
    };
    let rate = |one: &Measured| n / one.round.seconds;
    println!("\n{}: storm of {count}", kind.name());
    let line =
        |what: &str, figure: String, goal: &str| println!("  {what:<28} {figure:<28} {goal}");
    let p2 = if kind == Kind::Postgres && count == 10_000 { "P2 10 s; 2 s" } else { "" };
    line("seconds to the last record", over(&|one| Some(one.round.seconds)), p2);
    line("exec/s", over(&|one| Some(rate(one))), "");
    let p3 = if kind == Kind::Postgres { "P3 2500; 6000" } else { "" };
    line("exec per CPU-s", over(&|one| Some(n / one.round.cpu.total())), p3);
    if kind == Kind::Postgres {
        let share = |one: &Measured| one.round.cpu.database / one.round.cpu.total();
        line("of it in the database", over(&|one| Some(share(one))), "");
    }
    match kind {
        Kind::Postgres => {
            let p4 = if count == 10_000 { "P4 0.05; 0.12" } else { "" };
            line("exec/s over RB", over(&|one| Some(rate(one) / one.limits.rb?)), p4);
            let share = over(&|one| Some(rate(one) / one.limits.r1?));
            line("exec/s over R1", share, "P5 0.35; 0.7");
        }
        Kind::Sqlite => {
            let share = over(&|one| Some(rate(one) / one.limits.sb?));
            line("exec/s over SB", share, "P6 0.08; 0.2");
        }
    }
    let late = "P7 100 ms + 5 commits; 30 ms +";
    line("first started, ms late", over(&|one| Some(one.round.first_ms as f64)), late);
    line("first handled, ms late", over(&|one| Some(one.round.first_handled_ms as f64)), late);
    line("p50 started, ms late", over(&|one| Some(one.round.p50_ms as f64)), "");
    line("p99 started, ms late", over(&|one| Some(one.round.p99_ms as f64)), "");
    line("commits", over(&|one| Some(one.round.commits as f64)), "");
    let p16 = if count == 10_000 { "P16 150 MB; 80 MB" } else { "" };
    line("peak memory, MB", over(&|one| Some(one.round.memory_mb)), p16);
}

fn limits(kind: Kind, all: &[Measured]) {
    let over =
        |figure: fn(&Measured) -> Option<f64>| shown(Spread::of(all.iter().filter_map(figure)));
    match kind {
        Kind::Postgres => {
            println!("\nR1  {} commits/s of one row, 16 clients", over(|one| one.limits.r1));
            println!("RB  {} rows/s, 500 a commit, 4 clients", over(|one| one.limits.rb));
        }
        Kind::Sqlite => println!("\nSB  {} rows/s, 500 a commit", over(|one| one.limits.sb)),
    }
}

/// Whether a larger storm is carried out at the same rate: the largest over the smallest.
#[expect(clippy::cast_precision_loss, reason = "counts of schedules")]
fn growth(kind: Kind, sizes: &[usize], all: &[Measured]) {
    let (Some(small), Some(large)) = (sizes.iter().min(), sizes.iter().max()) else { return };
    let rates = |count: usize| {
        all.iter()
            .filter(move |one| one.database == kind && one.schedules == count)
            .map(move |one| count as f64 / one.round.seconds)
    };
    if small < large {
        let ratios = rates(*large).zip(rates(*small)).map(|(large, small)| large / small);
        let growth = shown(Spread::of(ratios));
        println!("P8  {growth} exec/s at {large} over exec/s at {small}: 0.8; 1.2");
    }
}

pub(crate) fn shown(spread: Option<Spread>) -> String {
    spread.map_or_else(|| "-".to_owned(), |spread| spread.to_string())
}
