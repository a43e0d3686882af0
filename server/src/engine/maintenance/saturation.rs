//! Checks for `/healthz` whether a node has places for the runs that wait for one.

use chrono::{DateTime, Utc};
use entity::Timestamp;

use crate::{
    clock::Clock,
    config,
    engine::{
        maintenance::health::Check,
        places::{HeldBack, PlaceHolder, Places},
    },
    store::{
        Store, StoreError,
        reads::placement::{self, MAX_COUNTED, Sharing},
    },
};

/// Maximum number of holders of places that are reported.
const MAX_TOLD: usize = 3;

/// Checks this node's places: which holders have had their full share for longer than the limit,
/// and how many runs wait because of that. A namespace that has reached its quota is not a problem
/// of the node; one that waits for the places that are left to others is.
pub(in crate::engine) async fn check(
    store: &Store,
    clock: &Clock,
    places: &Places,
    limits: &config::Health,
) -> Result<Check, StoreError> {
    let now = clock.now();
    let is_long =
        |since: DateTime<Utc>| (now - since).to_std().unwrap_or_default() >= limits.saturated.0;
    let (capacity, held) = (places.capacity(), places.held());
    let mut issues = Vec::new();
    let mut bare = Vec::new();
    if let Some(since) = places.full_since().filter(|since| is_long(*since)) {
        let since = shown(since);
        issues.push(format!("all {capacity} places of this node are taken since {since}"));
        bare.extend(issues.last().cloned());
    }
    let long = places.held_back().into_iter().filter(|one| !one.is_quota && is_long(one.since));
    for HeldBack { holder, held, since, .. } in long.take(MAX_TOLD) {
        let sharing = match &holder {
            PlaceHolder::Origin(origin) => Sharing::Origin(origin.to_string()),
            PlaceHolder::Schedule(id) => Sharing::Schedule(*id),
            PlaceHolder::Namespace(id) => Sharing::Namespace(*id),
        };
        let waiting = placement::waiting_for_share(store, &sharing, Timestamp::from(now)).await?;
        let waiting = match waiting {
            MAX_COUNTED.. => format!("at least {MAX_COUNTED} runs wait"),
            1 => "1 run waits".to_owned(),
            waiting => format!("{waiting} runs wait"),
        };
        let told = |who: &str| {
            format!(
                "{who} holds {held} of the {capacity} places of this node, its share, and \
                 {waiting} for one of them since {}: check whether it hangs, shorten its timeout, \
                 or raise node.capacity",
                shown(since)
            )
        };
        issues.push(told(&holder.to_string()));
        bare.push(told(&format!("one {}", holder.kind())));
    }
    let text = |issues: Vec<String>| (!issues.is_empty()).then(|| issues.join("; "));
    Ok(Check {
        name: "places",
        healthy: issues.is_empty(),
        value: format!("{held}/{capacity}"),
        limit: None,
        issue: text(issues),
        bare: text(bare),
        nodes: vec![],
    })
}

fn shown(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}
