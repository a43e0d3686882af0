//! What a caller may do, and where.
//!
//! A grant applies everywhere or in one namespace; if several apply, the strongest counts. Seeing
//! payloads (contexts, outputs, logs) is granted separately from the role, because operators need
//! not read the data of runs. Editors see payloads in any case, because they decide where payloads
//! go.

use std::collections::{BTreeMap, BTreeSet};

use entity::user::Role;
use uuid::Uuid;

/// What a caller may do in one namespace or everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The role there.
    pub role: Role,
    /// Whether payloads are shown as well.
    pub sees_payloads: bool,
}

impl Grant {
    /// Whether contexts, outputs and logs are shown.
    pub fn shows_payloads(self) -> bool {
        self.sees_payloads || self.role >= Role::Editor
    }

    /// Combines two grants that apply in the same place: what either allows.
    fn joined(self, other: Self) -> Self {
        Self {
            role: self.role.max(other.role),
            sees_payloads: self.sees_payloads || other.sees_payloads,
        }
    }

    /// Restricts a grant by another: what both allow.
    fn met(self, other: Self) -> Self {
        Self {
            role: self.role.min(other.role),
            sees_payloads: self.shows_payloads() && other.shows_payloads(),
        }
    }
}

/// All grants of a caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    everywhere: Option<Grant>,
    namespaces: BTreeMap<Uuid, Grant>,
    /// The namespaces to which a grant everywhere does not extend, because they are deleted.
    hidden: BTreeSet<Uuid>,
}

impl Grants {
    /// Grants that apply everywhere, and additional ones in single namespaces.
    pub fn new(
        everywhere: Option<Grant>,
        namespaces: impl IntoIterator<Item = (Uuid, Grant)>,
    ) -> Self {
        Self { everywhere, namespaces: namespaces.into_iter().collect(), hidden: BTreeSet::new() }
    }

    /// These grants without any in deleted namespaces.
    #[must_use]
    pub fn without(mut self, deleted: impl IntoIterator<Item = Uuid>) -> Self {
        for id in deleted {
            self.namespaces.remove(&id);
            // Other callers have no grant there anyway, and their grants should not seem to change.
            if self.everywhere.is_some() {
                self.hidden.insert(id);
            }
        }
        self
    }

