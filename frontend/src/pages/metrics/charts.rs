//! The charts: runs that ended, instants without a run, durations, latenesses.

use leptos::prelude::*;

use crate::{
    components::{Band, BarColumn, Drag, band_chart, stacked_bars},
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
