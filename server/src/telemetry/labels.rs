use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use opentelemetry::KeyValue;
use uuid::Uuid;

/// The schedules that have their own series. If none are configured, this only costs a check of a
/// flag.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    any: AtomicBool,
    names: RwLock<HashMap<Uuid, [KeyValue; 2]>>,
}

impl Labels {
    /// Sets the schedules that have their own series, each with its id, namespace and name.
    pub(super) fn set(&self, schedules: impl IntoIterator<Item = (Uuid, String, String)>) {
        let names: HashMap<_, _> = schedules
            .into_iter()
            .map(|(id, namespace, name)| {
                (id, [KeyValue::new("namespace", namespace), KeyValue::new("schedule", name)])
            })
            .collect();
        self.0.any.store(!names.is_empty(), Ordering::Relaxed);
        *self.0.names.write().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The labels of a schedule that has its own series, together with `more`.
    pub(super) fn of<const N: usize>(
        &self,
        schedule: Option<Uuid>,
        more: &[KeyValue; N],
    ) -> Option<Vec<KeyValue>> {
        if !self.0.any.load(Ordering::Relaxed) {
            return None;
        }
        let names = self.0.names.read().unwrap_or_else(PoisonError::into_inner);
        let own = names.get(&schedule?)?;
        Some(own.iter().chain(more).cloned().collect())
    }
}
