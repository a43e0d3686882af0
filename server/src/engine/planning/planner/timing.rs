use std::time::Duration;

use chrono::TimeDelta;
use entity::schedule::{CatchUp, DstGap, DstOverlap};
use timetable::{DstPolicy, Gap, misfire};

use crate::store::claims::DueSchedule;

/// The part of a schedule that the `timetable` crate needs.
pub(in crate::engine) fn definition(schedule: &DueSchedule) -> timetable::Definition {
    timetable::Definition {
        expressions: schedule.expressions.0.clone(),
        zone: schedule.zone.clone(),
        dst: DstPolicy {
            gap: match schedule.dst_gap {
                DstGap::Shift => Gap::Shift,
                DstGap::Skip => Gap::Skip,
            },
            overlap: match schedule.dst_overlap {
                DstOverlap::First => timetable::Overlap::First,
                DstOverlap::Last => timetable::Overlap::Last,
                DstOverlap::Both => timetable::Overlap::Both,
            },
        },
        anchor: schedule.anchor_at.utc(),
        start: schedule.start_at.map(|at| at.utc()),
        end: schedule.end_at.map(|at| at.utc()),
        jitter: Duration::from_millis(schedule.jitter_ms.unsigned_abs()),
        seed: schedule.id.into_bytes(),
    }
}

/// The misfire policy of a schedule.
pub(in crate::engine) fn plan_policy(schedule: &DueSchedule) -> misfire::Policy {
    misfire::Policy {
        catch_up: catch_up_of(schedule.catch_up),
        grace: TimeDelta::milliseconds(schedule.grace_ms.saturating_add(schedule.jitter_ms)),
        max: schedule.catch_up_max.unsigned_abs(),
        spacing: TimeDelta::milliseconds(schedule.catch_up_spacing_ms),
        window: TimeDelta::milliseconds(schedule.catch_up_window_ms),
    }
}

/// The catch-up policy as the `timetable` crate names it.
pub(in crate::engine) fn catch_up_of(catch_up: CatchUp) -> misfire::CatchUp {
    match catch_up {
        CatchUp::Skip => misfire::CatchUp::Skip,
        CatchUp::Latest => misfire::CatchUp::Latest,
        CatchUp::All => misfire::CatchUp::All,
    }
}
