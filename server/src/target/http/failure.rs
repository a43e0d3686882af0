use std::error::Error;

use url::Url;

use super::place::authority;
use crate::target::egress::NameRefused;

/// Why there was no usable response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HttpFailure {
    /// A step failed.
    Step(String),
    /// The time limit passed.
    TimeLimit(String),
}

/// Names the step of a request that failed. The HTTP client's own message is left out, because it
/// contains the URL.
pub(super) fn explain(error: &reqwest::Error, url: &Url) -> String {
    let place = authority(url);
    if let Some(refused) = chain(error).find_map(|cause| cause.downcast_ref::<NameRefused>()) {
        return format!("refused to connect to {place}: {refused}");
    }
    let cause = root(error);
    if error.is_dns() {
        format!("could not resolve {place}: {cause}")
    } else if chain(error).any(is_tls) {
        format!("TLS with {place} failed: {cause}")
    } else if error.is_connect() && error.is_timeout() {
        format!("could not connect to {place} within {} s", super::client::CONNECT_SECONDS)
    } else if error.is_connect() {
        format!("could not connect to {place}: {cause}")
    } else if error.is_body() || error.is_decode() {
        format!("could not read the answer of {place}: {cause}")
    } else {
        format!("could not send to {place}: {cause}")
    }
}

type Cause = dyn Error + 'static;

fn chain(error: &reqwest::Error) -> impl Iterator<Item = &Cause> {
    std::iter::successors(Some(error as &Cause), |error| beneath(*error))
}

fn beneath(error: &Cause) -> Option<&Cause> {
    // An io error displays the error that it wraps, but does not return it as its source.
    match error.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref()) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

fn is_tls(error: &Cause) -> bool {
    error.is::<rustls::Error>()
}

/// The cause at the end of the chain, unless it is the client's error itself.
fn root(error: &reqwest::Error) -> String {
    let cause = chain(error).last().filter(|last| !last.is::<reqwest::Error>());
    cause.map_or_else(|| "the client gave no reason".to_owned(), ToString::to_string)
}
