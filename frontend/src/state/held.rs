//! A value of any type behind a pointer.
//!
//! The compiler generates the code of signals and memos again for each type that they hold. Data of pages and lists
//! is held as this one type, so the console contains that code only once.

use std::{any::Any, sync::Arc};

/// A value of any type. It is equal only to itself.
#[derive(Clone)]
pub(crate) struct Held(Arc<dyn Any + Send + Sync>);

impl Held {
    pub(crate) fn new<T: Send + Sync + 'static>(value: Arc<T>) -> Self {
        Self(value)
    }

    /// The value as a type that the caller knows.
    pub(crate) fn get<T: Send + Sync + 'static>(self) -> Option<Arc<T>> {
        self.0.downcast().ok()
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
