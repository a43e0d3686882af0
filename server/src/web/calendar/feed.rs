use std::net::SocketAddr;

use axum::{
    extract::{ConnectInfo, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use entity::calendar_feed::Kind;
use serde::Deserialize;

use super::{
    ics,
    opened::{answer, opened, place_for, refused, without_token},
};
use crate::{
    commands::feeds,
    web::{Web, refusal::Refusal},
};

/// How long a calendar program may use its copy of the feed.
const CACHED: &str = "private, max-age=300";

/// The key of the feed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::web) struct CalendarQuery {
    token: String,
}

/// The calendar of a feed.
pub(in crate::web) async fn feed(
    State(web): State<Web>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    asked: Result<Query<CalendarQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Ok(Query(CalendarQuery { token })) = asked else { return Err(without_token()) };
    let opened = opened(&web, peer, &headers, Kind::Calendar, &token).await?;
    let _place = place_for(&web, &opened).await?;
    let found = feeds::events(&web.commands, &opened).await;
    let (events, is_whole) = found.map_err(refused)?;
    let name = format!("{} ({})", opened.feed.name, opened.namespace);
    let link = web.config.public_url.as_deref();
    let body = ics::calendar(&name, &events, is_whole, link);
    let mut answer = answer(&headers, CACHED, "text/calendar; charset=utf-8", body);
    let named = HeaderValue::from_static("inline; filename=\"carillon.ics\"");
    answer.headers_mut().insert(header::CONTENT_DISPOSITION, named);
    Ok(answer)
}
