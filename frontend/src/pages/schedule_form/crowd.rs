//! How many other schedules start in the same minutes, and quieter minutes to choose from.

use leptos::prelude::*;

use super::draft::Draft;
use crate::{
    components::when_relative,
    model::{Candidate, CandidateStart, QuieterShift},
    time::duration,
};

/// How many quieter minutes are offered.
const OFFERED: usize = 3;

/// A line with alternatives; empty if no other schedule starts in these minutes.
pub(super) fn line(candidate: &Candidate, draft: Draft) -> AnyView {
    let own = own_work(candidate);
    let Some(busiest) = candidate.busiest.as_ref().filter(|busiest| busiest.before > 0) else {
        return own
            .map_or_else(|| ().into_any(), |own| view! { <p class="crowd">{own}</p> }.into_any());
    };
    let zone = draft.zone.get_untracked();
    let zone = Some(zone.trim().to_owned()).filter(|zone| !zone.is_empty());
    let starts = format!(
        " goes from {} to {} starts{}. {}",
        busiest.before,
        busiest.after,
        work_of(candidate, busiest),
        own.map(|own| format!("{own} ")).unwrap_or_default(),
    );
    view! {
        <p class="crowd">{when_relative(busiest.at, zone)}{starts}{offers(&candidate.quieter, draft)}</p>
    }
    .into_any()
}

/// The worker time of the starts in a minute. It lacks the schedule's own runs while their usual duration is not known.
fn work_of(candidate: &Candidate, busiest: &CandidateStart) -> String {
    match (busiest.work_ms, candidate.usual_ms) {
        (0, _) => String::new(),
        (work, Some(_)) => format!(", about {} of worker time", duration(work)),
        (work, None) => format!(", about {} of worker time without its own", duration(work)),
    }
}

/// The worker time of the schedule's own runs in the next week.
fn own_work(candidate: &Candidate) -> Option<String> {
    let (usual, work) = candidate.usual_ms.zip(candidate.work_ms)?;
    let (usual, work) = (duration(usual), duration(work));
    Some(format!("A run usually takes {usual}: {work} of worker time in the next 7 days."))
}

/// The offers for a single expression: the same expression in quieter minutes, or spread by the
/// server.
fn offers(quieter: &[QuieterShift], draft: Draft) -> AnyView {
    let only = draft.expressions.with_untracked(|all| match all.as_slice() {
        [(_, expression)] => Some(*expression),
        _ => None,
    });
    let Some(expression) = only else { return ().into_any() };
    let now = expression.get_untracked();
    let shifts = quieter.iter().filter_map(|shift| {
        let words =
            if shift.starts == 1 { "alone".to_owned() } else { format!("{} starts", shift.starts) };
        Some((shifted(&now, shift.minutes)?, words))
    });
    let spread = spread(&now).map(|text| (text, "spread by its name".to_owned()));
    let offers = shifts.take(OFFERED).chain(spread).map(|(text, words)| {
        let (written, shown) = (text.clone(), text);
        view! {
            <button type="button" class="query-view" on:click=move |_| expression.set(written.clone())>
                "Use "<code>{shown}</code>{format!(", {words}")}
            </button>
        }
        .into_any()
    });
    view! { <span class="query-views" role="group" aria-label="Quieter minutes">{offers.collect::<Vec<_>>()}</span> }
        .into_any()
}

/// The expression shifted by this many minutes, if that changes no field but minute and hour.
fn shifted(expression: &str, minutes: i64) -> Option<String> {
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let [minute, hour, rest @ ..] = fields.as_slice() else { return None };
    if rest.len() != 3 {
        return None;
    }
    let minute: i64 = minute.parse().ok()?;
    let moved = minute + minutes;
    let (carried, minute) = (moved.div_euclid(60), moved.rem_euclid(60));
    let hour = match (carried, hour.parse::<i64>()) {
        (0, _) => (*hour).to_owned(),
        // An expression that fires every hour only needs a different minute.
        (_, Err(_)) if *hour == "*" => "*".to_owned(),
        (_, Err(_)) => return None,
        // A shift into another day would change the meaning of the other fields.
        (_, Ok(hour)) => {
            let hour = hour + carried;
            if !(0..24).contains(&hour) {
                return None;
            }
            hour.to_string()
        }
    };
    Some(format!("{minute} {hour} {}", rest.join(" ")))
}

/// The expression without its fixed minute. The server then derives a minute from the schedule's
/// name.
fn spread(expression: &str) -> Option<String> {
    let (minute, rest) = expression.trim().split_once(char::is_whitespace)?;
    let is_fixed = minute.parse::<u8>().is_ok() && rest.split_whitespace().count() == 4;
    is_fixed.then(|| format!("H {}", rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worker_time_is_told_as_far_as_it_is_known() {
        let busiest = |work_ms| CandidateStart {
            at: crate::time::Moment::from_millis(0),
            before: 41,
            after: 42,
            work_ms,
        };
        let of = |usual_ms: Option<i64>| Candidate {
            busiest: Some(busiest(0)),
            quieter: vec![],
            usual_ms,
            work_ms: usual_ms.map(|usual| 7 * usual),
        };
        let known = of(Some(60_000));
        assert_eq!(work_of(&known, &busiest(720_000)), ", about 12 min of worker time");
        assert_eq!(work_of(&known, &busiest(0)), "");
        let unknown = work_of(&of(None), &busiest(720_000));
        assert_eq!(unknown, ", about 12 min of worker time without its own");
        let own = own_work(&known).unwrap();
        assert_eq!(own, "A run usually takes 1 min: 7 min of worker time in the next 7 days.");
        assert_eq!(own_work(&of(None)), None);
    }

    #[test]
    fn a_shift_changes_minute_and_hour_alone() {
        let to = |text: &str, minutes| shifted(text, minutes);
        assert_eq!(to("0 2 * * *", 5).unwrap(), "5 2 * * *");
        assert_eq!(to("0 2 * * 1-5", -7).unwrap(), "53 1 * * 1-5");
        assert_eq!(to("55 * * * *", 10).unwrap(), "5 * * * *");
        assert_eq!(to("50 */2 * * *", 3).unwrap(), "53 */2 * * *");
        for (text, minutes) in
            [("0 0 * * *", -1), ("59 23 * * *", 1), ("50 */2 * * *", 30), ("*/5 * * * *", 1)]
        {
            assert_eq!(to(text, minutes), None, "{text}");
        }
        for text in ["@daily", "0 0 2 * * *", "H 2 * * *", ""] {
            assert_eq!(to(text, 1), None, "{text}");
        }
    }

    #[test]
    fn a_fixed_minute_can_be_spread() {
        assert_eq!(spread("0 2 * * *").unwrap(), "H 2 * * *");
        assert_eq!(spread(" 30  2 * * MON").unwrap(), "H 2 * * MON");
        for text in ["*/5 * * * *", "H 2 * * *", "0 0 2 * * *", "@daily", "0"] {
            assert_eq!(spread(text), None, "{text}");
        }
    }
}
