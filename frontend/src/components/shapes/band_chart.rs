//! Durations over time: the band between p50 and p95, with a line for p99.

use leptos::prelude::*;

use super::{
    chart::{Chart, HEIGHT, LENGTH, chart},
    drag::Drag,
    scale::{ceiling_of_time, share, short},
    twin::{Twin, TwinRow},
};
use crate::time::duration;

/// One step of time; its figures are `None` if nothing was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    /// The step's time, in words.
    pub(crate) name: String,
    pub(crate) href: Option<String>,
    /// p50, p95 and p99 in milliseconds.
    pub(crate) millis: Option<[i64; 3]>,
}

/// Draws the band. `what` names the measured quantity, such as `Duration`.
pub(crate) fn band_chart(
    what: &'static str,
    bands: Vec<Band>,
    axis: Vec<String>,
    drag: Drag,
    chosen: Callback<(usize, usize)>,
) -> AnyView {
    let highest = bands.iter().filter_map(|band| band.millis).map(|[.., p99]| p99).max();
    let top = ceiling_of_time(highest.unwrap_or(0));
    let values: Vec<_> = bands.iter().map(|band| band.millis).collect();
    let drawing = stretches(&values)
        .into_iter()
        .map(|stretch| {
            let count = values.len();
            let line = |which: usize| path(&stretch, which, count, top);
            let area = area(&stretch, count, top);
            view! {
                <path class="band-area" d=area/>
                <path class="band-line" data-line="p99" d=line(2)/>
                <path class="band-line" data-line="p95" d=line(1)/>
                <path class="band-line" data-line="p50" d=line(0)/>
            }
            .into_any()
        })
        .collect::<Vec<_>>()
        .into_any();
    let readout = bands.iter().map(said).collect();
    let summary = summary(what, &bands);
    let row = |band: Band| TwinRow {
        name: band.name,
        href: band.href,
        cells: match band.millis {
            Some(millis) => millis.map(duration).to_vec(),
            None => vec!["–".to_owned(); 3],
        },
    };
    let rows = bands.into_iter().map(row).collect();
    let twin = Twin { caption: what, headings: vec!["When", "p50", "p95", "p99"], rows };
    let whole = Chart {
        summary,
        top: duration(top),
        middle: duration(top / 2),
        axis,
        legend: vec![("p50", "p50"), ("p95", "p95"), ("p99", "p99")],
        readout,
        drawing,
        twin,
    };
    chart(whole, drag, chosen)
}

type Point = (usize, [i64; 3]);

/// Runs of consecutive steps that have measurements.
fn stretches(values: &[Option<[i64; 3]>]) -> Vec<Vec<Point>> {
    let mut stretches: Vec<Vec<Point>> = Vec::new();
    let mut is_open = false;
    for (index, value) in values.iter().enumerate() {
        match (value, stretches.last_mut().filter(|_| is_open)) {
            (Some(value), Some(stretch)) => stretch.push((index, *value)),
            (Some(value), None) => stretches.push(vec![(index, *value)]),
            (None, _) => {}
        }
        is_open = value.is_some();
    }
    stretches
}

/// The left and right edge of a step, and the height of its value.
fn place((index, millis): &Point, which: usize, count: usize, top: i64) -> (f64, f64, f64) {
    let width = LENGTH / count.max(1) as f64;
    let value = millis.get(which).copied().unwrap_or_default();
    let y = HEIGHT - share(value, top, HEIGHT);
    let x = *index as f64 * width;
    (short(x), short(x + width), short(y))
}

/// A stepped line: each value holds for its whole step.
fn path(stretch: &[Point], which: usize, count: usize, top: i64) -> String {
    let step = |(index, point): (usize, &Point)| {
        let (from, to, y) = place(point, which, count, top);
        let begin = if index == 0 { format!("M{from} {y}") } else { format!("V{y}") };
        format!("{begin}H{to}")
    };
    stretch.iter().enumerate().map(step).collect()
}

/// The area between the lines of p50 and p95: forward along one line, back along the other.
fn area(stretch: &[Point], count: usize, top: i64) -> String {
    let back = stretch.iter().rev().map(|point| {
        let (from, _, y) = place(point, 1, count, top);
        format!("V{y}H{from}")
    });
    format!("{}{}Z", path(stretch, 0, count, top), back.collect::<String>())
}

fn said(band: &Band) -> String {
    match band.millis {
        Some([p50, p95, p99]) => format!(
            "{}: p50 {}, p95 {}, p99 {}",
            band.name,
            duration(p50),
            duration(p95),
            duration(p99)
        ),
        None => format!("{}: nothing measured", band.name),
    }
}

fn summary(what: &str, bands: &[Band]) -> String {
    let measured = || bands.iter().filter_map(|band| band.millis);
    let worst = measured().map(|[_, p95, _]| p95).max();
    let latest = measured().next_back();
    match (latest, worst) {
        (Some([p50, p95, _]), Some(worst)) => format!(
            "{what}: lately p50 {} and p95 {}; the highest p95 is {}",
            duration(p50),
            duration(p95),
            duration(worst)
        ),
        _ => format!("{what}: nothing measured"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_a_measurement_breaks_the_line() {
        let values = [Some([1, 2, 3]), Some([1, 2, 4]), None, Some([2, 3, 4])];
        let found: Vec<Vec<usize>> = stretches(&values)
            .into_iter()
            .map(|stretch| stretch.into_iter().map(|(index, _)| index).collect())
            .collect();
        assert_eq!(found, [vec![0, 1], vec![3]]);
        assert!(stretches(&[None, None]).is_empty());
    }

    #[test]
    fn lines_go_in_steps_and_the_area_closes() {
        let stretch = [(0, [50, 80, 100]), (1, [25, 80, 100])];
        assert_eq!(path(&stretch, 0, 2, 100), "M0 50H500V75H1000");
        assert_eq!(area(&stretch, 2, 100), "M0 50H500V75H1000V20H500V20H0Z");
    }

    #[test]
    fn the_sum_names_the_latest_and_the_worst() {
        let band = |millis| Band { name: "02:00".to_owned(), href: None, millis };
        let bands = [band(Some([100, 900, 950])), band(Some([200, 400, 500])), band(None)];
        assert_eq!(
            summary("Duration", &bands),
            "Duration: lately p50 200 ms and p95 400 ms; the highest p95 is 900 ms"
        );
        assert_eq!(summary("Duration", &bands[2..]), "Duration: nothing measured");
        assert_eq!(said(&bands[2]), "02:00: nothing measured");
    }
}
