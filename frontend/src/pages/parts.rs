//! The parts of the console's code, each loaded when the first of its pages is opened.
//!
//! The frame and the code that all pages share are loaded at the start. The code of pages that are used together
//! forms one part. With the feature `split`, the build moves the parts out of the WebAssembly module
//! (`scripts/split-console`); without it, everything is one module, which builds faster.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use leptos::prelude::AnyView;
use wasm_split_helpers::SplitLoaderError;

use crate::route::Route;

type Loading<T> = Pin<Box<dyn Future<Output = Result<T, SplitLoaderError>>>>;

/// A page whose code may still have to be loaded.
pub(crate) struct Page {
    load: fn() -> Loading<()>,
    view: Box<dyn FnOnce() -> Loading<AnyView>>,
}

impl Page {
    /// Loads the code; completes at once if the code is already loaded.
    pub(crate) fn load(&self) -> Loading<()> {
        (self.load)()
    }

    /// The page, or `None` while its code is not loaded.
    pub(crate) fn view(self) -> Option<AnyView> {
        let mut view = pin!((self.view)());
        match view.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(view) => view.ok(),
            Poll::Pending => None,
        }
    }
}

/// Lists the pages of each part. Each page becomes a function in its own module, because the generated function that
/// loads it has the same name in each module.
macro_rules! parts {
    ($($part:ident { $($route:ident $(($value:ident))?),+ $(,)? })+) => {
        $($(
            #[expect(non_snake_case, reason = "named like the route and its component")]
            mod $route {
                use leptos::prelude::{AnyView, IntoAny, view};
                use wasm_split_helpers::SplitLoaderError;

                #[cfg(feature = "split")]
                #[wasm_split_helpers::wasm_split($part, fallible, preload(load))]
                pub(super) fn $route($($value: String)?) -> Result<AnyView, SplitLoaderError> {
                    Ok(view! { <crate::pages::$route $($value=$value)?/> }.into_any())
                }

                #[cfg(not(feature = "split"))]
                pub(super) async fn $route($($value: String)?) -> Result<AnyView, SplitLoaderError> {
                    Ok(view! { <crate::pages::$route $($value=$value)?/> }.into_any())
                }

                #[cfg(not(feature = "split"))]
                pub(super) async fn load() -> Result<(), SplitLoaderError> {
                    Ok(())
                }
            }
        )+)+

        impl Page {
            pub(crate) fn of(route: Route) -> Self {
                match route {
                    $($(Route::$route $(($value))? => Self {
                        load: || Box::pin($route::load()),
                        view: Box::new(move || Box::pin($route::$route($($value)?))),
                    },)+)+
                }
            }
        }
    };
}

// A page that is opened first should load little besides its own code, so large pages are parts of their own. What two
// parts share is in the files of both (scripts/console.py), so small pages that are used together are one part.
parts! {
    overview { Overview }
    schedules { Schedules }
    runs { Runs }
    ledger { Ledger }
    audit { Audit }
    schedule { Schedule(id) }
    run { Run(id) }
    upcoming { Upcoming }
    plan { Backfills, NewBackfill, Backfill(id), Calendars, NewCalendar, EditCalendar(id) }
    form { NewSchedule, EditSchedule(id) }
    build { NewWorkflow, EditWorkflow(id), Workflows, Workflow(id), Groups, Modules, DeployModule, Module(name) }
    alerts { Alerts, AlertRules, NewAlertRule, EditAlertRule(id) }
    operate { Metrics, Cluster, Health }
    settings { Profile, People, Tokens, Secrets, Namespaces, Feeds }
}
