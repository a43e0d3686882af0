use super::{Arguments, Measured};
use crate::{
    database::Kind,
    report::{heading, shown},
    spread::Spread,
};

/// Prints all that was measured.
pub(crate) fn print(arguments: &Arguments, all: &[Measured]) {
    heading(arguments.rounds, all.iter().map(|one| one.load));
    for kind in [Kind::Postgres, Kind::Sqlite] {
        for count in &arguments.schedules {
            let rounds: Vec<&Measured> =
                all.iter().filter(|one| one.database == kind && one.schedules == *count).collect();
            if !rounds.is_empty() {
                steady(kind, *count, &rounds);
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of schedules and milliseconds")]
fn steady(kind: Kind, count: usize, rounds: &[&Measured]) {
    let over =
        |figure: fn(&Measured) -> f64| shown(Spread::of(rounds.iter().map(|one| figure(one))));
    println!("\n{}: {count} schedules every second", kind.name());
    let line =
        |what: &str, figure: String, goal: &str| println!("  {what:<28} {figure:<28} {goal}");
    let goal = |goal| if count == 100 { goal } else { "" };
    line("p50 started, ms late", over(|one| one.round.p50_ms as f64), goal("P10 25 ms; 10 ms"));
    line("p99 started, ms late", over(|one| one.round.p99_ms as f64), "");
    line("latest started, ms late", over(|one| one.round.max_ms as f64), "");
    line("timer p99, ms late", over(|one| one.round.timer_p99_ms), "");
    line("commit p99, ms", over(|one| one.round.commit_p99_ms), "");
    let share = |one: &Measured| {
        one.round.p99_ms as f64 / (one.round.timer_p99_ms + one.round.commit_p99_ms)
    };
    line("p99 over timer and commit", over(share), goal("P10 10x; 5x"));
    line("last quarter over first, ms", over(|one| one.round.drift_ms as f64), "P9 0");
    let fires = |one: &Measured| one.schedules as f64 * f64::from(one.round.seconds);
    let each = move |one: &Measured| fires(one) / one.round.cpu.total();
    line("exec per CPU-s", shown(Spread::of(rounds.iter().map(|one| each(one)))), "");
}
