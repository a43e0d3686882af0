//! A process that starts under the name of another. The one that was killed is no hindrance, and a
//! restart must not wait until its heartbeat has expired; one that lives would fight for the name
//! for ever, so the newcomer refuses to start.

use std::time::Duration;

use super::process::{goes_on, own_process};
use crate::{
    clock::Clock,
    engine::{EngineError, Settings},
    store::{Store, nodes::Living},
};

/// What a newcomer does about the life that bears its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Takes its place: it is gone.
    Free,
    /// Refuses to start: it lives.
    Taken,
    /// Waits whether it beats again: nothing else can tell.
    Unclear,
}

/// How long the heartbeat of another may be late.
const MARGIN: Duration = Duration::from_millis(1_500);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(250);

fn way(namesake: &Living, own: &str, goes_on: Option<bool>, expiry: Duration) -> Way {
    let process = &namesake.node.process;
    if namesake.silence > expiry || (!process.is_empty() && process == own) {
        return Way::Free;
    }
    match goes_on {
        Some(true) => Way::Taken,
        Some(false) => Way::Free,
        None => Way::Unclear,
    }
}

/// Waits until the name is free, or says that it is not.
pub(in crate::engine) async fn make_way(
    store: &Store,
    clock: &Clock,
    settings: &Settings,
) -> Result<(), EngineError> {
    let Some(first) = namesake(store, &settings.node_name).await? else { return Ok(()) };
    let alive = goes_on(&first.node.process);
    match way(&first, &own_process(), alive, settings.heartbeat_expiry) {
        Way::Free => return Ok(()),
        Way::Taken => return Err(taken(&first)),
        Way::Unclear => {}
    }
    let wait = settings.heartbeat_interval + MARGIN;
    let name = &settings.node_name;
    tracing::info!(name, ?wait, "a node of this name was alive: waiting whether it still is");
    let began = clock.instant();
    while clock.instant().saturating_duration_since(began) < wait {
        clock.sleep(LOOK).await;
        let Some(now) = namesake(store, name).await? else { return Ok(()) };
        let has_beaten = now.node.heartbeat_at != first.node.heartbeat_at;
        if now.node.id != first.node.id || has_beaten {
            return Err(taken(&now));
        }
    }
    Ok(())
}

async fn namesake(store: &Store, name: &str) -> Result<Option<Living>, EngineError> {
    let living = store.living_nodes().await?;
    Ok(living.into_iter().find(|other| other.node.name == name))
}

fn taken(namesake: &Living) -> EngineError {
    let name = namesake.node.name.clone();
    EngineError::NameTaken {
        name,
        doing: if namesake.node.draining_at.is_some() { "is ending its runs" } else { "lives" },
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fleet::tests::member, way as way_of, *};

    const EXPIRY: Duration = Duration::from_secs(30);

    #[test]
    fn a_name_is_free_once_its_process_is_gone() {
        let mut namesake = member("a");
        namesake.node.process = "boot pid 7 100".to_owned();
        let way = |namesake: &Living, goes_on| way_of(namesake, "boot pid 8 9", goes_on, EXPIRY);
        assert_eq!(way(&namesake, Some(true)), Way::Taken);
        assert_eq!(way(&namesake, Some(false)), Way::Free);
        assert_eq!(way(&namesake, None), Way::Unclear);
        namesake.silence = Duration::from_secs(31);
        assert_eq!(way(&namesake, Some(true)), Way::Free, "frozen for longer than it may be");
    }

    #[test]
    fn an_earlier_life_in_the_same_process_is_over() {
        let mut namesake = member("a");
        namesake.node.process = "boot pid 8 9".to_owned();
        assert_eq!(way(&namesake, "boot pid 8 9", Some(true), EXPIRY), Way::Free);
    }
}
