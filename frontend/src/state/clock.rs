//! The ticking clock behind texts like "3 s ago". It sends no requests.

use std::time::Duration;

use leptos::prelude::*;

use crate::time::Moment;

#[derive(Clone, Copy)]
struct Ticks(ReadSignal<Moment>);

pub(super) fn provide() {
    let (now, set_now) = signal(Moment::now());
    set_interval(move || set_now.set(Moment::now()), Duration::from_secs(1));
    provide_context(Ticks(now));
}

/// The current time to the second, by this browser's clock.
pub(crate) fn use_now() -> ReadSignal<Moment> {
    expect_context::<Ticks>().0
}
