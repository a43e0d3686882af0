//! Figures that are counted in the database, and their gauges.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentelemetry::{KeyValue, metrics::Meter};

use super::{BudgetSample, Sampled};

/// The check that shows whether the database answers.
const DATABASE: &str = "database";

/// The latest figures that were counted in the database. A figure that the count did not find, such
/// as that of a disabled canary, has no series, because a stale figure would be mistaken for a
/// current one. While the database is down, no figure has a series.
#[derive(Debug, Default)]
pub(super) struct FleetFigures {
    found: Mutex<FleetReading>,
}

/// The result of the last count.
#[derive(Debug, Default)]
enum FleetReading {
    /// Nothing has been counted yet.
    #[default]
    Unknown,
    /// The database did not answer.
    Nothing,
    All(Box<Sampled>),
}

impl FleetFigures {
    /// Registers gauges that read the figures on each scrape.
    pub(super) fn observed(meter: &Meter) -> Arc<Self> {
        let fleet = Arc::new(Self::default());
        fleet.count(
            meter,
            "carillon.total_schedules",
            "Schedules that are not deleted.",
            |found| found.schedules,
        );
        fleet.count(meter, "carillon.active_schedules", "Schedules that will fire.", |found| {
            found.active
        });
        fleet.count(meter, "carillon.queue_depth", "Runs that wait for a place.", |found| {
            found.queued
        });
        fleet.count(meter, "carillon.pending_handoffs", "Claimed fires without a run.", |found| {
            found.pending_handoffs
        });
        fleet.count(meter, "carillon.workers", "Registered workers.", |found| found.workers);
        fleet.count(
            meter,
            "carillon.worker_jobs_waiting",
            "Jobs that wait for a worker.",
            |found| found.jobs_waiting,
        );
        fleet.count(meter, "carillon.worker_jobs_held", "Jobs that a worker holds.", |found| {
            found.jobs_held
        });
        fleet.count(
            meter,
            "carillon.queues_without_worker",
            "Queues in which jobs have waited for a minute without a worker that may take them.",
            |found| found.queues_without_worker,
        );
        fleet.count(
            meter,
            "carillon.self_paused",
            "Schedules whose timing cannot be read, and backfills that can start nothing, which the \
             server has paused.",
            |found| found.self_paused,
        );
        fleet.count(meter, "carillon.nodes_alive", "Live nodes.", |found| found.nodes);
        fleet.count(
            meter,
            "carillon.fires_missed_last_hour",
            "Fires that were missed or abandoned in the last hour.",
            |found| found.missed,
        );
        fleet.moment(
            meter,
            "carillon.oldest_unclaimed_age",
            "How long the oldest due schedule has been waiting to be claimed.",
            |found| Some(found.oldest_unclaimed.as_secs_f64()),
        );
        fleet.moment(
            meter,
            "carillon.canary_latency",
            "From the due time to the settled run, for the canary's last success.",
            |found| found.canary.map(|canary| canary.latency.as_secs_f64()),
        );
        fleet.moment(
            meter,
            "carillon.canary_last_success_timestamp",
            "When the canary's last success was due, in seconds since 1970.",
            |found| found.canary.map(|canary| canary.due_at.timestamp_millis() as f64 / 1_000.0),
        );
        fleet.checks(meter);
        fleet.budgets(meter);
        fleet
    }

    /// Sets the result of a count; `None` if the database did not answer.
    pub(super) fn found(&self, sampled: Option<Sampled>) {
        *self.locked() =
            sampled.map_or(FleetReading::Nothing, |sampled| FleetReading::All(Box::new(sampled)));
    }

    fn count(
        self: &Arc<Self>,
        meter: &Meter,
        name: &'static str,
        text: &'static str,
        of: fn(&Sampled) -> u64,
    ) {
        let fleet = Arc::clone(self);
        let gauge = meter.u64_observable_gauge(name).with_description(text);
        gauge
            .with_callback(move |gauge| {
                if let FleetReading::All(found) = &*fleet.locked() {
                    gauge.observe(of(found), &[]);
                }
            })
            .build();
    }

    fn moment(
        self: &Arc<Self>,
        meter: &Meter,
        name: &'static str,
        text: &'static str,
        of: fn(&Sampled) -> Option<f64>,
    ) {
        let fleet = Arc::clone(self);
        let gauge = meter.f64_observable_gauge(name).with_unit("s").with_description(text);
        gauge
            .with_callback(move |gauge| {
                if let FleetReading::All(found) = &*fleet.locked()
                    && let Some(seconds) = of(found)
                {
                    gauge.observe(seconds, &[]);
                }
            })
            .build();
    }

