//! Judging definitions before a transaction begins.
//!
//! Checking a definition parses each of its templates, which takes a while for large ones, and
//! SQLite has a single writer that the engine shares. So a command judges a definition first, in the
//! form in which it would be stored, on a blocking thread, in one of the few places that its
//! namespace has. Inside its transaction it computes that form once more, from the rows that count
//! then, and only compares.

use entity::schedule;
use uuid::Uuid;

use super::{
    DefinitionPlace, ScheduleWork, bad_definition,
    checks::{in_task, refusals, retain},
};
use crate::{
    access::{Editor, Permit},
    commands::{BadInput, CommandError, Commands, secrets::unset::UsedSecrets},
    model::Definition,
    store::{StoreError, schedules, workflows},
    target::Executor,
};

/// The verdicts on the forms in which a definition may be stored. If there are no forms, no
/// definition passes.
#[derive(Debug, Default)]
pub(in crate::commands) struct Judgement(Vec<JudgedDefinition>);

/// A definition in the form in which it would be stored, and the verdict on it.
#[derive(Debug)]
struct JudgedDefinition {
    definition: Definition,
    refused: Option<DefinitionRefusal>,
    secrets: UsedSecrets,
}

/// Why a definition is refused.
#[derive(Clone, Debug)]
pub(super) enum DefinitionRefusal {
    /// The task at this position is refused. The error's field begins with `task`.
    Task(usize, BadInput),
    /// The text as a whole is refused.
    Text(BadInput),
}

impl DefinitionRefusal {
    /// The error for a definition in this place of the input.
    pub(super) fn at(self, at: DefinitionPlace<'_>) -> BadInput {
        match self {
            Self::Task(index, bad) => in_task(bad, &at.task(index)),
            Self::Text(bad) => BadInput { field: at.field().to_owned(), ..bad },
        }
    }
}

impl Judgement {
    /// The judgement on a definition from the history, which was checked when it was saved.
    pub(in crate::commands) fn of_stored(definition: Definition) -> Self {
        let secrets = UsedSecrets::of(&definition);
        Self(vec![JudgedDefinition { definition, refused: None, secrets }])
    }

    /// Restores the masked secrets of a definition from `old`, and refuses it if the judgement does;
    /// otherwise returns the secrets that it uses. The definition must be one that was judged.
    ///
    /// # Errors
    ///
    /// [`CommandError::BadInput`] if the definition cannot be run here, [`CommandError::Conflict`]
    /// if it would be stored in a form that was not judged, because the stored definition has
    /// changed meanwhile.
    pub(in crate::commands) fn pass(
        &self,
        at: DefinitionPlace<'_>,
        definition: &mut Definition,
        old: Option<&Definition>,
    ) -> Result<&UsedSecrets, CommandError> {
        // The shape is validated first, because it limits the number of tasks to check.
        definition.validate().map_err(|problem| bad_definition(at, problem))?;
        definition.tasks_before().map_err(|problem| bad_definition(at, problem))?;
        if let Some(refusal) = restore(definition, old) {
            return Err(refusal.at(at).into());
        }
        let judged = self.of(definition)?;
        match judged.refused.clone() {
            Some(refusal) => Err(refusal.at(at).into()),
            None => Ok(&judged.secrets),
        }
    }

    /// The secrets that a stored definition uses.
    pub(in crate::commands) fn secrets_of(
        &self,
        definition: &Definition,
    ) -> Result<&UsedSecrets, CommandError> {
        Ok(&self.of(definition)?.secrets)
    }

    fn of(&self, definition: &Definition) -> Result<&JudgedDefinition, CommandError> {
        let found = self.0.iter().find(|judged| judged.definition == *definition);
        found.ok_or_else(changed_meanwhile)
    }
}

/// The refusal of a change whose base has changed since it was judged.
pub(in crate::commands) fn changed_meanwhile() -> CommandError {
    CommandError::conflict("what this change is based on has just changed", "try again")
}

