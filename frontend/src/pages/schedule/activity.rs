//! The ledger of a schedule: one row for every expected fire, with its outcome and the reason. One of the rows is
//! explained in detail.

use leptos::prelude::*;

use super::{
    PART, buffer,
    explain::explain,
    filter_links,
    rules::rules,
    slots::slots,
    strips::{Strips, range},
};
use crate::{
    api::{self, FireQuery},
    components::{
        AsyncView, Column, Look, Mark, RowName, Table, badge, button, empty, fire_history,
        fire_mark, live, pager, reason_text, when,
    },
    data::{Feed, Load, use_feed, use_listing},
    model::{Fire, Page, ScheduleDetail, ScheduleState, Verdict},
    pages::{cursors, deferred, parts, place},
    route::Route,
    state::{Address, use_address},
    time::{Moment, amount, duration, local_words},
};

const SIZE: usize = 40;

/// The filter's choices: its name in the address, its words, its verdicts.
const FILTERS: [(&str, &str, &[Verdict]); 5] = [
    ("", "All", &[]),
    ("ran", "Ran", &[Verdict::Started]),
    ("skipped", "Skipped", &[Verdict::Skipped]),
    ("missed", "Missed", &[Verdict::Missed, Verdict::Collapsed, Verdict::Abandoned]),
    ("open", "Open", &[Verdict::Pending]),
];

/// The name and verdicts of the filter that the address names; tracked.
fn filter(address: Address) -> (&'static str, &'static [Verdict]) {
    let name = address.query("verdict");
    let found = FILTERS.into_iter().find(|(known, ..)| *known == name);
    found.map_or(("", &[]), |(name, _, verdicts)| (name, verdicts))
}

/// The range of the ledger, if the address holds one, with a button that removes it.
fn range_note(address: Address, zone: Memo<Option<String>>) -> AnyView {
    let all = move || {
        let none = ["from", "until", "after", "before"].map(|name| (name, ""));
        address.replace(&address.with(&none));
    };
    live(move || {
        let [from, until] = range(address).map(|at| at.map(|at| when(at, zone.get())));
        if from.is_none() && until.is_none() {
            return ().into_any();
        }
        let from = from.map(|at| view! { " from "{at} }.into_any());
        let until = until.map(|at| view! { " until "{at} }.into_any());
        view! {
            <p class="panel-note" data-testid="ledger-range">
                "Only fires"{from}{until}". "{button(Look::Plain, None, "All days", all)}
            </p>
        }
        .into_any()
    })
}

/// A link to the fires of this schedule in the ledger of all, which has totals and more filters.
fn in_ledger(load: Load<ScheduleDetail>) -> AnyView {
    let name = Memo::new(move |_| load.with(|schedule| schedule.row.name.clone()));
    live(move || {
        let Some(name) = name.get() else { return ().into_any() };
        let query = format!("schedule:\"{}\"", name.replace(['"', '\\'], ""));
        let href = Route::Ledger.narrowed(&[("q", &query)]);
        view! { <a class="query-view" href=href>"All its fires in the ledger"</a> }.into_any()
    })
}

/// The last fires as a row of marks, the oldest first.
fn pulse(fires: Load<Page<Fire>>) -> AnyView {
    fires.draw(|page| {
        if page.rows.is_empty() {
            return ().into_any();
        }
        let fires: Vec<_> = page.rows.iter().rev().cloned().collect();
        let marks: Vec<_> = fires.iter().map(|fire| mark(fire)).collect();
        fire_history(&marks, move |at| {
            let fire = fires.get(at)?;
            Some(format!("{}: {}", local(fire), fire.reason.text))
        })
    })
}

