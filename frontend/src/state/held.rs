//! A value of any type behind a pointer.
//!
//! Signals and memos are compiled anew for each type that they hold. What pages load and lists show they hold as this one
//! type, so the console has that machinery once.

use std::{any::Any, sync::Arc};

/// The value; equal to itself alone.
#[derive(Clone)]
pub(crate) struct Held(Arc<dyn Any + Send + Sync>);

impl Held {
    pub(crate) fn new<T: Send + Sync + 'static>(value: Arc<T>) -> Self {
        Self(value)
    }

    /// The value, for who knows its type.
    pub(crate) fn get<T: Send + Sync + 'static>(self) -> Option<Arc<T>> {
        self.0.downcast().ok()
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
