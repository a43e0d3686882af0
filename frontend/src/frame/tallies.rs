//! The counts that the rail shows beside its pages: schedules with problems, live runs, open alerts, findings about
//! the server.
//!
//! The rail and the phone's bar show the same counts, so the frame loads them once for both. It loads nothing while
//! the window is hidden, and the counts do not change while lists are held.

use std::time::Duration;

use leptos::prelude::*;

use crate::{
    api,
    components::live,
    data::{Feed, Load, use_frame_feed, use_load},
    model::{Tallies, WorkProblem},
    state::{Address, Throttle, use_address, use_every, use_session},
    time::Moment,
};

const LOOK: Duration = Duration::from_secs(5);
/// The minimum time between two counts because of alerts. The counts examine the health, too, which is expensive for
/// the server.
const SLOW_MS: i64 = 5_000;
/// How often problems are loaded. The server computes them from a day of runs, so they are more expensive.
const LOOK_FOR_PROBLEMS: Duration = Duration::from_secs(30);
/// A count above this is shown as `99+`.
const MAX_COUNT: usize = 99;

/// The counts, for the rail and for the phone's bar.
#[derive(Clone, Copy)]
struct Counts {
    tallies: Load<Tallies>,
    problems: Load<Vec<WorkProblem>>,
}

/// A count beside a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    SchedulesInTrouble,
    LiveRuns,
    OpenAlerts,
    Findings,
}

/// The meaning of a count, which determines its colour: work in progress, lost fires, or a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tone {
    Calm,
    Lost,
    Bad,
}

/// A count, and its meaning for users who cannot see its position.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Count {
    number: usize,
    words: &'static str,
    tone: Tone,
}

impl Counts {
    /// The count, unless it is zero; tracked.
    fn of(self, counted: Counted) -> Option<Count> {
        if self.tallies.loading.failure().is_some() {
            return None;
        }
        let count = match counted {
            Counted::SchedulesInTrouble => {
                let [failing, losing, skipping] =
                    self.problems.with(|problems| WorkProblem::schedules(problems))?;
                let tone = if failing > 0 { Tone::Bad } else { Tone::Lost };
                Count { number: failing + losing + skipping, words: "in trouble", tone }
            }
            Counted::LiveRuns => {
                let live = self.tallies.with(Tallies::live_runs)?;
                Count { number: usize::try_from(live).ok()?, words: "live", tone: Tone::Calm }
            }
            Counted::OpenAlerts => {
                let open = self.tallies.with(|tallies| tallies.open_alerts(Moment::now()))?;
                Count { number: open, words: "open", tone: Tone::Bad }
            }
            Counted::Findings => {
                let (number, is_critical) =
                    self.tallies.with(|tallies| (tallies.findings(), tallies.is_critical()))?;
                let tone = if is_critical { Tone::Bad } else { Tone::Lost };
                Count { number, words: "to look at", tone }
            }
        };
        (count.number > 0).then_some(count)
    }
}

/// Loads the counts as long as the owner exists.
pub(crate) fn provide_counts() {
    let (address, session) = (use_address(), use_session());
    let namespace = Memo::new(move |_| counted_in(address));
    let tallies = use_load(move || {
        namespace.get().map(|namespace| api::tallies(namespace, session.health_of()))
    });
    let problems =
        use_load(move || namespace.get().map(|namespace| api::problems(namespace, None)));
    use_every(LOOK, move || {
        if !document().hidden() && namespace.with_untracked(Option::is_some) {
            tallies.loading.refresh();
        }
    });
    let slow = Throttle::new(SLOW_MS);
    use_frame_feed(
        move || Feed::alerts(address.namespace()),
        move |_| {
            if !document().hidden() && namespace.with_untracked(Option::is_some) {
                slow.run(move || tallies.loading.refresh());
            }
        },
        || {},
    );
    use_every(LOOK_FOR_PROBLEMS, move || {
        if !document().hidden() && namespace.with_untracked(Option::is_some) {
            problems.loading.refresh();
        }
    });
    provide_context(Counts { tallies, problems });
}

/// The namespace to which the counts apply; `None` means all namespaces that the user may see. Tracked.
fn counted_in(address: Address) -> Option<String> {
    address.scope().map(|_| address.namespace())
}

/// The count beside a page; empty if it is zero or the server does not answer.
pub(super) fn count_of(counted: Counted) -> AnyView {
    let (counts, address) = (expect_context::<Counts>(), use_address());
    let count = Memo::new(move |_| counted_in(address).and_then(|_| counts.of(counted)));
    live(move || count.get().map_or_else(|| ().into_any(), mark))
}

fn mark(count: Count) -> AnyView {
    let number =
        if count.number > MAX_COUNT { format!("{MAX_COUNT}+") } else { count.number.to_string() };
    let tone = match count.tone {
        Tone::Calm => "calm",
        Tone::Lost => "lost",
        Tone::Bad => "bad",
    };
    view! {
        <b class="rail-count" data-tone=tone>
            {number}<span class="visually-hidden">{format!(" {}", count.words)}</span>
        </b>
    }
    .into_any()
}
