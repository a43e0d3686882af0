//! The cookie that identifies a browser in which a user has signed in before.

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderValue, header};
use tower_sessions::cookie::{Cookie, SameSite, time::Duration};

use crate::{
    access::{Device, PeopleError},
    config::Config,
    web::Web,
};

/// How long a browser is remembered after the last sign-in.
const LASTS: Duration = Duration::days(180);

/// The name of the cookie, which, like the session's, differs for each port of a host.
fn name(config: &Config) -> Cow<'static, str> {
    match config.is_secure() {
        true => "__Host-carillon-device".into(),
        false => format!("carillon-device-{}", config.listen.port()).into(),
    }
}

/// The device that the browser's cookie identifies.
pub(super) fn sent(config: &Config, headers: &HeaderMap) -> Option<Device> {
    let name = name(config);
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = texts.flat_map(Cookie::split_parse).flatten();
    cookies.find(|cookie| cookie.name() == name).and_then(|cookie| Device::parse(cookie.value()))
}

/// Remembers the browser after a sign-in. Returns the cookie to set, if the browser has none for
/// this user.
pub(super) async fn remember(
    web: &Web,
    sent: Option<Device>,
    user: &entity::user::Model,
) -> Result<Option<HeaderValue>, PeopleError> {
    let known = match sent {
        Some(device) if device.is_known(&web.store, &user.name).await? => Some(device),
        Some(_) | None => None,
    };
    // An unknown cookie may have been planted, so it is not reused.
    let (device, is_new) = match known {
        Some(device) => (device, false),
        None => (Device::new()?, true),
    };
    device.remember(&web.store, &web.clock, user.id, &user.name).await?;
    if !is_new {
        return Ok(None);
    }
    let cookie = Cookie::build((name(&web.config), device.cookie().to_owned()))
        .path("/")
        .http_only(true)
        .secure(web.config.is_secure())
        .same_site(SameSite::Lax)
        .max_age(LASTS)
        .build();
    Ok(HeaderValue::from_str(&cookie.to_string()).ok())
}
