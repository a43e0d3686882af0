//! The signed-in user.

use serde::Deserialize;

use super::{Density, Role, Theme};

/// A user or a program, and its roles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Viewer {
    pub(crate) name: String,
    /// The highest role held anywhere.
    pub(crate) role: Role,
    /// The role that applies in every namespace, if any.
    pub(crate) role_everywhere: Option<Role>,
    /// Whether the session was opened with a one-time password, which must be replaced before anything else.
    pub(crate) must_change_password: bool,
    pub(crate) grants: Vec<Grant>,
}

/// A role in one namespace, in addition to the role everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Grant {
    pub(crate) namespace: String,
    pub(crate) role: Role,
}

/// How the console looks to the user. What the user has never chosen is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Appearance {
    pub(crate) theme: Option<Theme>,
    pub(crate) density: Option<Density>,
}

impl Appearance {
    /// The same, with the usual look where the user has never chosen.
    pub(crate) fn or_usual(self) -> Self {
        Self {
            theme: self.theme.or(Some(Theme::System)),
            density: self.density.or(Some(Density::Compact)),
        }
    }
}

/// A saved view of a page.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct SavedView {
    pub(crate) id: String,
    pub(crate) page: String,
    pub(crate) name: String,
    /// The query, in the search language.
    pub(crate) query: String,
}

impl Viewer {
    /// The role in a namespace.
    pub(crate) fn role_in(&self, namespace: &str) -> Option<Role> {
        let granted = self.grants.iter().find(|grant| grant.namespace == namespace);
        granted.map(|grant| grant.role).max(self.role_everywhere)
    }

    /// The namespace to open if the address does not name one: the last visited one, or else the default one, or else
    /// the first that the user may see.
    pub(crate) fn home(&self, remembered: Option<String>) -> String {
        let sees = |namespace: &String| self.role_in(namespace).is_some();
        let first = self.grants.first().map(|grant| grant.namespace.clone());
        let default = || "default".to_owned();
        remembered
            .filter(sees)
            .or_else(|| Some(default()).filter(sees))
            .or(first)
            .unwrap_or_else(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewer(everywhere: Option<Role>, grants: &[(&str, Role)]) -> Viewer {
        let grant = |(namespace, role): &(&str, Role)| Grant {
            namespace: (*namespace).to_owned(),
            role: *role,
        };
        Viewer {
            name: "ada".to_owned(),
            role: Role::Viewer,
            role_everywhere: everywhere,
            must_change_password: false,
            grants: grants.iter().map(grant).collect(),
        }
    }

    #[test]
    fn the_higher_of_two_roles_holds() {
        let ada = viewer(Some(Role::Operator), &[("billing", Role::Admin), ("ops", Role::Viewer)]);
        let held = ["billing", "ops", "default"].map(|namespace| ada.role_in(namespace));
        assert_eq!(held, [Some(Role::Admin), Some(Role::Operator), Some(Role::Operator)]);
    }

    #[test]
    fn a_member_of_one_namespace_begins_there() {
        let ada = viewer(None, &[("billing", Role::Editor)]);
        assert_eq!(ada.home(None), "billing");
        assert_eq!(ada.home(Some("ops".to_owned())), "billing");
        assert_eq!(viewer(Some(Role::Viewer), &[]).home(None), "default");
        assert_eq!(viewer(Some(Role::Viewer), &[]).home(Some("ops".to_owned())), "ops");
    }
}
