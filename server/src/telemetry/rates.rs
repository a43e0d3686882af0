use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use opentelemetry::metrics::Meter;

use super::window::Window;
use crate::clock::Clock;

/// The executions of the last minute.
pub(super) struct Minute {
    clock: Clock,
    start: Instant,
    window: Mutex<Window>,
}

impl Minute {
    /// Whose rates are computed when they are read.
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
            .with_description("Their mean time from start to end.")
            .with_callback(move |gauge| gauge.observe(of.summary().average_seconds, &[]))
            .build();
        let of = Arc::clone(&minute);
        meter
            .f64_observable_gauge("carillon.failed_executions_rate")
            .with_description("The share of them that ended badly, 0 to 1.")
            .with_callback(move |gauge| gauge.observe(of.summary().failed_share, &[]))
            .build();
        minute
    }

    /// An execution ended.
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

    fn locked(&self) -> std::sync::MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
