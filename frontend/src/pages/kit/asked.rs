//! A dialog about one row of a list.

use std::{marker::PhantomData, sync::Arc};

use leptos::prelude::*;

use crate::{components::Dialog, state::Held};

/// A dialog, and the row that it is about.
pub(in crate::pages) struct Asked<T> {
    pub(in crate::pages) open: RwSignal<bool>,
    subject: StoredValue<Option<Held>>,
    row: PhantomData<fn() -> T>,
}

impl<T> Clone for Asked<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Asked<T> {}

pub(in crate::pages) fn use_asked<T>() -> Asked<T> {
    Asked { open: RwSignal::new(false), subject: StoredValue::new(None), row: PhantomData }
}

impl<T: Clone + Send + Sync + 'static> Asked<T> {
    /// Returns a callback that opens the dialog for a row.
    pub(in crate::pages) fn ask(self, row: &T) -> impl Fn() + 'static + use<T> {
        let row = Held::new(Arc::new(row.clone()));
        move || {
            self.subject.set_value(Some(row.clone()));
            self.open.set(true);
        }
    }

    /// The dialog, closed until it is opened for a row.
    pub(in crate::pages) fn dialog(
        self,
        title: &'static str,
        content: impl Fn(Arc<T>) -> AnyView + Send + Sync + 'static,
    ) -> AnyView {
        let content = Arc::new(move || {
            let row = self.subject.get_value().and_then(|row| row.get::<T>());
            row.map(|row| content(row))
        });
        view! { <Dialog open=self.open title=title>{content()}</Dialog> }.into_any()
    }
}
