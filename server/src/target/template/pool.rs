//! Runs rendering on the blocking pool, away from the event loop. A deadline and a limit per
//! namespace keep any namespace from occupying all threads.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::filling::{self, TemplateNames};
use crate::{bulkhead::Bulkhead, clock::Clock, target::Target};

/// Maximum number of targets that are rendered at the same time on one node. The runtime has many
/// more blocking threads, which look up names and read files as well.
const MAX_AT_ONCE: usize = 64;

/// Maximum number of targets of one namespace that are rendered at the same time on one node.
const MAX_OF_NAMESPACE: usize = 2;

/// Maximum time for rendering one target, including the wait for its turn. A shorter timeout of the
/// task takes precedence.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Why a target was not rendered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFailure {
    /// A template cannot be rendered.
    #[error("{0}")]
    Refused(String),
    /// Rendering took longer than the deadline.
    #[error("filling in its templates took longer than {} ms", .0.as_millis())]
    TooLong(Duration),
    /// The rendering thread panicked.
    #[error("rendering its templates panicked; this is a bug in Carillon, please report it")]
    Defect,
}

/// The places for rendering.
#[derive(Debug)]
pub(in crate::target) struct TemplatePool {
    places: Bulkhead<String>,
}

impl Default for TemplatePool {
    fn default() -> Self {
        Self { places: Bulkhead::new(MAX_AT_ONCE, MAX_OF_NAMESPACE) }
    }
}

/// Stops the work when its caller is gone.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl TemplatePool {
    /// The target with its templates rendered, within the invocation's timeout.
    pub(in crate::target) async fn fill_in(
        &self,
        clock: &Clock,
        target: &Target,
        names: &TemplateNames<'_>,
    ) -> Result<Target, TemplateFailure> {
        let limit = names.invocation.timeout.min(MAX_TIME);
        let work = self.work(target, names);
        clock.timeout(limit, work).await.unwrap_or(Err(TemplateFailure::TooLong(limit)))
    }

    async fn work(
        &self,
        target: &Target,
        names: &TemplateNames<'_>,
    ) -> Result<Target, TemplateFailure> {
        let place = self.places.enter(names.invocation.namespace.clone()).await;
        let stop = Stop(Arc::default());
        let (target, names, stopped) = (target.clone(), names.json(), Arc::clone(&stop.0));
        let filled = tokio::task::spawn_blocking(move || {
            // Held until the thread is free again, even if the caller is gone.
            let _place = place;
            filling::filled_in(target, names, stopped)
        });
        let filled = filled.await.map_err(|_| TemplateFailure::Defect)?;
        filled.map_err(|error| TemplateFailure::Refused(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::target::{Http, Invocation, SecretText};

    fn invocation(namespace: &str, timeout: Duration) -> Invocation {
        Invocation {
            run_id: uuid::Uuid::nil(),
            attempt: 1,
            task: "load".to_owned(),
            namespace: namespace.to_owned(),
            namespace_id: uuid::Uuid::nil(),
            priority: 0,
            schedule: None,
            schedule_id: None,
            schedule_version: None,
            scheduled_at: None,
            idempotency_key: "k".to_owned(),
            traceparent: None,
            context: json!({}),
            timeout,
            kill_grace: Duration::ZERO,
        }
    }

    #[tokio::test]
    async fn filling_in_ends_with_the_timeout_and_takes_the_places_of_its_namespace_alone() {
        let (pool, clock) = (TemplatePool::default(), Clock::system());
        let mut http = Http::post("https://example.org/");
        http.headers.insert("X".to_owned(), SecretText::new("{{ task }}"));
        let target = Target::Http(http);
        let fill = async |namespace: &str, timeout| {
            let invocation = invocation(namespace, timeout);
            let names = TemplateNames {
                invocation: &invocation,
                scheduled_at: chrono::DateTime::UNIX_EPOCH,
                previous_fire: None,
                tasks: &json!({}),
                secrets: &std::collections::BTreeMap::new(),
            };
            pool.fill_in(&clock, &target, &names).await
        };
        let enter = || pool.places.try_enter("busy".to_owned());
        let _held = [(); MAX_OF_NAMESPACE].map(|()| enter().unwrap());
        let short = Duration::from_millis(20);
        assert_eq!(fill("busy", short).await, Err(TemplateFailure::TooLong(short)));
        let Ok(Target::Http(filled)) = fill("other", Duration::from_mins(1)).await else {
            panic!("not filled in")
        };
        assert_eq!(filled.headers["X"].expose(), "load");
    }
}
