use std::net::SocketAddr;

use axum::{
    extract::{ConnectInfo, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::Response,
};
use entity::calendar_feed::Kind;
use serde::Deserialize;
use serde_json::json;

use super::{
    opened::{answer, opened, place_for, refused, without_token},
    svg::{self, BadgeLook},
};
use crate::{
    commands::feeds::{self, BadgeCounts, OpenFeed},
    engine::maintenance::health::{JudgedBudget, judged_budgets},
    store::{
        StoreError,
        reads::{health::HealthScope, within::Within},
    },
    web::{Web, refusal::Refusal},
};

/// How long a browser or a proxy may cache a badge.
const CACHED: &str = "max-age=60";

/// Maximum length of the text on the left.
const MAX_LABEL: usize = 64;

/// The token of a badge, and the text on its left.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::web) struct BadgeQuery {
    token: String,
    label: Option<String>,
}

/// The contents of a badge.
struct Said {
    label: String,
    message: String,
    look: BadgeLook,
}

/// The badge as an image.
pub(in crate::web) async fn picture(
    State(web): State<Web>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    asked: Result<Query<BadgeQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Said { label, message, look } = said(&web, peer, &headers, asked).await?;
    let picture = svg::badge(&label, &message, look);
    let mut answer = answer(&headers, CACHED, "image/svg+xml; charset=utf-8", picture);
    // Pages of other sites may show the image. Opened on its own, it must not run scripts.
    let head = answer.headers_mut();
    let (anywhere, nothing) = ("cross-origin", "default-src 'none'");
    let policy = HeaderName::from_static("cross-origin-resource-policy");
    head.insert(policy, HeaderValue::from_static(anywhere));
    head.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(nothing));
    Ok(answer)
}

/// The badge as data, in the format that Shields expects from an endpoint.
pub(in crate::web) async fn endpoint(
    State(web): State<Web>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    asked: Result<Query<BadgeQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Said { label, message, look } = said(&web, peer, &headers, asked).await?;
    let body = json!({
        "schemaVersion": 1, "label": label, "message": message, "color": look.name(),
        "isError": look == BadgeLook::Failing,
    });
    Ok(answer(&headers, CACHED, "application/json", body.to_string()))
}

async fn said(
    web: &Web,
    peer: SocketAddr,
    headers: &HeaderMap,
    asked: Result<Query<BadgeQuery>, QueryRejection>,
) -> Result<Said, Refusal> {
    let Ok(Query(BadgeQuery { token, label })) = asked else { return Err(without_token()) };
    let opened = opened(web, peer, headers, Kind::Badge, &token).await?;
    let _place = place_for(web, &opened).await?;
    let standing = feeds::standing(&web.commands, &opened).await.map_err(refused)?;
    let budget = budget(web, &opened).await.map_err(|error| Refusal::internal(&error))?;
    let judged = budget.as_ref().and_then(by_budget);
    let label = label.filter(|label| !label.trim().is_empty());
    let label = label.or_else(|| standing.schedule.clone()).unwrap_or(opened.feed.name);
    let (message, look) = judged.unwrap_or_else(|| message(&standing));
    Ok(Said { label: label.chars().take(MAX_LABEL).collect(), message, look })
}

/// The budget of the tag that a badge shows, if it has one.
async fn budget(web: &Web, opened: &OpenFeed) -> Result<Option<JudgedBudget>, StoreError> {
    let Some(tag) = feeds::tag_of(opened) else { return Ok(None) };
    let scope = HealthScope { within: Within::One(opened.feed.namespace_id), tag: Some(tag) };
    let (now, limits) = (web.clock.now().into(), &web.config.health);
    Ok(judged_budgets(&web.store, &scope, now, limits).await?.pop())
}

/// The text of a badge of a tag with a budget. `None` if all is within a budget that tolerates no
/// failed runs of its own: then the last runs decide, as without a budget.
fn by_budget(budget: &JudgedBudget) -> Option<(String, BadgeLook)> {
    let exceeded = budget.figures().into_iter().find(|figure| figure.is_exceeded());
    let Some(figure) = exceeded else {
        let tolerates = budget.failed.own.is_some();
        return tolerates.then(|| ("within budget".to_owned(), BadgeLook::Passing));
    };
    let value = figure.value.unwrap_or(0);
    let what = match figure.name {
        "late" => format!("{value} ms late"),
        name => format!("{value} {name}"),
    };
    Some((format!("over budget: {what}"), BadgeLook::Failing))
}

/// The text of a badge. Paused schedules are mentioned only if there are no others.
fn message(standing: &BadgeCounts) -> (String, BadgeLook) {
    let BadgeCounts { passing, failing, unknown, paused, .. } = *standing;
    let is_one = standing.schedule.is_some();
    let active = passing + failing + unknown;
    match (failing, passing) {
        _ if standing.total() == 0 && is_one => ("deleted".to_owned(), BadgeLook::Neutral),
        _ if standing.total() == 0 => ("no schedules".to_owned(), BadgeLook::Neutral),
        _ if active == 0 && is_one => ("paused".to_owned(), BadgeLook::Neutral),
        _ if active == 0 => (format!("{paused} paused"), BadgeLook::Neutral),
        (0, 0) => ("no runs yet".to_owned(), BadgeLook::Neutral),
        (0, _) if is_one => ("passing".to_owned(), BadgeLook::Passing),
        (0, passing) => (format!("{passing} passing"), BadgeLook::Passing),
        (_, _) if is_one => ("failing".to_owned(), BadgeLook::Failing),
        (failing, _) => (format!("{failing} of {active} failing"), BadgeLook::Failing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badge_shows_the_worst_state() {
        let of = |passing, failing, unknown, paused, schedule: Option<&str>| {
            let schedule = schedule.map(str::to_owned);
            message(&BadgeCounts { schedule, passing, failing, unknown, paused }).0
        };
        assert_eq!(of(0, 0, 0, 0, None), "no schedules");
        assert_eq!(of(12, 0, 1, 3, None), "12 passing");
        assert_eq!(of(12, 2, 0, 5, None), "2 of 14 failing");
        assert_eq!(of(0, 0, 0, 5, None), "5 paused");
        assert_eq!(of(0, 0, 2, 0, None), "no runs yet");
        assert_eq!(of(1, 0, 0, 0, Some("nightly")), "passing");
        assert_eq!(of(0, 1, 0, 0, Some("nightly")), "failing");
        assert_eq!(of(0, 0, 0, 1, Some("nightly")), "paused");
    }
}
