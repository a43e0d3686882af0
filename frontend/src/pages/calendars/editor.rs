//! The editor of one calendar.

use leptos::{ev::SubmitEvent, prelude::*};

use super::{
    super::{
        NotFound,
        kit::{self, KeptForm, Wrong, empty, of},
    },
    draft::{Draft, Entries},
    effect, year,
};
use crate::{
    api,
    components::{AsyncView, Field, is_id, live, panel},
    data::{Load, use_actor, use_load, use_once},
    model::{Calendar, CalendarUser, Weekday},
    route::{Route, Scope},
    state::{use_address, use_session, use_title},
    time::grouped,
};

/// The page of a new calendar.
#[component]
pub(crate) fn NewCalendar() -> impl IntoView {
    use_title(|| "New calendar".to_owned());
    view! { <header class="page-head"><h1>"New calendar"</h1></header>{editor(None)} }
}

/// The page of an existing calendar. A malformed id is not sent to the server.
#[component]
pub(crate) fn EditCalendar(id: String) -> impl IntoView {
    if is_id(&id) { view! { <Known id=id/> }.into_any() } else { view! { <NotFound/> }.into_any() }
}

#[component]
fn Known(id: String) -> impl IntoView {
    use_title(|| "Calendar".to_owned());
    let namespace = kit::use_namespace();
    let found = use_load(move || Some(api::planning::calendar(id.clone())));
    let calendar = Memo::new(move |before: Option<&Option<Calendar>>| {
        // The rights and the effect on schedules are those of the address's namespace.
        let here =
            |calendar: &Calendar| (calendar.namespace == namespace.get()).then(|| calendar.clone());
        before.cloned().flatten().or_else(|| found.with(here).flatten())
    });
    let form = move || {
        match calendar.get() {
        Some(calendar) => {
            let name = calendar.name.clone();
            view! { <header class="page-head"><h1>{name}</h1></header>{editor(Some(calendar))} }.into_any()
        }
        None => view! { <div class="empty">{empty("No such calendar", "It may have been deleted or renamed.")}</div> }.into_any(),
    }
    };
    view! { <AsyncView loading=found.loading what="the calendar">{live(form)}</AsyncView> }
}

fn editor(calendar: Option<Calendar>) -> AnyView {
    let namespace = kit::use_namespace();
    let draft = calendar.as_ref().map_or_else(Draft::new, Draft::of);
    let wrong: Wrong = RwSignal::new(None);
    let entries = Memo::new(move |_| draft.read().ok());
    let (actor, address, once) = (use_actor(), use_address(), use_once());
    let busy = RwSignal::new(false);
    let declared = calendar.as_ref().and_then(|calendar| calendar.module.clone());
    let edits = declared.is_none() && untrack(|| use_session().edits());
    let year = year::use_year(edits);
    let identity = calendar.as_ref().map(|calendar| (calendar.id.clone(), calendar.version));
    let kept = edits.then(|| draft.kept().keep(&draft_key(identity.as_ref(), namespace)));
    let action = if calendar.is_some() { "Save changes" } else { "Create calendar" };
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        wrong.set(None);
        let read = match untrack(|| draft.read()) {
            Ok(read) => read,
            Err(failure) => return wrong.set(Some(failure)),
        };
        busy.set(true);
        let said = format!("{} is saved.", read.name);
        let ask = match identity.clone() {
            Some((id, version)) => api::planning::update_calendar(read.into_change(id, version)),
            None => {
                let input = read.into_new(namespace.get_untracked());
                api::planning::create_calendar(input, once.key())
            }
        };
        let sent = kept.map(KeptForm::sent);
        actor.send(ask, move |outcome| {
            once.heard(&outcome);
            let is_left = busy.try_set(false).is_some();
            match outcome {
                Ok(_) => {
                    if let Some(sent) = sent {
                        sent.forget();
                    }
                    actor.say(said);
                    if !is_left {
                        address.go(&Route::Calendars.path());
                    }
                }
                Err(failure) => kit::refuse(wrong, actor, failure),
            }
        });
    };
    let foot = if edits {
        view! {
            <div role="alert">{move || kit::general_error(wrong)}</div>
            <p class="form-foot">
                <button type="submit" class="button button-primary" aria-disabled=move || busy.get().to_string()>{action}</button>
                <a class="button" href=Route::Calendars.path()>"Cancel"</a>
            </p>
        }
        .into_any()
    } else {
        let words = declared.map_or_else(
            || "Only editors can change calendars.".to_owned(),
            |module| format!("The module {module} declares this calendar: change it in its file."),
        );
        view! { <p class="muted">{words}</p> }.into_any()
    };
    view! {
        {kept.map(KeptForm::note)}
        <div class="form-grid">
            <form class="form-main" on:submit=submit novalidate>
                {days(draft, wrong, year::view(year, draft, entries))}
                {ranges_and_hours(draft, wrong)}
                {foot}
            </form>
            <div class="form-side">{calendar.map(|calendar| side(&calendar, entries, namespace, edits))}</div>
        </div>
    }
    .into_any()
}

