//! The overview.

use crate::{
    api::operations::overview,
    model::{Check, Health, Node, Overview, ScheduleRef, Tally, Upcoming},
};

impl From<overview::ResponseData> for Overview {
    fn from(data: overview::ResponseData) -> Self {
        let house = data.overview;
        Self {
            schedules: house.schedules,
            active: house.active_schedules,
            paused: house.paused_schedules,
            live_runs: house.live_runs,
            tally: Tally {
                succeeded: house.tally.succeeded,
                failed: house.tally.failed,
                running: house.tally.running,
                skipped: house.tally.skipped,
                missed: house.tally.missed,
            },
            upcoming: house
                .upcoming
                .into_iter()
                .map(|upcoming| Upcoming {
                    at: upcoming.at,
                    schedule: ScheduleRef {
                        id: upcoming.schedule.id,
                        name: upcoming.schedule.name,
                        zone: upcoming.schedule.timing.zone,
                    },
                })
                .collect(),
            failures: house.failures.into_iter().map(Into::into).collect(),
            nodes: house
                .nodes
                .into_iter()
                .map(|node| Node {
                    id: node.id,
                    name: node.name,
                    state: node.state,
                    started_at: node.started_at,
                    heartbeat_at: node.heartbeat_at,
                    runs: node.runs,
                    capacity: node.capacity,
                    version: node.version,
                })
                .collect(),
            health: data.health.into(),
        }
    }
}

impl From<overview::OverviewHealth> for Health {
    fn from(health: overview::OverviewHealth) -> Self {
        Self {
            healthy: health.healthy,
            issues: health.issues,
            version: health.version,
            database: health.database,
            zone_version: health.zone_data.version,
            zone_source: health.zone_data.source,
            checks: health
                .checks
                .into_iter()
                .map(|check| Check {
                    name: check.name,
                    healthy: check.healthy,
                    value: check.value,
                    limit: check.limit,
                })
                .collect(),
        }
    }
}