    fn checks(self: &Arc<Self>, meter: &Meter) {
        let fleet = Arc::clone(self);
        meter
            .u64_observable_gauge("carillon.health_check")
            .with_description("Whether a check of /healthz is healthy, by check.")
            .with_callback(move |gauge| {
                let observe = |check: &'static str, healthy: bool| {
                    gauge.observe(u64::from(healthy), &[KeyValue::new("check", check)]);
                };
                match &*fleet.locked() {
                    FleetReading::Unknown => {}
                    FleetReading::Nothing => observe(DATABASE, false),
                    FleetReading::All(found) => {
                        observe(DATABASE, true);
                        found.checks.iter().for_each(|(check, healthy)| observe(check, *healthy));
                    }
                }
            })
            .build();
    }

    fn budgets(self: &Arc<Self>, meter: &Meter) {
        self.budget(
            meter,
            "carillon.budget_value",
            "What a tag has used of its budget, by figure; late is in seconds.",
            |sample| sample.value,
        );
        self.budget(
            meter,
            "carillon.budget_limit",
            "The limit of a tag's budget, by figure; late is in seconds.",
            |sample| sample.limit,
        );
    }

    fn budget(
        self: &Arc<Self>,
        meter: &Meter,
        name: &'static str,
        text: &'static str,
        of: fn(&BudgetSample) -> f64,
    ) {
        let fleet = Arc::clone(self);
        let gauge = meter.f64_observable_gauge(name).with_description(text);
        gauge
            .with_callback(move |gauge| {
                if let FleetReading::All(found) = &*fleet.locked() {
                    for sample in &found.budgets {
                        let labels = [
                            KeyValue::new("namespace", sample.namespace.clone()),
                            KeyValue::new("tag", sample.tag.clone()),
                            KeyValue::new("figure", sample.figure),
                        ];
                        gauge.observe(of(sample), &labels);
                    }
                }
            })
            .build();
    }

    fn locked(&self) -> MutexGuard<'_, FleetReading> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::DateTime;
    use opentelemetry::metrics::MeterProvider;
    use opentelemetry_sdk::metrics::SdkMeterProvider;
    use prometheus::Registry;

    use super::*;
    use crate::telemetry::{CanaryFire, exposition};

    #[test]
    fn figures_that_are_not_found_any_more_are_not_shown() {
        let registry = Registry::new();
        let exporter = opentelemetry_prometheus::exporter().with_registry(registry.clone());
        let reader = exporter.build().unwrap();
        let provider = SdkMeterProvider::builder().with_reader(reader).build();
        let fleet = FleetFigures::observed(&provider.meter("carillon"));
        let shown = || {
            let text = exposition(&registry).unwrap();
            let series = text.lines().filter(|line| line.starts_with("carillon_"));
            series.map(|line| line.replace("otel_scope_name=\"carillon\"", "")).collect::<Vec<_>>()
        };
        let has = |lines: &[String], of: &str, end: &str| {
            lines.iter().any(|line| line.contains(of) && line.ends_with(end))
        };
        assert!(shown().is_empty(), "nobody has looked");

        let canary = CanaryFire {
            due_at: DateTime::from_timestamp(60, 0).unwrap(),
            latency: Duration::from_millis(250),
        };
        let well = Sampled { schedules: 7, checks: vec![("redis", false)], ..Sampled::default() };
        let budget = BudgetSample {
            namespace: "shop".to_owned(),
            tag: "billing".to_owned(),
            figure: "late",
            value: 1.5,
            limit: 2.0,
        };
        fleet.found(Some(Sampled { budgets: vec![budget], ..well.clone() }));
        let lines = shown();
        assert!(has(&lines, "carillon_budget_value{figure=\"late\"", " 1.5"), "{lines:?}");
        assert!(has(&lines, "carillon_budget_limit{figure=\"late\"", " 2"), "{lines:?}");
        fleet.found(Some(Sampled { canary: Some(canary), ..well.clone() }));
        let lines = shown();
        assert!(has(&lines, "carillon_total_schedules", " 7"), "{lines:?}");
        assert!(has(&lines, "check=\"redis\"", " 0"), "{lines:?}");
        assert!(has(&lines, "check=\"database\"", " 1"), "{lines:?}");
        assert!(has(&lines, "carillon_canary_latency_seconds", " 0.25"), "{lines:?}");

        fleet.found(Some(Sampled { checks: vec![], ..well }));
        let lines = shown();
        assert!(has(&lines, "carillon_total_schedules", " 7"), "{lines:?}");
        assert!(!has(&lines, "redis", "") && !has(&lines, "canary", ""), "{lines:?}");

        fleet.found(None);
        let lines = shown();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(has(&lines, "check=\"database\"", " 0"), "{lines:?}");
    }
}
