//! The effect of another timing on the fires of the next 30 days. It is shown before a rollback, and before an edit
//! is saved.

use leptos::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    api::effect_input,
    components::{When, when},
    model::{DefinitionEffect, GapPolicy, OverlapHourPolicy, PreviewFire},
    time::Moment,
};

/// Number of added and of removed fires that are shown.
const SHOWN: usize = 5;

/// The timing and the calendars of an earlier version, from its snapshot.
#[derive(Debug, PartialEq, Deserialize)]
struct Past {
    timing: PastTiming,
    #[serde(default)]
    calendars: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct PastTiming {
    expressions: Vec<String>,
    zone: String,
    gap: String,
    overlap: String,
    start_at: Option<Moment>,
    end_at: Option<Moment>,
    jitter_seconds: i64,
}

/// The timing and the calendars of a snapshot; `None` if it cannot be read.
pub(super) fn past(snapshot: &Value) -> Option<(effect_input::TimingInput, Vec<String>)> {
    let Past { timing, calendars } = serde_json::from_value(snapshot.clone()).ok()?;
    let word = |text: &str| Value::from(text.to_ascii_uppercase());
    let gap: GapPolicy = serde_json::from_value(word(&timing.gap)).ok()?;
    let overlap: OverlapHourPolicy = serde_json::from_value(word(&timing.overlap)).ok()?;
    let input = effect_input::TimingInput {
        expressions: timing.expressions,
        zone: timing.zone,
        gap,
        overlap,
        start_at: timing.start_at,
        end_at: timing.end_at,
        jitter_seconds: timing.jitter_seconds,
    };
    Some((input, calendars))
}

/// The effect in words, with the first added and removed fires.
pub(in crate::pages) fn effect(effect: &DefinitionEffect, zone: Option<String>) -> AnyView {
    if let Some(problem) = &effect.problem {
        let words = format!("This timing cannot be used: {}.", problem.problem);
        return view! { <p class="hint">{words}</p> }.into_any();
    }
    let short = (!effect.is_complete).then(|| {
        view! { " Compared only until "{when(effect.compared_until, zone.clone())}"." }.into_any()
    });
    view! {
        <p class="hint" data-testid="definition-effect">{words(effect.added, effect.removed)}{short}</p>
        {list("New", &effect.added_fires, effect.added, zone.clone())}
        {list("Gone", &effect.removed_fires, effect.removed, zone)}
    }
    .into_any()
}

fn words(added: i64, removed: i64) -> String {
    match (added, removed) {
        (0, 0) => "The fires of the next 30 days stay as they are.".to_owned(),
        _ => {
            let new =
                if added == 1 { "1 fire is".to_owned() } else { format!("{added} fires are") };
            let gone = if removed == 1 { "1 is".to_owned() } else { format!("{removed} are") };
            format!("In the next 30 days {new} new and {gone} gone.")
        }
    }
}

fn list(label: &'static str, fires: &[PreviewFire], all: i64, zone: Option<String>) -> AnyView {
    if fires.is_empty() {
        return ().into_any();
    }
    let fire = |fire: &PreviewFire| {
        let at = When::new(fire.at).zone(zone.clone()).suppressed(fire.suppressed_by.clone());
        view! { <li>{at.view()}</li> }.into_any()
    };
    let lines: Vec<_> = fires.iter().take(SHOWN).map(fire).collect();
    let more = all - i64::try_from(lines.len()).unwrap_or_default();
    let rest = (more > 0)
        .then(|| view! { <li class="muted">{format!("and {more} more")}</li> }.into_any());
    view! { <p class="hint">{label}</p><ul class="sample" aria-label=label>{lines}{rest}</ul> }
        .into_any()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_timing_of_a_version_is_read_from_its_snapshot() {
        let snapshot = json!({
            "name": "nightly",
            "timing": {
                "expressions": ["0 2 * * *"], "zone": "Europe/Berlin", "gap": "skip",
                "overlap": "both", "start_at": null, "end_at": null, "jitter_seconds": 5
            },
            "calendars": ["holidays"]
        });
        let (timing, calendars) = past(&snapshot).unwrap();
        assert_eq!(timing.expressions, ["0 2 * * *"]);
        assert_eq!((timing.gap, timing.overlap), (GapPolicy::Skip, OverlapHourPolicy::Both));
        assert_eq!((timing.jitter_seconds, calendars), (5, vec!["holidays".to_owned()]));
        assert!(past(&json!({ "name": "old" })).is_none());
    }

    #[test]
    fn an_effect_is_told_in_numbers() {
        assert_eq!(words(0, 0), "The fires of the next 30 days stay as they are.");
        assert_eq!(words(2, 30), "In the next 30 days 2 fires are new and 30 are gone.");
        assert_eq!(words(1, 1), "In the next 30 days 1 fire is new and 1 is gone.");
    }
}
