//! Calendar feeds: upcoming runs that other programs subscribe to by URL, and badges that other pages show.

use leptos::prelude::*;

use super::{
    kit::{self, Asked, Change, KeptFields, empty, form, kept_form, none, of, use_asked},
    schedules::SEARCH_FIELDS,
    suggest,
};
use crate::{
    api::{self, settings::create_calendar_feed::CreateCalendarFeedInput},
    components::{
        AsyncView, Dialog, Field, Look, button, heading, silent_heading, table, when, when_relative,
    },
    data::{Loading, use_load},
    model::{CalendarFeed, FeedKind},
    route::{Route, Scope},
    state::use_title,
};

/// The list of feeds.
#[component]
pub(crate) fn Feeds() -> impl IntoView {
    use_title(|| "Calendar feeds".to_owned());
    let namespace = kit::use_picked();
    let feeds = use_load(|| Some(api::settings::feeds()));
    let loading = feeds.loading;
    let new = RwSignal::new(false);
    kit::open_if_asked(new, Route::Feeds, || true);
    let made = RwSignal::new(None::<String>);
    let revoke = use_asked::<CalendarFeed>();
    view! {
        <header class="page-head">
            <h1>"Calendar feeds"</h1>
            <p class="muted">"Upcoming runs, pauses and suppressed fires in your calendar program, and badges for your pages."</p>
            <div class="actions">{button(Look::Primary, None, "New feed", move || new.set(true))}</div>
        </header>
        {kit::picker("New feeds are of", namespace)}
        {kit::shown_once(made, "The address of your feed", "Copy it now: it is not shown again. Anyone who has it can read the feed.")}
        <AsyncView
            loading=loading
            what="feeds"
            is_empty=Signal::derive(move || feeds.with(Vec::is_empty).unwrap_or_default())
            empty=|| empty("No feed yet", "A feed shows what will run as a calendar (iCalendar) that other programs subscribe to. A badge shows how the last runs went, for a README or a wall display.")
        >
            {feeds.draw(move |feeds| list(feeds, revoke))}
        </AsyncView>
        <Dialog open=new title="New feed">{new_form(new, made, namespace, loading)}</Dialog>
        {revoke.dialog("Revoke feed", move |feed| revoke_form(&feed, revoke, loading))}
    }
}

fn list(feeds: &[CalendarFeed], revoke: Asked<CalendarFeed>) -> AnyView {
    let headings = vec![
        heading("Feed", ""),
        heading("Kind", "wide"),
        heading("Shows", ""),
        heading("Used", "wide"),
        heading("Created", "wide"),
        silent_heading("Actions"),
    ];
    let row = |feed: &CalendarFeed| {
        let used = feed.used_at.map_or_else(none, |at| when_relative(at, None));
        view! {
            <tr data-testid="feed-row">
                <th scope="row" class="name-cell">{feed.name.clone()}</th>
                <td class="wide">{kind_word(feed.kind)}</td>
                <td>{shows(feed)}</td>
                <td class="wide">{used}</td>
                <td class="wide">{when(feed.created_at, None)}</td>
                <td class="actions-cell"><div class="row-actions">{button(Look::Danger, None, "Revoke", revoke.ask(feed))}</div></td>
            </tr>
        }
        .into_any()
    };
    let rows: Vec<_> = feeds.iter().map(row).collect();
    table("Calendar feeds", "table", headings, rows.into_any())
}

/// What a feed shows, with a link to it.
fn shows(feed: &CalendarFeed) -> AnyView {
    let Some(namespace) = &feed.namespace else { return "nothing that you may see".into_any() };
    let schedules = |search: &str| {
        Route::Schedules.narrowed_in(&Scope::One(namespace.clone()), &[("q", search)])
    };
    let (words, href) = match (&feed.schedule_id, &feed.search) {
        (Some(id), _) => {
            (format!("one schedule of {namespace}"), Route::Schedule(id.clone()).path_at(namespace))
        }
        (None, Some(search)) => (format!("{namespace}: {search}"), schedules(search)),
        (None, None) => (format!("all of {namespace}"), schedules("")),
    };
    view! { <a href=href>{words}</a> }.into_any()
}

fn kind_word(kind: FeedKind) -> &'static str {
    match kind {
        FeedKind::Calendar => "Calendar",
        FeedKind::Badge => "Badge",
    }
}

fn new_form(
    open: RwSignal<bool>,
    made: RwSignal<Option<String>>,
    namespace: Memo<String>,
    loading: Loading,
) -> AnyView {
    let text = || RwSignal::new(String::new());
    let (name, schedule, search) = (text(), text(), text());
    let kind = RwSignal::new(kind_word(FeedKind::Calendar).to_owned());
    let wrong = RwSignal::new(None);
    let kept = KeptFields::new()
        .with("name", name)
        .with("kind", kind)
        .with("schedule", schedule)
        .with("search", search)
        .keep(&format!("feed.{}", namespace.get_untracked()));
    let fields = view! {
        {kept.note()}
        <p>"Of the namespace "<strong>{namespace.get_untracked()}</strong>", as far as you may see it when it is read."</p>
        {Field::new("feed-name", "Name", name).first().required().error(of(wrong, "name"))
            .hint("Without spaces: phone, team, nightly.").text()}
        {Field::new("feed-kind", "Kind", kind).choice(&[
            (kind_word(FeedKind::Calendar), "Calendar: what will run"),
            (kind_word(FeedKind::Badge), "Badge: how the last runs went"),
        ])}
        {Field::new("feed-schedule", "Only the schedule (optional)", schedule).picks(suggest::schedules(namespace.into()))
            .error(of(wrong, "schedule")).text()}
        {Field::new("feed-search", "Only what this finds (optional)", search).code().picks(suggest::search(&SEARCH_FIELDS))
            .error(of(wrong, "search"))
            .hint("In the search language, as in tag:billing.").text()}
    };
    let plan = move |_| {
        let given = |text: RwSignal<String>| {
            Some(text.get_untracked().trim().to_owned()).filter(|text| !text.is_empty())
        };
        let is_badge = kind.with_untracked(|kind| kind == kind_word(FeedKind::Badge));
        let input = CreateCalendarFeedInput {
            name: name.get_untracked().trim().to_owned(),
            kind: if is_badge { FeedKind::Badge } else { FeedKind::Calendar },
            namespace: namespace.get_untracked(),
            schedule: given(schedule),
            search: given(search),
            reason: None,
        };
        Ok(Change { ask: api::settings::create_feed(input), said: String::new() })
    };
    let done = move |path: String| {
        made.set(Some(format!("{}{path}", window().origin())));
        loading.reload();
    };
    kept_form(kept, open, (Look::Primary, "Create feed"), wrong, fields.into_any(), plan, done)
}

fn revoke_form(feed: &CalendarFeed, revoke: Asked<CalendarFeed>, loading: Loading) -> AnyView {
    let (id, name) = (feed.id.clone(), feed.name.clone());
    let last = feed.used_at.map_or_else(
        || view! { "It was never read." }.into_any(),
        |at| view! { "It was last read "{when_relative(at, None)}"." }.into_any(),
    );
    let fields = view! {
        <p>"The address of "<strong>{name.clone()}</strong>" stops working now. Calendars and pages that use it are no longer updated. "{last}</p>
    };
    let plan = move |_| {
        Ok(Change {
            ask: api::settings::revoke_feed(id.clone()),
            said: format!("{name} is revoked."),
        })
    };
    let done = move |_| loading.reload();
    form(revoke.open, (Look::Danger, "Revoke"), RwSignal::new(None), fields.into_any(), plan, done)
}
