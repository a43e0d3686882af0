//! The rules of a version of the schedule, from its snapshot: they decided what became of a fire.

use leptos::prelude::*;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::definition::{deadline_words, misfire_words, overlap_words};
use crate::{
    api,
    components::{AsyncView, expressions, fact},
    data::{Load, use_load},
    model::{Misfire, OverlapPolicy, ScheduleDetail, Version},
    time::seconds,
};

/// The part of a snapshot that decides about fires.
#[derive(Debug, PartialEq, Deserialize)]
struct Rules {
    timing: Timing,
    #[serde(default)]
    calendars: Vec<String>,
    misfire: PastMisfire,
    overlap: String,
    buffer_limit: Option<i64>,
    group: Option<String>,
    start_deadline_seconds: Option<i64>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Timing {
    expressions: Vec<String>,
    zone: String,
    jitter_seconds: i64,
}

#[derive(Debug, PartialEq, Deserialize)]
struct PastMisfire {
    catch_up: String,
    grace_seconds: i64,
    max: i64,
    spacing_seconds: i64,
    window_seconds: i64,
}

/// The rules of this version. The page of a schedule has the latest versions; an older one is loaded.
pub(in crate::pages) fn rules(schedule: &ScheduleDetail, version: i64) -> AnyView {
    let now = schedule.row.version;
    let is_meant = move |known: &&Version| known.version == version;
    if let Some(found) = schedule.more.versions.nodes.iter().find(is_meant) {
        return listed(Some(&found.snapshot), version, now);
    }
    let id = schedule.row.id.clone();
    let load: Load<Vec<Version>> =
        use_load(move || Some(api::schedule_versions(id.clone(), Some(version), 1)));
    let list = move |all: &Vec<Version>| {
        listed(all.iter().find(is_meant).map(|found| &found.snapshot), version, now)
    };
    view! { <AsyncView loading=load.loading what="the rules">{load.draw(list)}</AsyncView> }
        .into_any()
}

/// The rules of a version's snapshot, beside the version that applies now.
fn listed(snapshot: Option<&Value>, version: i64, now: i64) -> AnyView {
    let Some(facts) = snapshot.and_then(facts) else {
        let words = format!("The rules of version {version} cannot be read.");
        return view! { <p class="hint">{words}</p> }.into_any();
    };
    let which = if version == now {
        format!("Version {version}, which still applies.")
    } else {
        format!("Version {version}; now version {now} applies.")
    };
    view! {
        <section aria-label="The rules" data-testid="rules">
            <h3>"The rules"</h3>
            <p class="hint">{which}</p>
            <dl class="facts explain">{facts}</dl>
        </section>
    }
    .into_any()
}

/// The rules of a snapshot as facts; `None` if it cannot be read.
fn facts(snapshot: &Value) -> Option<Vec<AnyView>> {
    let rules = Rules::deserialize(snapshot).ok()?;
    let (overlap, misfire) = (rules.overlap()?, rules.misfire()?);
    let Rules { timing, calendars, buffer_limit, group, start_deadline_seconds, .. } = rules;
    let mut facts =
        vec![fact("Timing", view! { {expressions(&timing.expressions)}" in "{timing.zone} })];
    if timing.jitter_seconds > 0 {
        facts.push(fact("Jitter", format!("up to {}", seconds(timing.jitter_seconds))));
    }
    let calendars = if calendars.is_empty() { "none".to_owned() } else { calendars.join(", ") };
    facts.push(fact("Calendars", calendars));
    facts.push(fact("After an outage", misfire_words(misfire)));
    facts.push(fact("Still running", overlap_words(overlap, buffer_limit)));
    let late = start_deadline_seconds.map_or_else(|| "No deadline.".to_owned(), deadline_words);
    facts.push(fact("Too late", late));
    facts.push(fact("Group", group.unwrap_or_else(|| "none".to_owned())));
    Some(facts)
}

impl Rules {
    fn overlap(&self) -> Option<OverlapPolicy> {
        named(&self.overlap)
    }

    fn misfire(&self) -> Option<Misfire> {
        let PastMisfire { catch_up, grace_seconds, max, spacing_seconds, window_seconds } =
            &self.misfire;
        Some(Misfire {
            catch_up: named(catch_up)?,
            grace_seconds: *grace_seconds,
            max: *max,
            spacing_seconds: *spacing_seconds,
            window_seconds: *window_seconds,
        })
    }
}

/// A value that the API writes in upper case.
fn named<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(Value::from(text.to_ascii_uppercase())).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::CatchUp;

    #[test]
    fn the_rules_of_a_version_are_read_from_its_snapshot() {
        let snapshot = json!({
            "name": "nightly", "calendars": ["holidays"], "overlap": "buffer_all", "buffer_limit": 7,
            "timing": {
                "expressions": ["0 2 * * *"], "zone": "Europe/Berlin", "gap": "skip",
                "overlap": "both", "start_at": null, "end_at": null, "jitter_seconds": 5
            },
            "misfire": {
                "catch_up": "latest", "grace_seconds": 300, "max": 100, "spacing_seconds": 0,
                "window_seconds": 86_400
            },
            "group": null, "start_deadline_seconds": 60,
        });
        let rules = Rules::deserialize(&snapshot).unwrap();
        assert_eq!(rules.overlap(), Some(OverlapPolicy::BufferAll));
        assert_eq!(rules.misfire().map(|misfire| misfire.catch_up), Some(CatchUp::Latest));
        assert_eq!((rules.calendars, rules.buffer_limit), (vec!["holidays".to_owned()], Some(7)));
        assert_eq!((rules.group, rules.start_deadline_seconds), (None, Some(60)));
        assert!(Rules::deserialize(&json!({ "name": "old" })).is_err());
    }
}