/// The key of the draft: an existing calendar has one for each version, a new one for each namespace.
fn draft_key(identity: Option<&(String, i64)>, namespace: Memo<String>) -> String {
    match identity {
        Some((id, version)) => format!("calendar.{id}.{version}"),
        None => format!("calendar.new.{}", namespace.get_untracked()),
    }
}

/// The fields for the name, the mode and the days: those of a `year` that are clicked, and those of
/// every week.
fn days(draft: Draft, wrong: Wrong, year: AnyView) -> AnyView {
    view! {
        <fieldset class="panel form-section">
            <legend>"Days"</legend>
            <div class="field-grid">
                {Field::new("name", "Name", draft.name).required().first().error(of(wrong, "name")).text()}
                {Field::new("mode", "It", draft.mode).error(of(wrong, "mode")).choice(&[
                    ("exclude", "suppresses what it names"),
                    ("only", "allows only its entries"),
                ])}
            </div>
            {year}
            {weekdays(draft)}
        </fieldset>
    }
    .into_any()
}

fn ranges_and_hours(draft: Draft, wrong: Wrong) -> AnyView {
    view! {
        <fieldset class="panel form-section">
            <legend>"Ranges and hours"</legend>
            {Field::new("ranges", "Ranges, one per line", draft.ranges).code().error(of(wrong, "ranges"))
                .hint("2026-07-01 to 2026-07-31, or 2026-12-20T18:00 to 2027-01-02T08:00").area(3)}
            {Field::new("windows", "Hours of the day, one per line", draft.windows).code().error(of(wrong, "windows"))
                .hint("09:00 to 17:00 on Mon Tue Wed Thu Fri. Without days: every day.").area(3)}
        </fieldset>
    }
    .into_any()
}

fn weekdays(draft: Draft) -> AnyView {
    let day = |day: Weekday| {
        kit::switch(format!("weekday-{}", day.word()), day.word().to_owned(), draft.weekdays, day)
    };
    let days: Vec<_> = Weekday::WEEK.into_iter().map(day).collect();
    view! { <div class="switch-set" role="group" aria-label="Every week on">{days}</div> }
        .into_any()
}

fn side(
    calendar: &Calendar,
    entries: Memo<Option<Entries>>,
    namespace: Memo<String>,
    edits: bool,
) -> AnyView {
    let (home, name) = (calendar.namespace.clone(), calendar.name.clone());
    let users = use_load(move || Some(api::planning::calendar_users(home.clone(), name.clone())));
    let effect = edits.then(|| {
        let (plan, is_changed) = effect::use_effect(entries, calendar.name.clone(), namespace);
        effect::view(plan, is_changed)
    });
    view! { {effect}{used_by(users, calendar)} }.into_any()
}

fn used_by(users: Load<Vec<CalendarUser>>, calendar: &Calendar) -> AnyView {
    let count = calendar.schedules;
    let search = format!("calendar:\"{}\"", calendar.name);
    let all =
        Route::Schedules.narrowed_in(&Scope::One(calendar.namespace.clone()), &[("q", &search)]);
    let list = move || {
        let users = users.get().unwrap_or_default();
        if users.is_empty() {
            return view! { <p class="muted">"No schedule uses it yet: select it in a schedule's form."</p> }.into_any();
        }
        let more = count.saturating_sub(i64::try_from(users.len()).unwrap_or(i64::MAX));
        let more = (more > 0).then(|| {
            let words = format!("and {} more", grouped(more));
            view! { <li><a href=all.clone()>{words}</a></li> }.into_any()
        });
        let one = |user: &CalendarUser| {
            let href = Route::Schedule(user.id.clone()).path();
            let (name, zone) = (user.name.clone(), user.timing.zone.clone());
            view! { <li><a href=href>{name}</a>" "<span class="muted">{zone}</span></li> }
                .into_any()
        };
        view! { <ul class="plain-list">{users.iter().map(one).collect::<Vec<_>>()}{more}</ul> }
            .into_any()
    };
    let content = view! {
        <AsyncView loading=users.loading what="the schedules that use it">{live(list.clone())}</AsyncView>
    };
    let number = (count > 0).then(|| view! { <span class="muted">{grouped(count)}</span> });
    panel("Used by", number, content.into_any())
}