    /// Whether a grant everywhere does not extend to all namespaces.
    pub fn hides_any(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// Combines these grants with others, each of which applies to one namespace or everywhere.
    #[must_use]
    pub fn with(mut self, others: impl IntoIterator<Item = (Option<Uuid>, Grant)>) -> Self {
        for (namespace, grant) in others {
            let joined = |there: Option<Grant>| there.map_or(grant, |there| there.joined(grant));
            match namespace {
                None => self.everywhere = Some(joined(self.everywhere)),
                Some(id) => {
                    let there = self.namespaces.get(&id).copied();
                    self.namespaces.insert(id, joined(there));
                }
            }
        }
        self
    }

    /// A role in every namespace, payloads included.
    pub fn everywhere(role: Role) -> Self {
        Self::new(Some(Grant { role, sees_payloads: true }), [])
    }

    /// The effective grant in a namespace.
    pub fn within(&self, namespace: Uuid) -> Option<Grant> {
        if self.hidden.contains(&namespace) {
            return None;
        }
        let there = self.namespaces.get(&namespace).copied();
        match (self.everywhere, there) {
            (Some(everywhere), Some(there)) => Some(everywhere.joined(there)),
            (everywhere, there) => everywhere.or(there),
        }
    }

    /// The role that applies in every namespace.
    pub fn role_everywhere(&self) -> Option<Role> {
        self.everywhere.map(|grant| grant.role)
    }

    /// Whether payloads are shown in every namespace.
    pub fn shows_payloads_everywhere(&self) -> bool {
        self.everywhere.is_some_and(Grant::shows_payloads)
    }

    /// The highest role held anywhere.
    pub fn strongest(&self) -> Option<Role> {
        let roles = self.namespaces.values().chain(&self.everywhere);
        roles.map(|grant| grant.role).max()
    }

    /// The namespaces with individual grants.
    pub fn namespaces(&self) -> impl Iterator<Item = (Uuid, Grant)> {
        self.namespaces.iter().map(|(id, grant)| (*id, *grant))
    }

    /// The namespace outside of which nothing is granted, if there is one.
    pub fn only_namespace(&self) -> Option<Uuid> {
        let mut namespaces = self.namespaces.keys().copied();
        let only = namespaces.next().filter(|_| self.everywhere.is_none());
        only.filter(|_| namespaces.next().is_none())
    }

    /// The part of these grants that a token with `limit` has, in one namespace or in all.
    pub fn limited(&self, limit: Grant, namespace: Option<Uuid>) -> Self {
        match namespace {
            Some(id) => {
                let grant = self.within(id).map(|grant| grant.met(limit));
                Self::new(None, grant.map(|grant| (id, grant)))
            }
            None => {
                let namespaces = self.namespaces.keys();
                let met = |id: &Uuid| Some((*id, self.within(*id)?.met(limit)));
                let everywhere = self.everywhere.map(|grant| grant.met(limit));
                let hidden = self.hidden.clone();
                Self { hidden, ..Self::new(everywhere, namespaces.filter_map(met)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Uuid = Uuid::from_u128(1);
    const ELSEWHERE: Uuid = Uuid::from_u128(2);

    fn grant(role: Role) -> Grant {
        Grant { role, sees_payloads: false }
    }

    #[test]
    fn the_strongest_grant_counts() {
        let grants = Grants::new(Some(grant(Role::Viewer)), [(HOME, grant(Role::Editor))]);
        assert_eq!(grants.within(HOME).unwrap().role, Role::Editor);
        assert_eq!(grants.within(ELSEWHERE).unwrap().role, Role::Viewer);
        assert_eq!(grants.strongest(), Some(Role::Editor));
        assert_eq!(Grants::new(None, [(HOME, grant(Role::Admin))]).within(ELSEWHERE), None);
    }

    #[test]
    fn a_member_of_one_namespace_is_told_from_others() {
        let (one, two) = ((HOME, grant(Role::Viewer)), (ELSEWHERE, grant(Role::Admin)));
        assert_eq!(Grants::new(None, [one]).only_namespace(), Some(HOME));
        assert_eq!(Grants::new(None, [one, two]).only_namespace(), None);
        assert_eq!(Grants::new(Some(grant(Role::Viewer)), [one]).only_namespace(), None);
        assert_eq!(Grants::default().only_namespace(), None);
    }

    #[test]
    fn a_token_has_no_more_than_its_owner() {
        let owner = Grants::new(None, [(HOME, grant(Role::Operator))]);
        let admin = Grant { role: Role::Admin, sees_payloads: true };
        let wide = owner.limited(admin, None);
        assert_eq!(wide.within(HOME), Some(grant(Role::Operator)));
        assert_eq!(wide.within(ELSEWHERE), None);
        assert_eq!(owner.limited(admin, Some(ELSEWHERE)), Grants::default());
        let viewer = owner.limited(grant(Role::Viewer), Some(HOME));
        assert_eq!(viewer.within(HOME), Some(grant(Role::Viewer)));
    }

    #[test]
    fn grants_in_a_deleted_namespace_do_not_count() {
        let there = [(HOME, grant(Role::Editor))];
        let owner = Grants::new(Some(grant(Role::Admin)), there).without([HOME]);
        assert_eq!(owner.within(HOME), None);
        assert_eq!(owner.within(ELSEWHERE).unwrap().role, Role::Admin);
        assert!(owner.hides_any());
        assert_eq!(owner.limited(grant(Role::Viewer), None).within(HOME), None);
        assert_eq!(owner.limited(grant(Role::Viewer), Some(HOME)), Grants::default());
        let member = Grants::new(None, there);
        assert_eq!(member.clone().without([ELSEWHERE]), member);
        assert_eq!(member.without([HOME]), Grants::default());
    }

    #[test]
    fn payloads_are_a_grant_of_their_own_below_editors() {
        assert!(!grant(Role::Operator).shows_payloads());
        assert!(grant(Role::Editor).shows_payloads());
        let editor = Grants::new(None, [(HOME, grant(Role::Editor))]);
        let limit = Grant { role: Role::Viewer, sees_payloads: false };
        assert!(!editor.limited(limit, Some(HOME)).within(HOME).unwrap().shows_payloads());
    }
}
