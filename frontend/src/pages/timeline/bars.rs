//! What a lane shows: its bars and marks with their words and links, and the lane in one sentence.

use crate::{
    components::Mark,
    model::{Lane, LaneFold, LaneMark, LanePlan, LaneRun, ReasonCode},
    pages::steps,
    route::{Route, Scope},
    time::{Moment, amount, duration, grouped},
};

/// A bar, or a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    /// The shape: `run`, `fold`, `mark`, `plan`.
    pub(super) kind: &'static str,
    /// The name by which the style sheet colours it.
    pub(super) state: &'static str,
    pub(super) from: Moment,
    pub(super) to: Moment,
    pub(super) words: String,
    pub(super) href: String,
}

/// The bars of a lane, with times on the clock of `zone`.
pub(super) fn bars(lane: &Lane, now: Moment, zone: &str) -> Vec<Bar> {
    let at = |at: Moment| steps::name(at, zone);
    let folds = lane.folds.iter().map(|fold| of_fold(lane, fold, &at));
    let runs = lane.runs.iter().map(|run| of_run(run, now, &at));
    let marks = lane.marks.iter().map(|mark| of_mark(lane, mark, &at));
    let plans = lane.planned.iter().map(|plan| of_plan(lane, plan, &at));
    plans.chain(folds).chain(runs).chain(marks).collect()
}

fn of_run(run: &LaneRun, now: Moment, at: &impl Fn(Moment) -> String) -> Bar {
    let mark = Mark::Run(run.state);
    let from = run.started_at.unwrap_or(run.created_at);
    let to = run.finished_at.unwrap_or(now).max(from);
    let took = match (run.started_at, run.finished_at) {
        (Some(_), Some(_)) => format!(", took {}", duration(to.since(from))),
        (Some(_), None) => format!(", for {}", duration(to.since(from))),
        (None, _) => ", not started".to_owned(),
    };
    Bar {
        kind: "run",
        state: mark.state(),
        from,
        to,
        words: format!("{} from {}{took}", mark.word(), at(from)),
        href: Route::Run(run.id.clone()).path(),
    }
}

fn of_fold(lane: &Lane, fold: &LaneFold, at: &impl Fn(Moment) -> String) -> Bar {
    let mut words = vec![amount(fold.runs, "run", "runs")];
    words.extend((fold.failed > 0).then(|| format!("{} failed", fold.failed)));
    words.extend((fold.live > 0).then(|| format!("{} alive", fold.live)));
    let state = match (fold.failed, fold.live) {
        (0, 0) => "succeeded",
        (0, _) => "running",
        _ => "failed",
    };
    let search = format!("schedule:\"{}\"", lane.schedule.name);
    let (from, until) = (fold.from.to_rfc3339(), fold.to.to_rfc3339());
    let shown = if fold.failed > 0 { "failed" } else { "" };
    let query: [(&str, &str); 4] =
        [("q", &search), ("state", shown), ("from", &from), ("until", &until)];
    Bar {
        kind: "fold",
        state,
        from: fold.from,
        to: fold.to,
        words: format!("{}, {} to {}", words.join(", "), at(fold.from), at(fold.to)),
        href: Route::Runs.narrowed_in(&home(lane), &query),
    }
}

fn of_mark(lane: &Lane, mark: &LaneMark, at: &impl Fn(Moment) -> String) -> Bar {
    let verdict = Mark::Verdict(mark.verdict);
    let reason = mark.reason.map(|reason| format!(" ({})", reason_words(reason)));
    let which = if mark.fires == 1 {
        format!("{} at {}", verdict.word(), at(mark.at))
    } else {
        format!("{} {} from {}", mark.fires, verdict.word().to_lowercase(), at(mark.at))
    };
    let search = format!("schedule:\"{}\"", lane.schedule.name);
    // The end of a range is exclusive.
    let (from, until) = (mark.at.to_rfc3339(), mark.last_at.later(1_000).to_rfc3339());
    let query: [(&str, &str); 3] = [("q", &search), ("from", &from), ("until", &until)];
    Bar {
        kind: "mark",
        state: verdict.state(),
        from: mark.at,
        to: mark.last_at,
        words: format!("{which}{}", reason.unwrap_or_default()),
        href: Route::Ledger.narrowed_in(&home(lane), &query),
    }
}

