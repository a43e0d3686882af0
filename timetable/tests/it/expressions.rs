//! Strategies that generate cron expressions.

use chrono::{Datelike, NaiveDateTime, Timelike};
use proptest::prelude::*;

/// A field of numbers from `low` to `high`, in which all forms are about equally frequent.
fn numbers(low: u32, high: u32) -> BoxedStrategy<String> {
    let value = low..=high;
    let pair = (value.clone(), value.clone()).prop_map(|(a, b)| (a.min(b), a.max(b)));
    prop_oneof![
        Just("*".to_owned()),
        (1_u32..=20).prop_map(|step| format!("*/{step}")),
        value.clone().prop_map(|value| value.to_string()),
        value.clone().prop_map(|value| value.to_string()),
        prop::collection::vec(value.clone(), 2..4).prop_map(|values| values
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(",")),
        pair.clone().prop_map(|(low, high)| format!("{low}-{high}")),
        (pair, 1_u32..=7).prop_map(|((low, high), step)| format!("{low}-{high}/{step}")),
        (value, 1_u32..=20).prop_map(|(start, step)| format!("{start}/{step}")),
    ]
    .boxed()
}

fn any_day_of_month() -> BoxedStrategy<String> {
    prop_oneof![
        4 => Just("*".to_owned()),
        4 => numbers(1, 31),
        1 => Just("L".to_owned()),
        1 => Just("LW".to_owned()),
        1 => (1_u32..=31).prop_map(|day| format!("{day}W")),
    ]
    .boxed()
}

/// A day-of-week field without `x/n`, which croner reads differently in this field.
fn any_day_of_week() -> BoxedStrategy<String> {
    prop_oneof![
        4 => Just("*".to_owned()),
        1 => (1_u32..=7).prop_map(|step| format!("*/{step}")),
        2 => (0_u32..=7).prop_map(|day| day.to_string()),
        2 => Just("1-5".to_owned()),
        1 => Just("0,6".to_owned()),
        1 => (0_u32..=6, 1_u32..=5).prop_map(|(day, nth)| format!("{day}#{nth}")),
        1 => (0_u32..=6).prop_map(|day| format!("{day}L")),
    ]
    .boxed()
}

/// Expressions of five fields, each in any form.
pub(crate) fn any_minutely() -> impl Strategy<Value = String> {
    let months = prop_oneof![3 => Just("*".to_owned()), 1 => numbers(1, 12)];
    (numbers(0, 59), numbers(0, 23), any_day_of_month(), months, any_day_of_week()).prop_map(
        |(minute, hour, day, month, week)| format!("{minute} {hour} {day} {month} {week}"),
    )
}

/// Expressions of six or seven fields, each in any form.
pub(crate) fn any_secondly() -> impl Strategy<Value = String> {
    let years = prop_oneof![
        Just(String::new()),
        (2000_u32..2060).prop_map(|year| format!(" {year}")),
        (2000_u32..2030, 0_u32..60).prop_map(|(year, more)| format!(" {year}-{}", year + more)),
    ];
    (numbers(0, 59), any_minutely(), years)
        .prop_map(|(second, rest, year)| format!("{second} {rest}{year}"))
}

/// Expressions of five fields that are likely to fire around a local time.
pub(crate) fn around(local: NaiveDateTime) -> impl Strategy<Value = String> {
    let (hour, day, month) = (local.hour(), local.day(), local.month());
    let weekday = local.weekday().num_days_from_sunday();
    let near = move |back: u32| (hour + 24 - back) % 24;
    let (early, late) = (hour.saturating_sub(3), (hour + 3).min(23));
    let hours = prop_oneof![
        2 => numbers(early, late),
        2 => (0_u32..3).prop_map(move |back| near(back).to_string()),
        1 => Just(format!("{early}-{late}")),
        1 => Just("*".to_owned()),
    ];
    let days = prop_oneof![
        4 => Just("*".to_owned()),
        1 => Just(day.to_string()),
        1 => Just("*/2".to_owned()),
        1 => Just("L".to_owned()),
    ];
    let months = prop_oneof![3 => Just("*".to_owned()), 1 => Just(month.to_string())];
    let weeks = prop_oneof![
        4 => Just("*".to_owned()),
        1 => Just(weekday.to_string()),
        1 => Just(((weekday + 6) % 7).to_string()),
        1 => Just("*/2".to_owned()),
    ];
    (numbers(0, 59), hours, days, months, weeks).prop_map(|(minute, hour, day, month, week)| {
        format!("{minute} {hour} {day} {month} {week}")
    })
}
