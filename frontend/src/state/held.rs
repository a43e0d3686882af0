//! A value of any type behind a pointer.
//!
//! Signals and memos are compiled again for each type that they hold. The data of pages and lists is held as this one
//! type, so the console contains that code only once.

use std::{any::Any, sync::Arc};

/// The value; equal only to itself.
#[derive(Clone)]
pub(crate) struct Held(Arc<dyn Any + Send + Sync>);

impl Held {
    pub(crate) fn new<T: Send + Sync + 'static>(value: Arc<T>) -> Self {
        Self(value)
    }

    /// The value, for a caller that knows its type.
    pub(crate) fn get<T: Send + Sync + 'static>(self) -> Option<Arc<T>> {
        self.0.downcast().ok()
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
