//! Undoes a bulk action on chosen schedules: one schedule after the other, by id.

use super::{Kind, VALUES, effect};
use crate::{
    api::{self, Ask},
    data::{self, Actor},
    model::{CatchUp, Failure},
};

/// How an action is undone: the change of each schedule, and the notice with the number of restored ones.
#[derive(Clone, Copy)]
pub(super) struct Undo {
    change: fn(String) -> Ask<String>,
    words: fn(i64) -> String,
}

pub(super) const RESTORE: Undo = Undo {
    change: |id| api::undelete_schedule(id, None, data::new_key()),
    words: |count| format!("{} restored.", Kind::Delete.count_words(count)),
};

pub(super) const RESUME: Undo = Undo {
    change: |id| api::resume_schedule(id, CatchUp::Latest, data::new_key()),
    words: |count| format!("{}.", Kind::Resume.done_words(count)),
};

/// Undoes an action on schedules, and reports for how many that succeeded.
pub(super) async fn take_back(undo: Undo, ids: Vec<String>, actor: Actor) {
    let mut back = 0;
    let mut first = None;
    for id in ids {
        match (undo.change)(id).send().await {
            Ok(_) => back += 1,
            // A schedule that was not deleted, such as one that a module declares, cannot be restored.
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    match first {
        Some(failure) if back == 0 => actor.complain(&failure),
        _ => actor.say((undo.words)(back)),
    }
}

/// The chosen schedules that are not paused yet. Undoing a pause may resume only these.
pub(super) async fn not_paused(
    namespace: &str,
    searches: &[String],
    mut chosen: Vec<String>,
) -> Result<Vec<String>, Failure> {
    for search in searches {
        let query = effect::paused_of(namespace, search);
        let paused = api::schedules(query, VALUES).send().await?;
        chosen.retain(|id| paused.rows.iter().all(|row| row.id != *id));
    }
    Ok(chosen)
}