impl Commands {
    /// Judges a definition of the namespace that replaces `old`. Must not be called while holding a
    /// transaction: it may take a while.
    pub(in crate::commands) async fn judge(
        &self,
        namespace: Uuid,
        definition: &Definition,
        old: Option<&Definition>,
    ) -> Result<Judgement, CommandError> {
        self.judge_forms(namespace, restored(definition, old).into_iter().collect()).await
    }

    /// Judges the own task of a new schedule, if it has one. A caller who may not create anything
    /// in the namespace is refused first.
    pub(in crate::commands) async fn judge_new(
        &self,
        right: &Editor,
        namespace: &str,
        work: &ScheduleWork,
    ) -> Result<Judgement, CommandError> {
        let forms = forms_of(work, None);
        if forms.is_empty() {
            return Ok(Judgement::default());
        }
        let namespace = self.namespace(self.store.read(), right.permit(), namespace).await?;
        self.judge_forms(namespace, forms).await
    }

    /// Judges the own task of a changed schedule. If the caller may not change the schedule,
    /// nothing is judged: the transaction refuses the call.
    pub(in crate::commands) async fn judge_edit(
        &self,
        permit: Permit<'_>,
        id: Uuid,
        work: Option<&ScheduleWork>,
    ) -> Result<Judgement, CommandError> {
        let Some(work) = work.filter(|work| matches!(work, ScheduleWork::Task(_))) else {
            return Ok(Judgement::default());
        };
        let read = self.store.read();
        let Some(row) = self.visible_schedule(permit, id).await? else {
            return Ok(Judgement::default());
        };
        let old = match workflows::by_ids(read, &[row.workflow_id]).await?.pop() {
            // An unreadable definition has no secrets that could be kept.
            Some(workflow) => self.definition_of(read, &workflow).await.ok(),
            None => None,
        };
        self.judge_forms(row.namespace_id, forms_of(work, old.as_ref())).await
    }

    /// The schedule, read outside a transaction, if the permission covers it.
    pub(in crate::commands) async fn visible_schedule(
        &self,
        permit: Permit<'_>,
        id: Uuid,
    ) -> Result<Option<schedule::Model>, StoreError> {
        let row = schedules::by_id(self.store.read(), id).await?;
        Ok(row.filter(|row| permit.over(row.namespace_id, "schedule", id).is_ok()))
    }

    async fn judge_forms(
        &self,
        namespace: Uuid,
        forms: Vec<Definition>,
    ) -> Result<Judgement, CommandError> {
        Ok(self.judge_each(namespace, vec![forms]).await?.pop().unwrap_or_default())
    }

    /// Judges definitions, each in these forms, on a blocking thread.
    pub(in crate::commands) async fn judge_each(
        &self,
        namespace: Uuid,
        all: Vec<Vec<Definition>>,
    ) -> Result<Vec<Judgement>, CommandError> {
        if all.iter().all(Vec::is_empty) {
            return Ok(all.iter().map(|_| Judgement::default()).collect());
        }
        let executor = self.executor.clone();
        let judge = move |forms: Vec<Definition>| {
            Judgement(forms.into_iter().map(|form| judged(&executor, form)).collect())
        };
        self.compute(namespace, move || all.into_iter().map(judge).collect()).await
    }
}

fn judged(executor: &Executor, mut definition: Definition) -> JudgedDefinition {
    let refused = refusals(executor, &mut definition, 1, |_| Ok(())).pop();
    JudgedDefinition { refused, secrets: UsedSecrets::of(&definition), definition }
}

