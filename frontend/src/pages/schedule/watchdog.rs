//! The watchdog of a schedule: which addresses it calls when, and the result of the last call.

use leptos::prelude::*;

use crate::{
    components::{fact, when},
    model::{Ping, PingCall, PingEvent},
    route::Route,
    time::amount,
};

/// The addresses and the last call.
pub(super) fn watchdog(ping: &Ping, zone: Option<String>) -> AnyView {
    let address = |name: &'static str, address: &String| {
        let address = address.clone();
        fact(name, view! { <code>{address}</code> })
    };
    let mut facts = vec![address("After a success", &ping.success)];
    facts.extend(ping.start.as_ref().map(|start| address("At a start", start)));
    facts.extend(ping.failure.as_ref().map(|failure| address("After a failure", failure)));
    match &ping.last {
        Some(call) => facts.extend(last_call(call, zone)),
        None => facts.push(fact("Last call", "none yet")),
    }
    view! { <dl class="facts">{facts}</dl> }.into_any()
}

fn last_call(call: &PingCall, zone: Option<String>) -> Vec<AnyView> {
    let href = Route::Run(call.run_id.clone()).path();
    let (event, outcome) = (event_words(call.event), format!(": {}", outcome(call)));
    let mut facts = vec![fact("Last call", view! { <a href=href>{event}</a>{outcome} })];
    let retried = call.next_attempt_at.filter(|_| call.error.is_some());
    facts.extend(retried.map(|at| fact("Tried again", when(at, zone.clone()))));
    facts.extend(call.sent_at.map(|at| fact("Last arrived", when(at, zone))));
    facts
}

fn event_words(event: PingEvent) -> &'static str {
    match event {
        PingEvent::Start => "start of a run",
        PingEvent::Success => "success of a run",
        PingEvent::Failure => "failure of a run",
    }
}

/// What became of the last call.
fn outcome(call: &PingCall) -> String {
    let tried = amount(call.attempts, "attempt", "attempts");
    match (&call.error, call.next_attempt_at) {
        (None, Some(_)) => "about to be made".to_owned(),
        (None, None) if call.attempts == 0 => "not made, because it was too late".to_owned(),
        (None, None) => "arrived".to_owned(),
        (Some(error), Some(_)) => format!("{tried} failed: {error}"),
        (Some(error), None) => format!("given up after {tried}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Moment;

    #[test]
    fn a_call_says_what_became_of_it() {
        let later = Some(Moment::from_millis(0));
        for (attempts, error, next_attempt_at, words) in [
            (0, None, later, "about to be made"),
            (0, None, None, "not made, because it was too late"),
            (1, None, None, "arrived"),
            (1, Some("status 500"), later, "1 attempt failed: status 500"),
            (9, Some("status 500"), None, "given up after 9 attempts: status 500"),
        ] {
            let call = PingCall {
                event: PingEvent::Success,
                run_id: "x".to_owned(),
                attempts,
                next_attempt_at,
                error: error.map(str::to_owned),
                sent_at: None,
            };
            assert_eq!(outcome(&call), words);
        }
    }
}