/// The tab with the ledger.
#[component]
pub(super) fn Activity(schedule: String, load: Load<ScheduleDetail>) -> impl IntoView {
    let address = use_address();
    let (id, key) = (schedule.clone(), StoredValue::new(schedule.clone()));
    let (slots_id, strips_id) = (schedule.clone(), schedule.clone());
    let fires = use_listing(SIZE, move || {
        let ((_, verdicts), [from, until]) = (filter(address), range(address));
        let (schedule, verdicts) = (id.clone(), verdicts.to_vec());
        api::fires(FireQuery { schedule, verdicts, from, until, place: place(address) }, SIZE)
    });
    let buffer = buffer::use_buffer(schedule.clone(), load);
    let refresh = move || {
        fires.load.loading.refresh();
        buffer.loading.refresh();
    };
    let of_feed = schedule.clone();
    use_feed(
        move || Feed::schedules(address.namespace(), Some(vec![of_feed.clone()])),
        move |_| refresh(),
        refresh,
    );
    use_feed(
        move || Feed::runs(address.namespace(), Some(schedule.clone()), None),
        move |_| refresh(),
        refresh,
    );
    let zone = Memo::new(move |_| load.with(|schedule| schedule.row.timing.zone.clone()));
    let (open, meant) = (RwSignal::new(false), RwSignal::new(None::<Fire>));
    // The row may change while it is explained, and may leave the page.
    let shown = Memo::new(move |_| {
        let asked = meant.get()?;
        let row = |page: &Page<Fire>| {
            page.rows.iter().find(|fire| fire.id == asked.id).map(|fire| Fire::clone(fire))
        };
        Some(fires.load.with(row).flatten().unwrap_or(asked))
    });
    let table = move || {
        Table::new("Fire ledger", fires.list, columns(zone), name)
            .actions(move |fire: &Fire| {
                let fire = fire.clone();
                let ask = move || {
                    meant.set(Some(fire.clone()));
                    open.set(true);
                };
                button(Look::Plain, None, "Explain", ask)
            })
            .view()
    };
    let explained = move || parts::explained_fire(shown, zone, load);
    let is_paused = Memo::new(move |_| {
        load.with(|schedule| schedule.row.state == ScheduleState::Paused).unwrap_or_default()
    });
    let choices = FILTERS.map(|(name, words, _)| (name, words));
    let paused = live(move || match is_paused.get() {
        true => parts::paused_fires(key, load).show(PART),
        false => ().into_any(),
    });
    let has_buffered = Memo::new(move |before: Option<&bool>| {
        before == Some(&true) || buffer.with(|fires| fires.buffer_size > 0) == Some(true)
    });
    let buffered = live(move || match has_buffered.get() {
        true => parts::buffered_fires(key, buffer, zone).show(PART),
        false => ().into_any(),
    });
    view! {
        {slots(slots_id, load)}
        <Strips id=strips_id load=load/>
        {pulse(fires.load)}
        {paused}
        {buffered}
        {range_note(address, zone)}
        {filter_links(address, "Fires by verdict", "verdict", choices)}
        {in_ledger(load)}
        <AsyncView
            loading=fires.load.loading
            what="the ledger"
            is_empty=Signal::derive(move || fires.list.is_empty())
            empty=move || if filter(address).0.is_empty() && range(address) == [None, None] {
                empty("No fire yet", "Each expected fire gets a row here, whether it runs or not.", ())
            } else {
                empty("No such fire", "No fire of this schedule has this outcome and time.", ())
            }
        >
            {table()}
            {pager(fires.beside(), "the ledger", move |to| address.go(&address.with(&cursors(&to))))}
        </AsyncView>
        {deferred::dialog(open, "The outcome of this fire, and why", explained)}
    }
}

/// The explanation of a fire, as its row is by now.
pub(in crate::pages) fn explained(
    shown: Memo<Option<Fire>>,
    zone: Memo<Option<String>>,
    load: Load<ScheduleDetail>,
) -> AnyView {
    live(move || {
        let Some(fire) = shown.get() else { return ().into_any() };
        let version = fire.schedule_version;
        // A change of the schedule's state changes none of the rules.
        let rules = untrack(|| load.with(|schedule| rules(schedule, version)));
        explain(&fire, zone.get(), rules.unwrap_or_else(|| ().into_any()))
    })
}

/// The state to show for a fire: that of its run if there is one, or else its verdict.
fn mark(fire: &Fire) -> Mark {
    match (&fire.run, fire.verdict) {
        (Some(run), Verdict::Started | Verdict::Pending) => Mark::Run(run.state),
        (_, verdict) => Mark::Verdict(verdict),
    }
}

fn local(fire: &Fire) -> String {
    format!("{} {}", local_words(&fire.local, Moment::now()), fire.offset)
}

fn name(fire: &Fire) -> RowName {
    RowName {
        name: format!("the fire of {}", local(fire)),
        test: "ledger-row",
        state: Mark::Verdict(fire.verdict).state(),
    }
}

fn columns(zone: Memo<Option<String>>) -> Vec<Column> {
    let time = |millis: Option<i64>| millis.map_or_else(|| "–".to_owned(), duration).into_any();
    vec![
        Column::new("scheduled", "Scheduled", move |fire: &Fire| scheduled(fire, zone.get()))
            .head(),
        Column::new("verdict", "Verdict", |fire: &Fire| badge(Mark::Verdict(fire.verdict))),
        Column::new("why", "Why", why).class("why-cell"),
        Column::new("run", "Run", run),
        Column::new("late", "Late", move |fire: &Fire| {
            time(fire.run.as_ref().and_then(|run| run.lateness_ms))
        })
        .class("number wide"),
        Column::new("took", "Took", move |fire: &Fire| {
            time(fire.run.as_ref().and_then(|run| run.duration_ms))
        })
        .class("number wide"),
    ]
}

fn note(words: AnyView) -> AnyView {
    view! { <span class="cell-note">{words}</span> }.into_any()
}

fn scheduled(fire: &Fire, zone: Option<String>) -> AnyView {
    let many = (fire.count > 1).then(|| {
        let last = when(fire.last_scheduled_at, zone.clone());
        note(view! { {format!("{} instants, up to ", fire.count)}{last} }.into_any())
    });
    view! { {when(fire.scheduled_at, zone)}{fire_mark(fire.kind)}{many} }.into_any()
}

fn why(fire: &Fire) -> AnyView {
    let recovered = (fire.recovery_attempts > 0).then(|| {
        note(amount(fire.recovery_attempts, "recovery attempt", "recovery attempts").into_any())
    });
    view! { <div>{reason_text(&fire.reason.text)}{recovered}</div> }.into_any()
}

fn run(fire: &Fire) -> AnyView {
    let link = fire.run.as_ref().map(|run| {
        let (mark, href) = (Mark::Run(run.state), Route::Run(run.id.clone()).path());
        let name = format!("Run, {}", mark.word());
        view! { <a class="cell-link" href=href aria-label=name>{badge(mark)}</a> }.into_any()
    });
    view! { {link} }.into_any()
}
