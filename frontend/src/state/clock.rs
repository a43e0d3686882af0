//! The ticks that "3 s ago" and "today" follow. They ask the server nothing.

use std::time::Duration;

use leptos::prelude::*;

use crate::time::Moment;

/// In every zone of the world a day begins at some quarter of an hour.
const QUARTER_MS: i64 = 900_000;

#[derive(Clone, Copy)]
struct Ticks {
    now: ReadSignal<Moment>,
    quarter: Memo<i64>,
}

pub(super) fn provide() {
    let (now, set_now) = signal(Moment::now());
    set_interval(move || set_now.set(Moment::now()), Duration::from_secs(1));
    let quarter = Memo::new(move |_| now.get().millis() / QUARTER_MS);
    provide_context(Ticks { now, quarter });
}

/// Now, to the second, in this browser's opinion.
pub(crate) fn use_now() -> ReadSignal<Moment> {
    expect_context::<Ticks>().now
}

/// Changes when it may be another day somewhere.
pub(crate) fn use_today() -> Memo<i64> {
    expect_context::<Ticks>().quarter
}
