//! A clickable year: twelve months, in which each day is a button that shows the kind of entry that covers it. The
//! arrow keys move from day to day.

use leptos::{ev::KeyboardEvent, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::draft::{Draft, Entries};
use crate::{
    components::{days_by_arrow, live},
    model::Weekday,
    time::{Day, Moment, Wall, browser_zone, days_in, month_name},
};

/// The visible year, and the day that can be reached by Tab.
#[derive(Clone, Copy)]
pub(super) struct Year {
    year: RwSignal<i64>,
    at: RwSignal<Day>,
    every_year: RwSignal<bool>,
    editable: bool,
}

pub(super) fn use_year(editable: bool) -> Year {
    let wall = Wall::read(Moment::now(), &browser_zone()).unwrap_or_default();
    let today = Day::parse(&wall.date).unwrap_or(Day::new(2026, 1, 1));
    Year {
        year: RwSignal::new(today.parts().0),
        at: RwSignal::new(today),
        every_year: RwSignal::new(false),
        editable,
    }
}

impl Year {
    fn turn(self, years: i64) {
        self.year.update(|year| *year += years);
        let (_, month, _) = self.at.get_untracked().parts();
        self.at.set(Day::new(self.year.get_untracked(), month, 1));
    }

    fn key(self, event: &KeyboardEvent) {
        let Some(days) = days_by_arrow(event) else { return };
        event.prevent_default();
        let to = self.at.get_untracked().plus(days);
        self.at.set(to);
        self.year.set(to.parts().0);
        // The months must be redrawn before the day can be focused.
        request_animation_frame(move || {
            let day = document().get_element_by_id(&format!("day-{to}"));
            if let Some(day) = day.and_then(|day| day.dyn_into::<HtmlElement>().ok()) {
                let _gone = day.focus();
            }
        });
    }
}

/// Draws the year; its entries colour the days.
pub(super) fn view(year: Year, draft: Draft, entries: Memo<Option<Entries>>) -> AnyView {
    let months = move |of: i64| {
        (1..=12).map(|month| self::month(year, draft, entries, of, month)).collect::<Vec<_>>()
    };
    let meaning = year.editable.then(|| {
        let one = move |every_year: bool, words: &'static str| {
            view! {
                <label>
                    <input
                        type="radio"
                        name="click-means"
                        prop:checked=move || year.every_year.get() == every_year
                        on:change=move |_| year.every_year.set(every_year)
                    />
                    <span>{words}</span>
                </label>
            }
            .into_any()
        };
        view! {
            <fieldset class="radios">
                <legend class="visually-hidden">"A click means"</legend>
                {one(false, "A click selects this day")}
                {one(true, "this day of every year")}
            </fieldset>
        }
        .into_any()
    });
    view! {
        <div class="year-head">
            <button type="button" class="button" on:click=move |_| year.turn(-1) aria-label="The year before">"‹"</button>
            <strong aria-live="polite">{move || year.year.get()}</strong>
            <button type="button" class="button" on:click=move |_| year.turn(1) aria-label="The year after">"›"</button>
            {meaning}
        </div>
        <div class="year" on:keydown=move |event| year.key(&event)>
            {live(move || months(year.year.get()).into_any())}
        </div>
        <ul class="year-legend" aria-label="Colours">
            <li><span class="day-mark" data-why="day"></span>"This day"</li>
            <li><span class="day-mark" data-why="every year"></span>"Every year"</li>
            <li><span class="day-mark" data-why="weekday"></span>"Weekday"</li>
            <li><span class="day-mark" data-why="range"></span>"Range"</li>
        </ul>
    }
    .into_any()
}

fn month(year: Year, draft: Draft, entries: Memo<Option<Entries>>, of: i64, month: i64) -> AnyView {
    let first = Day::new(of, month, 1);
    let days = (0..days_in(of, month)).map(|number| {
        let column = (number == 0).then(|| first.weekday() + 1);
        day(year, draft, entries, first.plus(number), column)
    });
    let heads = Weekday::WEEK.map(|day| {
        view! { <span class="month-head" aria-hidden="true">{day.word().get(..1)}</span> }
            .into_any()
    });
    let name = month_name(month);
    view! {
        <div class="month" role="group" aria-label=format!("{name} {of}")>
            <p class="month-name">{name}</p>
            <div class="month-days">{Vec::from(heads)}{days.collect::<Vec<_>>()}</div>
        </div>
    }
    .into_any()
}

fn day(
    year: Year,
    draft: Draft,
    entries: Memo<Option<Entries>>,
    day: Day,
    column: Option<usize>,
) -> AnyView {
    let why =
        Memo::new(move |_| entries.with(|entries| entries.as_ref().and_then(|all| all.names(day))));
    let label = move || match why.get() {
        Some(why) => format!("{}, {why}", day.words()),
        None => day.words(),
    };
    let click = move |_| {
        year.at.set(day);
        if year.editable {
            draft.flip(day, year.every_year.get_untracked());
        }
    };
    view! {
        <button
            type="button"
            id=format!("day-{day}")
            class="day"
            data-column=column
            data-why=move || why.get()
            aria-label=label
            aria-pressed=move || why.get().is_some().to_string()
            tabindex=move || if year.at.get() == day { "0" } else { "-1" }
            on:click=click
        >
            {day.parts().2}
        </button>
    }
    .into_any()
}
