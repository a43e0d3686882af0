//! The schedules list: narrowed by text, tag and state in the address, live, with the actions of daily work.
//!
//! - `filters`: the search line
//! - `row`: a schedule in a row, with its actions

mod filters;
mod row;

use leptos::prelude::*;
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_query_map},
};

use crate::{
    api::{self, Place, ScheduleQuery, use_load, use_schedule_feed},
    components::{AsyncView, Pager},
    model::ScheduleState,
    route::Route,
    state::{Rows, use_session, use_title},
};

const SIZE: i64 = 50;

/// What the address asks for.
#[derive(Clone, Debug, Default, PartialEq)]
struct Wanted {
    text: String,
    tag: String,
    state: String,
    place: Place,
}

impl Wanted {
    fn is_narrowed(&self) -> bool {
        !(self.text.is_empty() && self.tag.is_empty() && self.state.is_empty())
    }

    fn path(&self) -> String {
        let (after, before) = match &self.place {
            Place::First => (String::new(), String::new()),
            Place::After(cursor) => (cursor.clone(), String::new()),
            Place::Before(cursor) => (String::new(), cursor.clone()),
        };
        let query = [
            ("q", self.text.clone()),
            ("tag", self.tag.clone()),
            ("state", self.state.clone()),
            ("after", after),
            ("before", before),
        ];
        super::with_query(Route::Schedules, &query)
    }

    fn query(self) -> ScheduleQuery {
        let given = |text: String| (!text.is_empty()).then_some(text);
        ScheduleQuery {
            text: given(self.text),
            tag: given(self.tag),
            state: match self.state.as_str() {
                "active" => Some(ScheduleState::Active),
                "paused" => Some(ScheduleState::Paused),
                "finished" => Some(ScheduleState::Finished),
                _ => None,
            },
            place: self.place,
        }
    }
}

/// The list.
#[component]
pub(crate) fn Schedules() -> impl IntoView {
    use_title(|| "Schedules".to_owned());
    let session = use_session();
    let address = use_query_map();
    let wanted = Memo::new(move |_| {
        address.with(|query| {
            let text = |name: &str| query.get(name).unwrap_or_default();
            Wanted {
                text: text("q"),
                tag: text("tag"),
                state: text("state"),
                place: match (query.get("after"), query.get("before")) {
                    (Some(cursor), _) => Place::After(cursor),
                    (None, Some(cursor)) => Place::Before(cursor),
                    (None, None) => Place::First,
                },
            }
        })
    });
    let load = use_load(move || Some(api::schedules(wanted.get().query(), SIZE)));
    let rows = Rows::new();
    Effect::new(move |_| {
        if let Some(page) = load.data.get() {
            rows.set(page.rows);
        }
    });
    use_schedule_feed(
        None,
        move |events| {
            for (id, row) in events {
                let is_known = untrack(|| rows.ids()).contains(&id);
                match row {
                    Some(row) if is_known => rows.merge(vec![row], SIZE as usize, |_| true),
                    // Whether a new one belongs on this page, and where, is the server's to say.
                    Some(_) => load.refresh(),
                    None => rows.remove(&id),
                }
            }
        },
        move || load.reload(),
    );
    let navigate = StoredValue::new(use_navigate());
    let go = move |wanted: Wanted| {
        navigate.with_value(|navigate| navigate(&wanted.path(), NavigateOptions::default()));
    };
    let count = move || load.data.with(|page| page.as_ref().and_then(|page| page.total));
    view! {
        <header class="page-head">
            <h1>"Schedules"</h1>
            <span class="muted" role="status">{move || count().map(total_words)}</span>
            <Show when=move || session.edits()>
                <a class="button button-primary" href=Route::NewSchedule.path()>"New schedule"</a>
            </Show>
        </header>
        <filters::Filters wanted=wanted go=go/>
        <AsyncView
            load=load
            what="schedules"
            is_empty=Signal::derive(move || rows.is_empty())
            empty=move || view! { <Nothing is_narrowed=wanted.with(Wanted::is_narrowed)/> }
            let:page
        >
            <row::Table rows=rows load=load/>
            <Pager
                what="schedules"
                previous=Signal::derive(move || page.with(|page| page.previous.clone()))
                next=Signal::derive(move || page.with(|page| page.next.clone()))
                go=move |place| go(Wanted { place, ..wanted.get_untracked() })
            />
        </AsyncView>
    }
}

#[component]
fn Nothing(is_narrowed: bool) -> impl IntoView {
    if is_narrowed {
        return view! {
            <p class="empty-title">"No schedule fits"</p>
            <p>"Search for something else, or "<a href=Route::Schedules.path()>"see all schedules"</a>"."</p>
        }
        .into_any();
    }
    view! {
        <p class="empty-title">"No schedules yet"</p>
        <p>"A schedule says when something is done and what becomes of it when it cannot be."</p>
        <p><a class="button" href=Route::NewSchedule.path()>"Create the first one"</a></p>
    }
    .into_any()
}

/// The server counts to ten thousand and stops.
fn total_words(total: i64) -> String {
    match total {
        1 => "1 schedule".to_owned(),
        10_000.. => "10 000 or more schedules".to_owned(),
        _ => format!("{total} schedules"),
    }
}
