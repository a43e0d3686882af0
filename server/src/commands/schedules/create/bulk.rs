//! Creates many schedules in one request: either all of them or none.

use std::collections::HashMap;

use sea_orm::ConnectionTrait;
use timetable::MAX_CALENDARS;
use uuid::Uuid;

use super::{CreationContext, RefusedSchedule};
use crate::{
    access::Editor,
    commands::{
        BadInput, Call, CommandError, Commands, NewSchedule, SavedSchedule,
        schedules::foreseen::{ForeseenTiming, PlannedTiming},
        workflows::forms_of,
    },
};

/// Maximum number of schedules in one request, because it is one transaction and SQLite allows no
/// other write meanwhile.
const MAX: usize = 1_000;

impl Commands {
    /// Creates schedules in the given order. If one cannot be created, the request is refused, and
    /// the error names that schedule's position.
    pub async fn create_schedules(
        &self,
        right: &Editor,
        all: Vec<NewSchedule>,
        call: &Call,
    ) -> Result<Vec<SavedSchedule>, CommandError> {
        if all.is_empty() || all.len() > MAX {
            let problem = if all.is_empty() { "is empty" } else { "are too many" };
            let help = format!("give 1 to {MAX}, and the rest in another call");
            return Err(BadInput::new("inputs", all.len(), problem, help).into());
        }
        named_once(&all)?;
        if let Some(earlier) = self.recall_early(right.who(), call).await? {
            return Ok(earlier);
        }
        let namespaces = self.namespaces_of(self.store.read(), right, &all).await?;
        let forms = all.iter().map(|new| forms_of(&new.work, None)).collect();
        let judged =
            self.judge_each(namespaces.first().copied().unwrap_or_default(), forms).await?;
        let timings = self.foresee_new(&namespaces, &all).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespaces = self.namespaces_of(&tx, right, &all).await?;
        let placed = namespaces.into_iter().zip(all).collect();
        let (judged, who) = (&*judged, right.who());
        let timings: Vec<Option<&ForeseenTiming>> = timings.iter().map(Option::as_ref).collect();
        let site = CreationContext { tx: &tx, who, judged, timings: &timings, module: None };
        let saved = self.create_all(site, placed).await.map_err(at_place)?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// Works out the timings of new schedules, each in its namespace, before their transaction.
    async fn foresee_new(
        &self,
        namespaces: &[Uuid],
        all: &[NewSchedule],
    ) -> Result<Vec<Option<ForeseenTiming>>, CommandError> {
        let mut names: HashMap<Uuid, Vec<String>> = HashMap::new();
        for (namespace, new) in namespaces.iter().zip(all) {
            // A schedule that names more is refused in the transaction.
            let named = new.spec.calendars.iter().take(MAX_CALENDARS).cloned();
            names.entry(*namespace).or_default().extend(named);
        }
        let mut known = HashMap::with_capacity(names.len());
        for (namespace, names) in names {
            known.insert(namespace, self.foreseen_calendars(namespace, names).await?);
        }
        let plan = |(namespace, new): (&Uuid, &NewSchedule)| {
            let (begin, known) = (self.begin(), known.get(namespace)?);
            let definition = new.spec.timing.definition(begin.id, begin.anchor);
            PlannedTiming::new(Some(begin), definition, &new.spec.calendars, known)
        };
        let planned = namespaces.iter().zip(all).map(plan).collect();
        let home = namespaces.first().copied().unwrap_or_default();
        self.foresee_timings(home, planned).await
    }

    /// The namespace of each schedule.
    async fn namespaces_of<C: ConnectionTrait>(
        &self,
        connection: &C,
        right: &Editor,
        all: &[NewSchedule],
    ) -> Result<Vec<Uuid>, CommandError> {
        let mut known = HashMap::new();
        let mut namespaces = Vec::with_capacity(all.len());
        for (index, new) in all.iter().enumerate() {
            let id = match known.get(&new.namespace) {
                Some(id) => *id,
                None => {
                    let found = self.namespace(connection, right.permit(), &new.namespace).await;
                    let id = found.map_err(|error| missing(index, &new.namespace, error))?;
                    known.insert(&new.namespace, id);
                    id
                }
            };
            namespaces.push(id);
        }
        Ok(namespaces)
    }
}

/// Refuses duplicate names.
fn named_once(all: &[NewSchedule]) -> Result<(), BadInput> {
    let mut seen = HashMap::with_capacity(all.len());
    for (index, new) in all.iter().enumerate() {
        let name = &new.spec.name;
        if let Some(earlier) = seen.insert((&new.namespace, name), index) {
            let problem = format!("is the name of inputs[{earlier}], too");
            let field = format!("inputs[{index}].name");
            return Err(BadInput::new(field, name, problem, "choose another name"));
        }
    }
    Ok(())
}

fn missing(index: usize, name: &str, error: CommandError) -> CommandError {
    if !matches!(error, CommandError::NotFound { .. }) {
        return error;
    }
    let field = format!("inputs[{index}].namespace");
    BadInput::new(field, name, "does not exist", "name an existing namespace").into()
}

fn at_place(refused: RefusedSchedule) -> CommandError {
    let RefusedSchedule { index, error } = refused;
    let CommandError::BadInput(bad) = *error else { return *error };
    bad.inside(&format!("inputs[{index}]")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_place_and_the_field() {
        let bad = BadInput::new("timing.zone", "Mars", "does not exist", "name a zone");
        let error = at_place(RefusedSchedule::at(7, bad));
        assert_eq!(
            error.to_string(),
            "inputs[7].timing.zone \"Mars\": does not exist; name a zone"
        );
    }
}
