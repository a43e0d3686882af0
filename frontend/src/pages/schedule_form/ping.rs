//! The fields of the watchdog: the addresses that the schedule calls.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::{
    address::{reveals_nothing, shown},
    errors::Errors,
};
use crate::{
    components::Field,
    model::{Failure, Ping},
    pages::{
        suggest,
        task_form::{ENTER_AGAIN, LostCredentials, given},
    },
};

type Text = RwSignal<String>;

/// The addresses, as text. A copy contains the same handles.
#[derive(Clone, Copy)]
pub(super) struct PingFields {
    success: Text,
    start: Text,
    failure: Text,
    lost: LostCredentials,
}

/// The addresses of a watchdog.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PingPlan {
    pub(super) success: String,
    pub(super) start: Option<String>,
    pub(super) failure: Option<String>,
}

impl PingFields {
    pub(super) fn new() -> Self {
        let text = || RwSignal::new(String::new());
        Self { success: text(), start: text(), failure: text(), lost: LostCredentials::new() }
    }

    /// Fills the fields with the addresses as the server shows them.
    pub(super) fn set(self, ping: &Ping) {
        self.success.set(ping.success.clone());
        self.start.set(ping.start.clone().unwrap_or_default());
        self.failure.set(ping.failure.clone().unwrap_or_default());
    }

    pub(super) fn clear(self) {
        for (_, text) in self.texts() {
            text.set(String::new());
        }
    }

    /// The texts, each with its name in a draft.
    pub(super) fn texts(self) -> [(&'static str, Text); 3] {
        [("ping_success", self.success), ("ping_start", self.start), ("ping_failure", self.failure)]
    }

    /// The addresses that a draft may save, each with its name; tracked.
    pub(super) fn open_texts(self) -> impl Iterator<Item = (&'static str, String)> {
        let texts = self.texts().map(|(name, text)| (name, text.get()));
        texts.into_iter().filter(|(_, address)| reveals_nothing(address))
    }

    /// The names of the addresses that a draft does not contain; tracked.
    pub(super) fn left_out(self) -> Vec<&'static str> {
        let is_out = |(name, text): &(&'static str, Text)| {
            text.with(|address| !reveals_nothing(address)) || self.lost.has(name, *text)
        };
        self.texts().into_iter().filter(is_out).map(|(name, _)| name).collect()
    }

    /// Marks the addresses that a draft did not contain, once the draft's texts are restored.
    pub(super) fn set_lost(self, names: &[&str]) {
        self.lost.set(self.texts().into_iter().filter(|(name, _)| names.contains(name)));
    }

    /// Descriptions of the addresses that a draft lost and that were not entered again; tracked.
    pub(super) fn lost_words(self) -> Vec<&'static str> {
        let is_missed = |(name, text): &(&'static str, Text)| self.lost.has(name, *text);
        self.texts().into_iter().filter(is_missed).map(|(name, _)| words(name)).collect()
    }

    /// The addresses; `None` if there is no watchdog.
    ///
    /// # Errors
    /// If only the address for successes is missing.
    pub(super) fn plan(self) -> Result<Option<PingPlan>, Failure> {
        let address = |text| given(text).map(|address| address.trim().to_owned());
        let [success, start, failure] = [self.success, self.start, self.failure].map(address);
        match success {
            Some(success) => Ok(Some(PingPlan { success, start, failure })),
            None if start.is_none() && failure.is_none() => Ok(None),
            None => Err(Failure::of_field(
                "ping.success",
                "Enter this address as well: a watchdog waits for successes.",
            )),
        }
    }
}

impl PingPlan {
    /// The addresses in the form of a module file, with the mask for what is secret.
    pub(super) fn in_module(&self) -> Value {
        let mut keys = json!({ "success": shown(&self.success) });
        for (key, address) in [("start", &self.start), ("failure", &self.failure)] {
            if let Some(address) = address {
                keys[key] = json!(shown(address));
            }
        }
        keys
    }
}

/// The section with the addresses.
pub(super) fn ping(fields: PingFields, errors: Errors) -> AnyView {
    let secrets = suggest::secrets();
    let field = move |label: &'static str, (name, text): (&'static str, Text), wrong| {
        Field::new(name, label, text)
            .kind("url")
            .code()
            .picks(secrets)
            .note_while(ENTER_AGAIN, move || fields.lost.has(name, text))
            .error(errors.of(&[wrong]))
    };
    let [success, start, failure] = fields.texts();
    let has_more = untrack(|| {
        [start, failure].iter().any(|(name, text)| {
            text.with(|address| !address.is_empty()) || fields.lost.has(name, *text)
        })
    });
    view! {
        <fieldset class="panel form-section">
            <legend>"Watchdog"</legend>
            {field("Address called after a success", success, "ping.success")
                .hint("An external watchdog raises an alarm when the calls stop. Empty: none. Type {{ to insert a secret; *** keeps a hidden part.")
                .text()}
            <details class="more" open=has_more>
                <summary>"Also at a start and after a failure"</summary>
                <div class="field-grid">
                    {field("Address called at a start", start, "ping.start").text()}
                    {field("Address called after a failure", failure, "ping.failure").text()}
                </div>
            </details>
        </fieldset>
    }
    .into_any()
}

/// A description of an address, by its name in a draft.
fn words(name: &str) -> &'static str {
    match name {
        "ping_success" => "address called after a success",
        "ping_start" => "address called at a start",
        _ => "address called after a failure",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watchdog_needs_the_address_for_successes() {
        Owner::new().with(|| {
            let fields = PingFields::new();
            let plan = || untrack(|| fields.plan());
            assert_eq!(plan(), Ok(None));
            fields.failure.set("https://hc.example/{{ secrets.a }}/fail".to_owned());
            assert_eq!(plan().unwrap_err().field.as_deref(), Some("ping.success"));
            fields.success.set(" https://hc.example/hush ".to_owned());
            let plan = plan().unwrap().unwrap();
            assert_eq!(
                (plan.success.as_str(), plan.start.as_ref()),
                ("https://hc.example/hush", None)
            );
            let in_module = json!({
                "success": "https://hc.example/***",
                "failure": "https://hc.example/{{ secrets.a }}/***",
            });
            assert_eq!(plan.in_module(), in_module);
        });
    }
}
