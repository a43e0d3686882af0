use std::net::SocketAddr;

use axum::{
    extract::{ConnectInfo, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use entity::calendar_feed::Kind;
use serde::Deserialize;

use super::{
    ics,
    opened::{answer, opened, place_for, refused, without_token},
};
use crate::{
    commands::feeds::{self, FeedContent},
    web::{Web, refusal::Refusal},
};

/// How long a calendar program may use its copy of the feed.
const CACHED: &str = "private, max-age=300";

/// The key of the feed, and the kinds of events to show: `runs,pauses`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::web) struct CalendarQuery {
    token: String,
    include: Option<String>,
}

/// The calendar of a feed.
pub(in crate::web) async fn feed(
    State(web): State<Web>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    asked: Result<Query<CalendarQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Ok(Query(CalendarQuery { token, include })) = asked else { return Err(without_token()) };
    let content = include.map_or(Some(FeedContent::ALL), |kinds| FeedContent::parse(&kinds));
    let Some(content) = content else {
        let text = "`include` is a list of `runs`, `pauses` and `calendars`, separated by commas";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, text));
    };
    let opened = opened(&web, peer, &headers, Kind::Calendar, &token).await?;
    let _place = place_for(&web, &opened).await?;
    let found = feeds::events(&web.commands, &opened, content).await;
    let (events, is_whole) = found.map_err(refused)?;
    let name = format!("{} ({})", opened.feed.name, opened.namespace);
    let link = web.config.public_url.as_deref();
    let body = ics::calendar(&name, &events, is_whole, link);
    let mut answer = answer(&headers, CACHED, "text/calendar; charset=utf-8", body);
    let named = HeaderValue::from_static("inline; filename=\"carillon.ics\"");
    answer.headers_mut().insert(header::CONTENT_DISPOSITION, named);
    Ok(answer)
}
