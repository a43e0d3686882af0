use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use opentelemetry::metrics::Meter;

use super::window::LastMinute;
use crate::clock::Clock;

/// The executions of the last minute.
pub(super) struct MinuteRates {
    clock: Clock,
    start: Instant,
    window: Mutex<LastMinute>,
}

impl MinuteRates {
    /// Registers gauges that compute the rates on each scrape.
    pub(super) fn observed(meter: &Meter, clock: Clock) -> Arc<Self> {
        let start = clock.instant();
        let minute = Arc::new(Self { clock, start, window: Mutex::default() });
        let of = Arc::clone(&minute);
        meter
            .u64_observable_gauge("carillon.executions_per_minute")
            .with_description("Runs that ended on this node in the last minute.")
            .with_callback(move |gauge| gauge.observe(of.summary().per_minute, &[]))
            .build();
        let of = Arc::clone(&minute);
        meter
            .f64_observable_gauge("carillon.average_execution_time")
            .with_unit("s")
            .with_description("Mean duration of the runs that ended in the last minute.")
            .with_callback(move |gauge| gauge.observe(of.summary().average_seconds, &[]))
            .build();
        let of = Arc::clone(&minute);
        meter
            .f64_observable_gauge("carillon.failed_executions_rate")
            .with_description("Share of failed runs among those of the last minute, 0 to 1.")
            .with_callback(move |gauge| gauge.observe(of.summary().failed_share, &[]))
            .build();
        minute
    }

    /// Records an execution that ended.
    pub(super) fn ended(&self, took: Duration, failed: bool) {
        let second = self.second();
        self.locked().record(second, took, failed);
    }

    fn second(&self) -> u64 {
        self.clock.instant().duration_since(self.start).as_secs() + 1
    }

    fn summary(&self) -> super::window::Summary {
        self.locked().summary(self.second())
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, LastMinute> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
