//! The range of an outage and the schedules that it is about: the fields, and their values in the address.

use leptos::prelude::*;

use super::super::kit::{self, Wrong, general_error, instant, of};
use crate::{
    components::{Field, Look, button, live},
    model::Failure,
    state::{Address, use_address},
    time::{Day, Moment, Wall, browser_zone, clock_changes},
};

const HOUR_MS: i64 = 3_600_000;
const MINUTE_MS: i64 = 60_000;
/// The times of day of an outage of last night.
const NIGHT: [&str; 2] = ["01:00", "03:30"];

/// The time in which no scheduler runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: Moment,
    /// Exclusive.
    pub(super) to: Moment,
}

impl Range {
    /// The hour from now on, to the minute.
    pub(super) fn next_hour() -> Self {
        let from = Moment::from_millis(Moment::now().millis() / MINUTE_MS * MINUTE_MS);
        Self { from, to: from.later(HOUR_MS) }
    }

    /// The range that the address names, if it does; tracked.
    pub(super) fn of(address: Address) -> Option<Self> {
        let at = |name: &str| Moment::parse_local(&address.query(name));
        Some(Self { from: at("from")?, to: at("to")? })
    }

    /// An hour before and two after the next clock change of the browser's zone.
    fn around_clock_change() -> Option<Self> {
        let changes = clock_changes(&browser_zone(), Moment::now(), 1);
        let at = changes.first()?;
        Some(Self { from: at.earlier(HOUR_MS), to: at.later(2 * HOUR_MS) })
    }

    /// The last night that is over, by the browser's clock.
    fn last_night() -> Option<Self> {
        let today = Day::parse(&Wall::read(Moment::now(), &browser_zone())?.date)?;
        let of = |day: Day| {
            let [from, to] = NIGHT.map(|time| Moment::parse_local(&format!("{day}T{time}")));
            Some(Self { from: from?, to: to? })
        };
        let is_over = |range: &Self| range.to <= Moment::now();
        of(today).filter(is_over).or_else(|| of(today.plus(-1)))
    }
}

/// The fields for the range and the search.
#[derive(Clone, Copy)]
struct Fields {
    from: RwSignal<String>,
    to: RwSignal<String>,
    search: RwSignal<String>,
    wrong: Wrong,
    address: Address,
}

impl Fields {
    fn new(address: Address, usual: Range) -> Self {
        let range = untrack(|| Range::of(address)).unwrap_or(usual);
        Self {
            from: RwSignal::new(local(range.from)),
            to: RwSignal::new(local(range.to)),
            search: RwSignal::new(untrack(|| address.query("q"))),
            wrong: RwSignal::new(None),
            address,
        }
    }

    /// Shows the range and the search that the fields name.
    fn apply(self) {
        let range = instant("from", self.from)
            .and_then(|from| Ok(Range { from, to: instant("to", self.to)? }));
        match range {
            Ok(range) if range.to <= range.from => {
                let words = "Choose an instant after the beginning of the outage.";
                self.wrong.set(Some(Failure::of_field("to", words)));
            }
            Ok(range) => self.show(range),
            Err(failure) => self.wrong.set(Some(failure)),
        }
    }

    /// Shows a range that one click selects.
    fn choose(self, range: Option<Range>) {
        let Some(range) = range else {
            let words = "The clock of your zone does not change in the next 400 days.";
            self.wrong.set(Some(Failure::of_field("from", words)));
            return;
        };
        self.from.set(local(range.from));
        self.to.set(local(range.to));
        self.show(range);
    }

    fn show(self, range: Range) {
        self.wrong.set(None);
        let (from, to) = (range.from.to_rfc3339(), range.to.to_rfc3339());
        let search = self.search.get_untracked();
        let query = [("from", from.as_str()), ("to", to.as_str()), ("q", search.trim())];
        self.address.replace(&self.address.with(&query));
    }
}

/// An instant as a `datetime-local` field shows it.
fn local(at: Moment) -> String {
    let wall = Wall::read(at, &browser_zone()).unwrap_or_default();
    format!("{}T{}", wall.date, wall.time.get(..5).unwrap_or("00:00"))
}

/// The form. `bad_search` is the error of a search that the server refuses.
pub(super) fn form(
    usual: Range,
    schedule: Memo<Option<String>>,
    bad_search: Signal<Option<Failure>>,
) -> AnyView {
    let fields = Fields::new(use_address(), usual);
    let presets = view! {
        {button(Look::Plain, None, "Last night", move || fields.choose(Range::last_night()))}
        {button(Look::Plain, None, "Next hour", move || fields.choose(Some(Range::next_hour())))}
        {button(Look::Plain, None, "Next clock change", move || fields.choose(Range::around_clock_change()))}
    };
    let which = live(move || match schedule.get() {
        None => Field::new("outage-search", "Search", fields.search)
            .error(bad_search)
            .hint("Only these schedules, such as tag:billing. Empty: all.")
            .text(),
        Some(_) => {
            let all = fields.address.href(&[("schedule", "")]);
            view! { <p class="hint">"Only one schedule is shown. "<a href=all>"Show all schedules"</a></p> }
                .into_any()
        }
    });
    view! {
        <form class="panel form-section" on:submit=kit::on_submit(move || fields.apply()) novalidate data-testid="outage-form">
            <div class="actions" role="group" aria-label="Ranges">{presets}</div>
            <div class="field-grid">
                {Field::new("outage-from", "No scheduler from (your time)", fields.from).kind("datetime-local").error(of(fields.wrong, "from")).text()}
                {Field::new("outage-to", "Until, exclusive (your time)", fields.to).kind("datetime-local").error(of(fields.wrong, "to")).text()}
            </div>
            {which}
            <div role="alert">{move || general_error(fields.wrong)}</div>
            <div class="actions"><button type="submit" class="button button-primary">"Compare"</button></div>
            <p class="hint">
                "The schedules are taken as they are now. No run is assumed to be live when the outage ends. A range in the past is shown beside what the ledger holds."
            </p>
        </form>
    }
    .into_any()
}
