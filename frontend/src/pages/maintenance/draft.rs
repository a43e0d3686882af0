//! The form's state of a window.

use leptos::prelude::*;

use crate::{
    api::maintenance::WindowInput,
    model::{CatchUp, Failure, MaintenanceWindow},
    pages::{actions::effect::CHOICES, kit::KeptFields},
    time::{Moment, Wall, browser_zone},
};

const HOUR_MS: i64 = 3_600_000;

/// A bound of an existing window: as the form shows it, and exactly.
#[derive(Clone, Debug, PartialEq)]
struct KnownBound {
    text: String,
    at: Moment,
}

/// The fields. Instants are texts on the browser's clock.
#[derive(Clone, Copy)]
pub(super) struct Draft {
    pub(super) title: RwSignal<String>,
    pub(super) ticket: RwSignal<String>,
    pub(super) search: RwSignal<String>,
    pub(super) from: RwSignal<String>,
    pub(super) to: RwSignal<String>,
    /// The name of the policy for missed fires.
    pub(super) missed: RwSignal<String>,
    /// The bounds of an existing window.
    known: StoredValue<Option<(KnownBound, KnownBound)>>,
}

impl Draft {
    /// A new window for the schedules that a search finds: the next whole hour.
    pub(super) fn new(search: String) -> Self {
        let next = Moment::from_millis((Moment::now().millis() / HOUR_MS + 1) * HOUR_MS);
        Self {
            title: RwSignal::new(String::new()),
            ticket: RwSignal::new(String::new()),
            search: RwSignal::new(search),
            from: RwSignal::new(local(next)),
            to: RwSignal::new(local(next.later(HOUR_MS))),
            missed: RwSignal::new("skip".to_owned()),
            known: StoredValue::new(None),
        }
    }

    pub(super) fn of(window: &MaintenanceWindow) -> Self {
        let bound = |at: Moment| KnownBound { text: local(at), at };
        let (start, end) = (bound(window.starts_at), bound(window.ends_at));
        let missed = CHOICES.iter().find(|(.., choice)| *choice == window.missed);
        Self {
            title: RwSignal::new(window.title.clone()),
            ticket: RwSignal::new(window.ticket.clone().unwrap_or_default()),
            search: RwSignal::new(window.search().to_owned()),
            from: RwSignal::new(start.text.clone()),
            to: RwSignal::new(end.text.clone()),
            missed: RwSignal::new(missed.map_or("skip", |(name, ..)| *name).to_owned()),
            known: StoredValue::new(Some((start, end))),
        }
    }

    /// The fields that are kept until they are sent.
    pub(super) fn kept(self) -> KeptFields {
        KeptFields::new()
            .with("title", self.title)
            .with("ticket", self.ticket)
            .with("search", self.search)
            .with("from", self.from)
            .with("to", self.to)
            .with("missed", self.missed)
    }

    /// Lets the window end this many hours after it begins; without a beginning, it begins now.
    pub(super) fn last(self, hours: i64) {
        let begins = Moment::parse_local(&self.from.get_untracked()).unwrap_or_else(|| {
            let now = Moment::now();
            self.from.set(local(now));
            now
        });
        self.to.set(local(begins.later(hours * HOUR_MS)));
    }

    /// The window as entered in the form; tracked.
    ///
    /// # Errors
    /// The first field that is missing or cannot be read.
    pub(super) fn read(self, namespace: String) -> Result<WindowInput, Failure> {
        let title = self.title.get().trim().to_owned();
        let input = self.read_what_it_pauses(namespace)?;
        if title.is_empty() {
            return Err(Failure::of_field("title", "Give it a title, such as Database move."));
        }
        Ok(WindowInput { title, ticket: given(&self.ticket.get()), ..input })
    }

    /// The window without its title and ticket, which a preview does not depend on; tracked.
    ///
    /// # Errors
    /// The first bound that is missing or cannot be read.
    pub(super) fn read_what_it_pauses(self, namespace: String) -> Result<WindowInput, Failure> {
        let (from, to, missed) = (self.from.get(), self.to.get(), self.missed.get());
        let search = given(&self.search.get());
        let known = self.known.get_value();
        let (start, end) = known.as_ref().map(|(start, end)| (start, end)).unzip();
        Ok(WindowInput {
            namespace,
            title: "Maintenance".to_owned(),
            ticket: None,
            search,
            starts_at: bound("startsAt", &from, start)?,
            ends_at: bound("endsAt", &to, end)?,
            missed: policy(&missed),
        })
    }
}

/// The instant of a field. The field of a bound that is not changed may show less than the bound has.
fn bound(field: &str, text: &str, known: Option<&KnownBound>) -> Result<Moment, Failure> {
    if let Some(known) = known.filter(|known| known.text == text) {
        return Ok(known.at);
    }
    let at = Moment::parse_local(text);
    at.ok_or_else(|| Failure::of_field(field, "Choose a date and a time."))
}

/// A text, unless it is empty.
fn given(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The policy with this name.
fn policy(name: &str) -> CatchUp {
    CHOICES.iter().find(|(known, ..)| *known == name).map_or(CatchUp::Skip, |(.., choice)| *choice)
}

/// An instant in the format of a `datetime-local` field: on the browser's clock, without a zone. Seconds are only in it
/// if there are some.
fn local(at: Moment) -> String {
    let wall = Wall::read(at, &browser_zone()).unwrap_or_default();
    let time = wall.time.strip_suffix(":00").unwrap_or(&wall.time);
    format!("{}T{time}", wall.date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_is_not_changed_keeps_what_its_field_does_not_show() {
        let at = Moment::from_millis(1);
        let known = KnownBound { text: "2026-12-01T03:00".into(), at };
        assert_eq!(bound("startsAt", "2026-12-01T03:00", Some(&known)), Ok(at));
    }

    #[test]
    fn an_empty_search_selects_every_schedule() {
        assert_eq!([given(""), given("  ")], [None, None]);
        assert_eq!(given(" tag:billing "), Some("tag:billing".to_owned()));
    }

    #[test]
    fn each_policy_has_a_name() {
        let all = [("skip", CatchUp::Skip), ("latest", CatchUp::Latest), ("all", CatchUp::All)];
        for (name, choice) in all {
            assert_eq!(policy(name), choice);
        }
    }
}
