//! Checks that are possible only at the end of a schedule's life: whether its counts add up.

use std::collections::BTreeMap;

use entity::schedule;
use sea_orm::EntityTrait;
use uuid::Uuid;

use super::{expectation::Expectations, invariants::Ended, truth::Life};

/// Checks that statements of rows about other rows are true, and that the number of fires counted
/// matches the schedule's own count.
pub(crate) async fn check(
    lives: &BTreeMap<Uuid, Life>,
    ended: &Ended,
    expected: &Expectations,
) -> Result<(), String> {
    for (schedule, life) in lives {
        for (fire, by) in &life.replaced {
            let taker = ended.fires.get(by);
            if taker.is_none_or(|taker| taker.schedule_id != *schedule) {
                let fire = &ended.fires[fire];
                return Err(format!("it gave way to a fire that is not there: {fire:?}"));
            }
        }
        for (fire, run) in &life.in_the_way {
            let run = &ended.runs[run];
            if run.cancel_requested_at.is_none() {
                let fire = &ended.fires[fire];
                return Err(format!(
                    "nobody asked {run:?} to stop, which was in the way of {fire:?}"
                ));
            }
        }
    }
    let rows = schedule::Entity::find().all(expected.store().read()).await.unwrap();
    for row in rows {
        let counted = lives.get(&row.id).map_or(0, |life| life.counted);
        if counted != row.fire_count {
            return Err(format!("{counted} of its fires counted: {row:?}"));
        }
    }
    Ok(())
}
