//! Module files of simulated worlds, written as JSON, which is valid YAML.

use serde_json::{Value, json};

use super::{database::NAMESPACE, plan::Plan};

/// The name of the schedule that a module declares under this number.
pub(crate) fn name(number: usize) -> String {
    format!("m{number}")
}

/// The file of the module that declares these schedules.
pub(crate) fn file(plans: &[(usize, Plan)]) -> String {
    let schedules = plans.iter().map(|(number, plan)| (name(*number), entry(plan)));
    let schedules: serde_json::Map<String, Value> = schedules.collect();
    json!({ "module": "ops", "namespace": NAMESPACE, "schedules": schedules }).to_string()
}

fn entry(plan: &Plan) -> Value {
    let spec = plan.spec("");
    let seconds = |seconds: i64| format!("{seconds}s");
    let mut entry = json!({
        "when": spec.timing.expressions,
        "zone": spec.timing.zone,
        "dst": { "gap": spec.timing.gap, "overlap": spec.timing.overlap },
        "start": spec.timing.start_at,
        "end": spec.timing.end_at,
        "jitter": seconds(spec.timing.jitter_seconds),
        "calendars": spec.calendars,
        "max_fires": spec.max_fires,
        "misfire": {
            "catch_up": spec.misfire.catch_up,
            "grace": seconds(spec.misfire.grace_seconds),
            "max": spec.misfire.max,
            "spacing": seconds(spec.misfire.spacing_seconds),
            "window": seconds(spec.misfire.window_seconds),
        },
        "overlap": spec.overlap,
        "buffer_limit": spec.buffer_limit,
        "group": spec.group,
        "priority": spec.priority,
        "start_deadline": spec.start_deadline_seconds.map(seconds),
        "retention": spec.retention_days.map(|days| format!("{days}d")),
    });
    match plan.flow {
        Some(flow) => entry["workflow"] = json!(flow),
        None => {
            entry["task"] = json!({
                "target": { "noop": {} },
                "timeout": format!("{}ms", plan.timeout_ms),
                "kill_grace": "1s",
                "retry": {
                    "max_attempts": plan.retry.max_attempts,
                    "initial": format!("{}ms", plan.retry.initial_ms),
                },
            });
        }
    }
    entry
}