/// The forms in which a schedule's own task may be stored; none if the schedule has no task of its
/// own. The transaction decides whether the task replaces `old` or is new.
pub(in crate::commands) fn forms_of(
    work: &ScheduleWork,
    old: Option<&Definition>,
) -> Vec<Definition> {
    let task = match work {
        ScheduleWork::Task(task) => task,
        ScheduleWork::Workflow(_) | ScheduleWork::Past { .. } => return vec![],
    };
    let definition = Definition::single((**task).clone());
    let new = restored(&definition, None);
    let kept = old.and_then(|old| restored(&definition, Some(old)));
    let kept = kept.filter(|kept| new.as_ref() != Some(kept));
    new.into_iter().chain(kept).collect()
}

/// The definition as it would be stored in place of `old`; `None` if its shape or a mask in it is
/// refused. That refusal is cheap to compute again.
fn restored(definition: &Definition, old: Option<&Definition>) -> Option<Definition> {
    definition.validate().ok()?;
    definition.tasks_before().ok()?;
    let mut stored = definition.clone();
    restore(&mut stored, old).is_none().then_some(stored)
}

/// Restores the masked secrets of a definition from the definition that it replaces. Returns the
/// refusal of the first mask that has no secret behind it.
fn restore(definition: &mut Definition, old: Option<&Definition>) -> Option<DefinitionRefusal> {
    let alone = definition.tasks.len() == 1;
    let mut tasks = definition.tasks.iter_mut().enumerate();
    tasks.find_map(|(index, task)| {
        retain(task, alone, old).err().map(|bad| DefinitionRefusal::Task(index, bad))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Task,
        target::{Http, SecretText, Target},
    };

    fn definition(url: &str) -> Definition {
        let mut http = Http::post(url);
        http.headers.insert("Authorization".to_owned(), SecretText::new("{{ secrets.key }}"));
        let task = Task {
            name: "task".to_owned(),
            target: Target::Http(http),
            timeout_ms: 1_000,
            kill_grace_ms: 1_000,
            retry: timetable::retry::Policy::default(),
            retry_on: vec![],
            needs: vec![],
            when: crate::model::When::Success,
            allow_failure: false,
        };
        Definition::single(task)
    }

    fn judgement(definition: &Definition, refused: Option<DefinitionRefusal>) -> Judgement {
        let secrets = UsedSecrets::of(definition);
        Judgement(vec![JudgedDefinition { definition: definition.clone(), refused, secrets }])
    }

    #[test]
    fn only_what_was_judged_passes() {
        let mut judged = definition("https://a.test");
        let passed = judgement(&judged, None);
        assert!(passed.pass(DefinitionPlace::Task("task"), &mut judged, None).is_ok());
        let mut other = definition("https://b.test");
        for judgement in [passed, Judgement::default()] {
            let refused = judgement.pass(DefinitionPlace::Task("task"), &mut other, None).err();
            assert!(matches!(refused, Some(CommandError::Conflict { .. })), "{refused:?}");
        }
    }

    #[test]
    fn a_refusal_names_its_place_in_the_input() {
        let mut judged = definition("https://a.test");
        let bad = BadInput::new("task.target.http.url", "", "is bad", "write another");
        let refused = judgement(&judged, Some(DefinitionRefusal::Task(0, bad)));
        let cases = [
            (DefinitionPlace::Task("task"), "task.target.http.url"),
            (DefinitionPlace::Workflow(""), "tasks[0].target.http.url"),
            (DefinitionPlace::Workflow("workflows.a"), "workflows.a.tasks[0].target.http.url"),
        ];
        for (at, field) in cases {
            let error = refused.pass(at, &mut judged, None).err();
            let Some(CommandError::BadInput(bad)) = error else { panic!("{error:?}") };
            assert_eq!(bad.field, field);
        }
        let bad = BadInput::new("tasks", "", "is bad", "write another");
        let refused = judgement(&judged, Some(DefinitionRefusal::Text(bad)));
        let error = refused.pass(DefinitionPlace::Workflow("workflows.a"), &mut judged, None).err();
        let Some(CommandError::BadInput(bad)) = error else { panic!("{error:?}") };
        assert_eq!(bad.field, "workflows.a");
    }
}
