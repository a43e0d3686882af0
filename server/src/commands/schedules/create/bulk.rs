//! Many schedules in one request: either all are created, or none.

use std::collections::HashMap;

use super::{CreationContext, RefusedSchedule};
use crate::{
    access::Editor,
    commands::{BadInput, Call, CommandError, Commands, NewSchedule, Saved},
};

/// Maximum number in one request: it is one transaction, and on SQLite nothing else is written
/// meanwhile.
const MAX: usize = 1_000;

impl Commands {
    /// Creates schedules, in the given order. If one cannot be created, the request is refused, and
    /// the error names it by its position.
    pub async fn create_schedules(
        &self,
        right: &Editor,
        all: Vec<NewSchedule>,
        call: &Call,
    ) -> Result<Vec<Saved>, CommandError> {
        if all.is_empty() || all.len() > MAX {
            let problem = if all.is_empty() { "is empty" } else { "are too many" };
            let help = format!("give 1 to {MAX}, and the others in another call");
            return Err(BadInput::new("inputs", all.len(), problem, help).into());
        }
        named_once(&all)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let mut namespaces = HashMap::new();
        let mut placed = Vec::with_capacity(all.len());
        for (index, new) in all.into_iter().enumerate() {
            let id = match namespaces.get(&new.namespace) {
                Some(id) => *id,
                None => {
                    let found = self.namespace(&tx, right.permit(), &new.namespace).await;
                    let id = found.map_err(|error| missing(index, &new.namespace, error))?;
                    namespaces.insert(new.namespace.clone(), id);
                    id
                }
            };
            placed.push((id, new));
        }
        let site = CreationContext { tx: &tx, who: right.who(), module: None };
        let saved = self.create_all(site, placed).await.map_err(at_place)?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
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
    BadInput::new(field, name, "does not exist", "name a namespace that is there").into()
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
