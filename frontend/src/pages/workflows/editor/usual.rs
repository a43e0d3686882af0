//! The default values of a definition, which are left out of it, and how numbers are written.

use serde::Serializer;

use crate::model::TaskCondition;

pub(super) const USUAL_PARALLEL: i64 = 8;
pub(super) const USUAL_TIMEOUT: f64 = 300.0;
pub(super) const USUAL_GRACE: f64 = 10.0;
pub(super) const USUAL_REDIRECTS: i64 = 5;

pub(super) fn usual_parallel() -> i64 {
    USUAL_PARALLEL
}

pub(super) fn is_usual_parallel(count: &i64) -> bool {
    *count == USUAL_PARALLEL
}

pub(super) fn usual_condition() -> TaskCondition {
    TaskCondition::Success
}

pub(super) fn is_usual_condition(when: &TaskCondition) -> bool {
    *when == TaskCondition::Success
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

pub(super) fn usual_timeout() -> f64 {
    USUAL_TIMEOUT
}

pub(super) fn is_usual_timeout(seconds: &f64) -> bool {
    *seconds == USUAL_TIMEOUT
}

pub(super) fn usual_grace() -> f64 {
    USUAL_GRACE
}

pub(super) fn is_usual_grace(seconds: &f64) -> bool {
    *seconds == USUAL_GRACE
}

/// Serializes a whole number of seconds without a decimal point.
pub(super) fn seconds<S: Serializer>(seconds: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if seconds.fract() == 0.0 && seconds.abs() < 1e15 {
        serializer.serialize_i64(*seconds as i64)
    } else {
        serializer.serialize_f64(*seconds)
    }
}

pub(super) fn some_seconds<S: Serializer>(
    limit: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match limit {
        Some(limit) => seconds(limit, serializer),
        None => serializer.serialize_none(),
    }
}
