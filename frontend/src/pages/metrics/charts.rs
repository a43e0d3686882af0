//! The charts: runs that ended, instants without a run, durations, latenesses, and the depth of the queues.

use leptos::prelude::*;

use crate::{
    components::{Band, BarColumn, Drag, band_chart, peak_bars, stacked_bars},
    model::{Percentiles, RunStats, StatPoint},
    pages::steps,
    time::Moment,
};

/// The properties of a chart besides its figures.
#[derive(Clone)]
pub(in crate::pages) struct Drawing {
    /// The zone in which the steps are labelled.
    pub(in crate::pages) zone: String,
    pub(in crate::pages) drag: Drag,
    /// Returns the address of the list of the runs in a range.
    pub(in crate::pages) runs: Callback<(Moment, Moment), String>,
    pub(in crate::pages) chosen: Callback<(Moment, Moment)>,
}

impl Drawing {
    fn name(&self, point: &StatPoint) -> String {
        steps::name(point.at, &self.zone)
    }

    fn href(&self, stats: &RunStats, point: &StatPoint) -> Option<String> {
        let until = point.at.later(stats.step_seconds * 1_000);
        Some(self.runs.run((point.at, until)))
    }

    fn axis(&self, stats: &RunStats) -> Vec<String> {
        steps::axis(stats.from, stats.until, &self.zone)
    }

    /// A callback that makes the dragged columns the page's range.
    fn dragged(&self, stats: &RunStats) -> Callback<(usize, usize)> {
        let (from, step, chosen) = (stats.from, stats.step_seconds * 1_000, self.chosen);
        Callback::new(move |(first, last): (usize, usize)| {
            let at = |index: usize| from.later(i64::try_from(index).unwrap_or(0) * step);
            chosen.run((at(first), at(last + 1)));
        })
    }
}

/// The chart of runs that ended, by outcome.
pub(in crate::pages) fn throughput(stats: &RunStats, drawing: &Drawing) -> AnyView {
    let parts = vec![("succeeded", "Succeeded"), ("cancelled", "Cancelled"), ("failed", "Failed")];
    let counts =
        |point: &StatPoint| vec![point.succeeded, point.cancelled, point.failed + point.timed_out];
    bars("Runs that ended", parts, stats, drawing, counts)
}

/// The chart of instants that led to no run, by reason.
pub(super) fn not_run(stats: &RunStats, drawing: &Drawing) -> AnyView {
    let parts =
        vec![("queued", "Skipped on purpose"), ("missed", "Missed"), ("abandoned", "Given up")];
    let counts = |point: &StatPoint| vec![point.skipped, point.missed, point.abandoned];
    bars("Fires without a run", parts, stats, drawing, counts)
}

fn bars(
    what: &'static str,
    parts: Vec<(&'static str, &'static str)>,
    stats: &RunStats,
    drawing: &Drawing,
    counts: fn(&StatPoint) -> Vec<i64>,
) -> AnyView {
    let column = |point: &StatPoint| BarColumn {
        name: drawing.name(point),
        href: drawing.href(stats, point),
        counts: counts(point),
    };
    let columns = stats.points.iter().map(column).collect();
    stacked_bars(what, parts, columns, drawing.axis(stats), drawing.drag, drawing.dragged(stats))
}

/// The chart of the runs and jobs that waited.
pub(super) fn queues(stats: &RunStats, drawing: &Drawing) -> AnyView {
    if stats.points.iter().all(|point| point.average_waiting_runs.is_none()) {
        return view! {
            <p class="empty">"Queues are counted for namespaces as a whole, not for a tag or a schedule. The lateness shows how long its runs waited."</p>
        }
        .into_any();
    }
    let column = |point: &StatPoint| BarColumn {
        name: drawing.name(point),
        href: drawing.href(stats, point),
        counts: [point.average_waiting_runs, point.average_waiting_jobs].map(level).into(),
    };
    let columns = stats.points.iter().map(column).collect();
    let parts =
        vec![("queued", "Waiting for a node or a group"), ("retrying", "Waiting for a worker")];
    let dragged = drawing.dragged(stats);
    peak_bars("Waiting on average", parts, columns, drawing.axis(stats), drawing.drag, dragged)
}

/// An average as a whole number. Below one it is rounded up, so that even a short queue is seen. Above, the average of
/// a constant queue is a little more than its length, because the counts are a little apart.
fn level(average: Option<f64>) -> i64 {
    average.map_or(0, |average| {
        let whole = if average < 1.0 { average.ceil() } else { average.round() };
        whole as i64
    })
}

pub(in crate::pages) fn durations(stats: &RunStats, drawing: &Drawing) -> AnyView {
    bands("How long runs took", stats, drawing, |point| point.durations)
}

pub(super) fn latenesses(stats: &RunStats, drawing: &Drawing) -> AnyView {
    bands("How late runs were handed over", stats, drawing, |point| point.latenesses)
}

fn bands(
    what: &'static str,
    stats: &RunStats,
    drawing: &Drawing,
    of: fn(&StatPoint) -> Option<Percentiles>,
) -> AnyView {
    let band = |point: &StatPoint| Band {
        name: drawing.name(point),
        href: drawing.href(stats, point),
        millis: of(point).map(Percentiles::all),
    };
    let bands = stats.points.iter().map(band).collect();
    band_chart(what, bands, drawing.axis(stats), drawing.drag, drawing.dragged(stats))
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn a_short_queue_is_seen() {
        let levels = [None, Some(0.0), Some(0.01), Some(1.0), Some(12.5)].map(level);
        assert_eq!(levels, [0, 0, 1, 1, 13]);
    }

    #[test]
    fn a_constant_queue_is_as_long_as_it_is() {
        assert_eq!([Some(1.01), Some(2.004)].map(level), [1, 2]);
    }
}
