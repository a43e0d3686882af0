//! The namespaces among whose places for computing a request takes one (see `aside`).
//!
//! A request counts for each namespace that its computing fields are asked about: the one that a
//! field names, and that of the schedule that it names. A field that names neither may be about all
//! namespaces of its caller. It counts for each of them, unless the caller has a role everywhere:
//! then it counts for the caller alone.

use std::collections::BTreeSet;

use async_graphql::Request;
use futures::future::{Either, ready};
use uuid::Uuid;

use super::{
    aside::viewer,
    limits::{self, Subjects},
    schema::Schema,
};
use crate::{
    access::Viewer,
    commands::Commands,
    store::{Store, StoreError, namespaces, schedules},
};

/// The keys of these namespaces, or of the caller. All unauthenticated callers count as one.
pub(super) fn tenants<'a>(
    schema: &'a Schema,
    request: &mut Request,
) -> impl Future<Output = BTreeSet<Uuid>> + Send + use<'a> {
    let Some(who) = viewer(request).cloned() else {
        return Either::Left(ready(BTreeSet::from([Uuid::nil()])));
    };
    if let Some(only) = who.grants.only_namespace() {
        return Either::Left(ready(BTreeSet::from([only])));
    }
    let subjects = limits::subjects(request);
    Either::Right(async move {
        let found = match schema.data::<Commands>() {
            // If the database is away, the request itself reports that.
            Some(commands) => found(&commands.store, &subjects).await.unwrap_or_default(),
            None => vec![],
        };
        counted(&who, &subjects, found)
    })
}

/// The namespaces of the subjects that exist.
async fn found(store: &Store, subjects: &Subjects) -> Result<Vec<Uuid>, StoreError> {
    let (read, mut found) = (store.read(), vec![]);
    if !subjects.namespaces.is_empty() {
        found.extend(namespaces::keys_named(read, &subjects.namespaces).await?);
    }
    if !subjects.schedules.is_empty() {
        found.extend(schedules::namespaces_of(read, &subjects.schedules).await?);
    }
    Ok(found)
}

/// The namespaces that a request counts for, of those that were found. A namespace that the caller
/// may not see is none of them.
fn counted(who: &Viewer, subjects: &Subjects, found: Vec<Uuid>) -> BTreeSet<Uuid> {
    let asked = subjects.namespaces.len() + subjects.schedules.len();
    let visible = found.into_iter().filter(|namespace| who.grants.within(*namespace).is_some());
    let visible: Vec<Uuid> = visible.collect();
    let is_open = subjects.is_open || visible.len() < asked;
    let mut tenants: BTreeSet<Uuid> = visible.into_iter().collect();
    if is_open && who.grants.role_everywhere().is_none() {
        tenants.extend(who.grants.namespaces().map(|(namespace, _)| namespace));
    }
    if tenants.is_empty() {
        tenants.insert(who.caller);
    }
    tenants
}

#[cfg(test)]
mod tests {
    use entity::user::Role;

    use super::*;
    use crate::access::{Grant, Grants, ViewerKind};

    const HERE: Uuid = Uuid::from_u128(1);
    const THERE: Uuid = Uuid::from_u128(2);
    const ELSEWHERE: Uuid = Uuid::from_u128(3);
    const CALLER: Uuid = Uuid::from_u128(9);

    fn viewer(everywhere: bool, namespaces: &[Uuid]) -> Viewer {
        let grant = Grant { role: Role::Viewer, sees_payloads: false };
        let namespaces = namespaces.iter().map(|namespace| (*namespace, grant));
        let grants = Grants::new(everywhere.then_some(grant), namespaces);
        Viewer::new(CALLER, "ada", ViewerKind::User, grants, "test")
    }

    fn named(names: &[&str], is_open: bool) -> Subjects {
        let namespaces = names.iter().map(|name| (*name).to_owned()).collect();
        Subjects { namespaces, schedules: BTreeSet::new(), is_open }
    }

    #[test]
    fn a_request_counts_for_the_namespaces_that_it_names() {
        let member = viewer(false, &[HERE, THERE]);
        let here = named(&["here"], false);
        assert_eq!(counted(&member, &here, vec![HERE]), [HERE].into());
        assert_eq!(counted(&viewer(true, &[]), &here, vec![HERE]), [HERE].into());
        let schedules = BTreeSet::from([Uuid::from_u128(7), Uuid::from_u128(8)]);
        let of_schedules = Subjects { schedules, ..Subjects::default() };
        assert_eq!(counted(&member, &of_schedules, vec![THERE, THERE]), [THERE].into());
    }

    #[test]
    fn a_request_that_may_be_about_anything_counts_for_all_namespaces_of_its_caller() {
        let (member, all) = (viewer(false, &[HERE, THERE]), [HERE, THERE].into());
        assert_eq!(counted(&member, &named(&[], true), vec![]), all);
        assert_eq!(counted(&member, &named(&["here"], true), vec![HERE]), all);
        assert_eq!(counted(&member, &named(&["unknown"], false), vec![]), all);
        let foreign = named(&["elsewhere"], false);
        assert_eq!(counted(&member, &foreign, vec![ELSEWHERE]), all, "it may not see that one");
    }

    #[test]
    fn a_request_about_no_namespace_counts_for_its_caller() {
        let open = named(&[], true);
        assert_eq!(counted(&viewer(true, &[HERE]), &open, vec![]), [CALLER].into());
        assert_eq!(counted(&viewer(false, &[]), &open, vec![]), [CALLER].into());
    }
}