fn of_plan(lane: &Lane, plan: &LanePlan, at: &impl Fn(Moment) -> String) -> Bar {
    let words = match (plan.starts, lane.usual_ms) {
        (1, Some(usual)) => format!("Due {}, usually takes {}", at(plan.at), duration(usual)),
        (1, None) => format!("Due {}", at(plan.at)),
        (starts, _) => format!("{} due from {}", amount(starts, "fire", "fires"), at(plan.at)),
    };
    let minute = plan.at.to_rfc3339();
    let query: [(&str, &str); 2] = [("at", &minute), ("frequent", "yes")];
    Bar {
        kind: "plan",
        state: "pending",
        from: plan.at,
        to: plan.to.unwrap_or(plan.at),
        words,
        href: Route::Upcoming.narrowed_in(&home(lane), &query),
    }
}

fn home(lane: &Lane) -> Scope {
    Scope::One(lane.schedule.namespace.clone())
}

/// A reason as words: `OVERLAP` is `overlap`, `BUFFER_FULL` is `buffer full`.
fn reason_words(reason: ReasonCode) -> String {
    let code = serde_json::to_value(reason).ok();
    let code = code.as_ref().and_then(|code| code.as_str()).unwrap_or_default();
    code.to_lowercase().replace('_', " ")
}

/// A lane in words: `12 runs, 1 failed, 2 without a run, 1 overlap, 3 due`.
pub(super) fn summary(lane: &Lane) -> String {
    let is_bad = |run: &&LaneRun| Mark::Run(run.state).state() == "failed";
    let timed_out = |run: &&LaneRun| Mark::Run(run.state).state() == "timed_out";
    let listed = lane.runs.iter().filter(|run| is_bad(run) || timed_out(run)).count();
    let runs = length(lane.runs.len()) + lane.folds.iter().map(|fold| fold.runs).sum::<i64>();
    let failed = length(listed) + lane.folds.iter().map(|fold| fold.failed).sum::<i64>();
    let unrun: i64 = lane.marks.iter().map(|mark| mark.fires).sum();
    let due: i64 = lane.planned.iter().map(|plan| plan.starts).sum();
    let overlaps = length(lane.overlaps.len());
    let mut words = Vec::new();
    words.extend((runs > 0).then(|| amount(runs, "run", "runs")));
    words.extend((failed > 0).then(|| format!("{} failed", grouped(failed))));
    words.extend((unrun > 0).then(|| format!("{} without a run", grouped(unrun))));
    words.extend((overlaps > 0).then(|| amount(overlaps, "overlap", "overlaps")));
    words.extend((due > 0).then(|| format!("{} due", grouped(due))));
    if !lane.is_complete {
        words.push("the oldest are left out".to_owned());
    }
    if words.is_empty() { "nothing in this range".to_owned() } else { words.join(", ") }
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn lane(change: &Value) -> Lane {
        let mut lane = json!({
            "schedule": { "id": "s", "name": "report", "namespace": "default" },
            "usualMs": null, "overlaps": [], "isComplete": true,
            "runs": [], "folds": [], "marks": [], "planned": [],
        });
        lane.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        serde_json::from_value(lane).unwrap()
    }

    #[test]
    fn a_lane_is_described_in_words() {
        let run = |state: &str| {
            json!({ "id": "r", "state": state, "createdAt": "2026-03-01T12:00:00Z",
                "startedAt": null, "finishedAt": null })
        };
        let at = "2026-03-01T12:00:00Z";
        let full = lane(&json!({
            "runs": [run("SUCCEEDED"), run("FAILED"), run("TIMED_OUT")],
            "overlaps": [at],
            "marks": [{ "at": at, "lastAt": at, "verdict": "MISSED", "reason": "OUTAGE", "fires": 4 }],
            "planned": [{ "at": at, "to": null, "starts": 2 }],
        }));
        assert_eq!(summary(&full), "3 runs, 2 failed, 4 without a run, 1 overlap, 2 due");
        let folded = json!([{ "from": at, "to": at, "runs": 3_600, "failed": 2, "live": 0 }]);
        let folded = lane(&json!({ "folds": folded, "isComplete": false }));
        assert_eq!(summary(&folded), "3\u{202f}600 runs, 2 failed, the oldest are left out");
        assert_eq!(summary(&lane(&json!({}))), "nothing in this range");
    }

    #[test]
    fn a_reason_is_a_few_words() {
        assert_eq!(reason_words(ReasonCode::BufferFull), "buffer full");
    }
}
