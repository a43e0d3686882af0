//! The addresses that a schedule calls about its runs.

use entity::ping::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::target::{Http, Method, SecretText, Target};

/// The addresses that a schedule calls. An address may name secrets, such as
/// `https://watchdog.example/{{ secrets.nightly }}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Called when a run has succeeded.
    pub success: SecretText,
    /// Called when a run starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<SecretText>,
    /// Called when a run has failed, or timed out, after all of its attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<SecretText>,
}

impl Ping {
    /// The address for this event, if there is one.
    pub fn address(&self, event: Event) -> Option<&SecretText> {
        match event {
            Event::Start => self.start.as_ref(),
            Event::Success => Some(&self.success),
            Event::Failure => self.failure.as_ref(),
        }
    }

    /// All addresses, with their fields.
    pub fn addresses(&self) -> impl Iterator<Item = (&'static str, &SecretText)> {
        let all = [
            ("success", Some(&self.success)),
            ("start", self.start.as_ref()),
            ("failure", self.failure.as_ref()),
        ];
        all.into_iter().filter_map(|(field, address)| Some((field, address?)))
    }

    /// These addresses, each changed by `change`.
    #[must_use]
    pub fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let change = |address: &SecretText| SecretText::new(change(address.expose()));
        Self {
            success: change(&self.success),
            start: self.start.as_ref().map(change),
            failure: self.failure.as_ref().map(change),
        }
    }

    /// The request that calls this address.
    pub fn request(address: &SecretText) -> Target {
        Target::Http(Http { method: Method::Get, ..Http::post(address.expose()) })
    }
}
