//! The parts of the console's code, each loaded when the first of its pages or views is opened.
//!
//! The frame and the code that all pages share are loaded at the start. The code of pages that are used together
//! forms one part; so does the code of dialogs and other views that a page shows only on request. With the feature
//! `split`, the build moves the parts out of the WebAssembly module (`scripts/split-console`); without it, everything is
//! one module, which builds faster.

use leptos::prelude::{AnyView, Callback, Memo, RwSignal, StoredValue};

use super::{
    actions::{Action, Actions},
    bulk::{Kind, Subjects},
    deferred::Deferred,
    ledger::backfill::Backfilling,
    run::{earlier::Others, looking::Looking},
    schedule_form::{Draft, Form},
    task_form::{Place, TaskFields},
    workflows::editor::Editor,
};
use crate::{
    components::DagView,
    data::{Listing, Load},
    model::{Buffer, Fire, LedgerRow, RunDetail, SavedWorkflow, ScheduleDetail, ScheduleRow},
    route::Route,
};

/// A function that makes a view and belongs to a part, and `load`, which loads the part. Each needs a module of its
/// own, because `load` has the same name in each.
macro_rules! in_part {
    ($part:ident, fn $name:ident($($value:ident: $type:ty),*) { $view:expr }) => {
        #[cfg(feature = "split")]
        #[wasm_split_helpers::wasm_split($part, fallible, preload(load))]
        pub(super) fn $name($($value: $type),*) -> Result<AnyView, SplitLoaderError> {
            Ok($view)
        }

        #[cfg(not(feature = "split"))]
        pub(super) async fn $name($($value: $type),*) -> Result<AnyView, SplitLoaderError> {
            Ok($view)
        }

        #[cfg(not(feature = "split"))]
        pub(super) async fn load() -> Result<(), SplitLoaderError> {
            Ok(())
        }
    };
}

/// Lists the pages of each part.
macro_rules! pages {
    ($($part:ident { $($route:ident $(($value:ident))?),+ $(,)? })+) => {
        $($(
            #[expect(non_snake_case, reason = "named like the route and its component")]
            mod $route {
                use leptos::prelude::{AnyView, IntoAny, view};
                use wasm_split_helpers::SplitLoaderError;

                in_part!($part, fn $route($($value: String)?) {
                    view! { <crate::pages::$route $($value=$value)?/> }.into_any()
                });
            }
        )+)+

        /// The page of a route.
        pub(crate) fn page(route: Route) -> Deferred {
            match route {
                $($(Route::$route $(($value))? => Deferred::new(
                    || Box::pin($route::load()),
                    move || Box::pin($route::$route($($value.clone())?)),
                ),)+)+
            }
        }
    };
}

/// Lists the other views of each part: a function that defers the view, and the function that makes it. The values that
/// it takes are signals and other handles, which can be copied.
macro_rules! views {
    ($($part:ident { $($name:ident($($value:ident: $type:ty),* $(,)?) = $view:path;)+ })+) => {
        $($(
            mod $name {
                use wasm_split_helpers::SplitLoaderError;

                use super::*;

                in_part!($part, fn $name($($value: $type),*) { $view($($value),*) });
            }

            pub(super) fn $name($($value: $type),*) -> Deferred {
                Deferred::new(
                    || Box::pin($name::load()),
                    move || Box::pin($name::$name($($value),*)),
                )
            }
        )+)+
    };
}

// A page that is opened first should load little besides its own code, so large pages are parts of their own. What two
// parts share is in the files of both (scripts/console.py), so small pages that are used together are one part.
pages! {
    overview { Overview }
    schedules { Schedules }
    runs { Runs }
    timeline { Timeline }
    ledger { Ledger }
    audit { Audit }
    schedule { Schedule(id) }
    run { Run(id) }
    upcoming { Upcoming }
    what_if { WhatIf }
    backfills { Backfills, NewBackfill, Backfill(id) }
    calendars { Calendars, NewCalendar, EditCalendar(id) }
    maintenance { Maintenance, NewMaintenance, MaintenanceWindow(id), EditMaintenance(id) }
    form { NewSchedule }
    edit { EditSchedule(id) }
    workflows { Workflows, Workflow(id), Groups }
    new_workflow { NewWorkflow }
    edit_workflow { EditWorkflow(id) }
    modules { Modules, DeployModule, Module(name) }
    alerts { Alerts }
    alert_rules { AlertRules, NewAlertRule, EditAlertRule(id) }
    metrics { Metrics }
    cluster { Cluster, Health }
    people { People, Namespaces }
    secrets { Secrets }
    profile { Profile, Tokens, Feeds }
}

