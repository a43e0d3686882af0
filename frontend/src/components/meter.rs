//! How long a run has taken, compared with its schedule's usual duration.

use leptos::prelude::*;

use crate::model::RunForecast;

/// The meter of a live run; it is full at the 95th percentile.
pub(crate) fn meter(elapsed: i64, forecast: &RunForecast) -> AnyView {
    let (width, state) = filled(elapsed, forecast);
    let name = if state == "missed" { "Longer than usual" } else { "Within what is usual" };
    view! {
        <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=name>
            <rect class="meter-ground" x="0" y="0" width="100" height="6"/>
            <rect class="chart-part" data-state=state x="0" y="0" width=width height="6"/>
        </svg>
    }
    .into_any()
}

fn filled(elapsed: i64, forecast: &RunForecast) -> (i64, &'static str) {
    let width = (elapsed * 100 / forecast.p95_ms.max(1)).clamp(1, 100);
    (width, if forecast.is_slow(elapsed) { "missed" } else { "running" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meter_of_a_slow_run_is_full_and_says_so() {
        let usual = RunForecast {
            usual_ms: 1_000,
            p95_ms: 4_000,
            likely_end_at: None,
            next_fire_at: None,
            overlaps_next_fire: false,
        };
        assert_eq!(filled(1_000, &usual), (25, "running"));
        assert_eq!(filled(0, &usual), (1, "running"));
        assert_eq!(filled(9_000, &usual), (100, "missed"));
    }
}
