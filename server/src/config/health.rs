use std::collections::BTreeMap;

use serde::Deserialize;

use super::Span;

/// The thresholds beyond which `/healthz` reports unhealthy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Health {
    /// Unhealthy with more missed fires than this in the last hour.
    pub missed: u64,
    /// Unhealthy if more runs than this failed in the last hour. If absent, failed runs do not
    /// count.
    pub failed: Option<u64>,
    /// Unhealthy if more runs than this are stalled.
    pub stalled: u64,
    /// Unhealthy if more claimed fires than this have no run.
    pub pending_handoffs: u64,
    /// Unhealthy if a schedule has been due for longer than this without being claimed, because
    /// then no scheduler is running, whatever the heartbeats say.
    pub unclaimed: Span,
    /// Unhealthy if the canary's last success was due longer ago than this.
    pub canary: Span,
    /// Unhealthy if runs have waited for longer than this while all places of a node, or the share
    /// of one target origin or schedule, were taken.
    pub saturated: Span,
    /// Different thresholds for single namespaces, by name.
    pub namespaces: BTreeMap<String, HealthLimits>,
    /// Different thresholds for single tags; they take precedence over the namespace's.
    pub tags: BTreeMap<String, HealthLimits>,
}

/// Thresholds of a namespace or of a tag; absent ones use the general thresholds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthLimits {
    /// See [`Health`] for all of these.
    pub missed: Option<u64>,
    #[expect(missing_docs, reason = "Health says it")]
    pub failed: Option<u64>,
    #[expect(missing_docs, reason = "Health says it")]
    pub stalled: Option<u64>,
    #[expect(missing_docs, reason = "Health says it")]
    pub pending_handoffs: Option<u64>,
    #[expect(missing_docs, reason = "Health says it")]
    pub unclaimed: Option<Span>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            missed: 10,
            failed: None,
            stalled: 5,
            pending_handoffs: 1_000,
            unclaimed: Span::seconds(60),
            canary: Span::seconds(180),
            saturated: Span::seconds(60),
            namespaces: BTreeMap::new(),
            tags: BTreeMap::new(),
        }
    }
}

impl Health {
    /// The thresholds for a query.
    pub fn within(&self, namespace: Option<&str>, tag: Option<&str>) -> Self {
        let of_namespace = namespace.and_then(|name| self.namespaces.get(name));
        let of_tag = tag.and_then(|tag| self.tags.get(tag));
        let mut within = self.clone();
        for limits in of_namespace.into_iter().chain(of_tag) {
            within.missed = limits.missed.unwrap_or(within.missed);
            within.failed = limits.failed.or(within.failed);
            within.stalled = limits.stalled.unwrap_or(within.stalled);
            within.pending_handoffs = limits.pending_handoffs.unwrap_or(within.pending_handoffs);
            within.unclaimed = limits.unclaimed.unwrap_or(within.unclaimed);
        }
        within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_tag_override_those_of_its_namespace_and_of_the_server() {
        let limits = |missed, stalled| HealthLimits { missed, stalled, ..HealthLimits::default() };
        let health = Health {
            namespaces: [("shop".to_owned(), limits(Some(3), Some(2)))].into(),
            tags: [("billing".to_owned(), limits(Some(0), None))].into(),
            ..Health::default()
        };
        let of = |namespace, tag| {
            let within = health.within(namespace, tag);
            (within.missed, within.stalled)
        };
        assert_eq!(of(None, None), (10, 5));
        assert_eq!(of(Some("shop"), Some("other")), (3, 2));
        assert_eq!(of(Some("shop"), Some("billing")), (0, 2));
        assert_eq!(of(None, Some("billing")), (0, 5));
    }
}