// What is not seen when its page is first drawn. The names of its parts begin with `on_demand`, by which
// scripts/console.py tells them from those of pages.
views! {
    on_demand_door {
        sign_in() = crate::pages::sign_in::content;
        choose_password() = crate::pages::choose_password::content;
    }
    on_demand_schedules {
        deleted_schedules() = crate::pages::schedules::deleted::content;
        schedule_groups(schedules: Listing<ScheduleRow>) = crate::pages::schedules::groups::list;
    }
    on_demand_schedule_actions {
        schedule_action(actions: Actions, action: Action) = crate::pages::actions::dialogs::content;
    }
    on_demand_schedule_tabs {
        schedule_runs(
            id: StoredValue<String>,
            load: Load<ScheduleDetail>,
        ) = crate::pages::schedule::runs::tab;
        schedule_next(
            id: StoredValue<String>,
            load: Load<ScheduleDetail>,
        ) = crate::pages::schedule::next::next;
        schedule_definition(load: Load<ScheduleDetail>) = crate::pages::schedule::definition::definition;
        schedule_versions(
            load: Load<ScheduleDetail>,
            actions: Actions,
        ) = crate::pages::schedule::versions::versions;
        schedule_audit(id: StoredValue<String>) = crate::pages::schedule::audit::tab;
    }
    on_demand_fires {
        paused_fires(
            id: StoredValue<String>,
            load: Load<ScheduleDetail>,
        ) = crate::pages::schedule::paused::paused;
        buffered_fires(
            id: StoredValue<String>,
            buffer: Load<Buffer>,
            zone: Memo<Option<String>>,
        ) = crate::pages::schedule::buffer::waiting;
        explained_fire(
            shown: Memo<Option<Fire>>,
            zone: Memo<Option<String>>,
            load: Load<ScheduleDetail>,
        ) = crate::pages::schedule::activity::explained;
        explained_row(meant: RwSignal<Option<LedgerRow>>) = crate::pages::ledger::row::explained;
        backfill_question(backfilling: Backfilling) = crate::pages::ledger::backfill::question;
    }
    on_demand_run {
        run_comparison(
            id: StoredValue<String>,
            run: Load<RunDetail>,
            others: Others,
            looking: Looking,
        ) = crate::pages::run::comparison::comparison;
        run_graph(run: Load<RunDetail>, looking: Looking, look: DagView) = crate::pages::run::work::graph;
    }
    on_demand_bulk {
        bulk_action(
            open: RwSignal<bool>,
            kind: Kind,
            which: Callback<(), Vec<String>>,
            subjects: Subjects,
        ) = crate::pages::bulk::dialog::content;
    }
    on_demand_targets {
        worker_fields(fields: TaskFields, place: Place) = crate::pages::task_form::sections::worker;
        event_fields(fields: TaskFields, place: Place) = crate::pages::task_form::event_sections::publish;
    }
    on_demand_form {
        saved_form(form: Form) = crate::pages::schedule_form::saving::saver;
        called_target(
            form: Form,
            schedule: StoredValue<Option<String>>,
            asked: RwSignal<u32>,
        ) = crate::pages::schedule_form::trial::called;
        module_file(draft: Draft) = crate::pages::schedule_form::yaml::file_view;
    }
    on_demand_workflow {
        workflow_text(editor: Editor) = crate::pages::workflows::editor::text_view::tab;
        saved_workflow(editor: Editor) = crate::pages::workflows::editor::saving::saver;
        workflow_warnings(
            saved: RwSignal<Option<SavedWorkflow>>,
        ) = crate::pages::workflows::editor::saving::warnings;
    }
    edit {
        copied_schedule(
            from: StoredValue<String>,
            fill: Callback<Draft, AnyView>,
        ) = crate::pages::schedule_form::copied;
    }
}
