//! Every address of the console: a scope and a page.
//!
//! `/ns/billing/schedules` shows the schedules of one namespace, `/all/schedules` those of all that the user may see.
//! An address without a scope, as in links in mails, is also valid; the frame adds the scope.
//!
//! A page is one line of `routes!`: its name, the segments of its path (an identifier among them is a parameter), and
//! the page that it belongs to.

use std::cell::RefCell;

use js_sys::encode_uri_component;

/// The namespaces that are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All namespaces that the user may see.
    All,
    /// One namespace, by name.
    One(String),
}

thread_local! {
    /// The current scope. When it changes, every page is rebuilt, so links need not track it.
    static HERE: RefCell<Scope> = const { RefCell::new(Scope::All) };
}

impl Scope {
    fn path(&self) -> String {
        match self {
            Self::All => "/all".to_owned(),
            Self::One(namespace) => format!("/ns/{namespace}"),
        }
    }

    /// Makes this the current scope, to which new links lead.
    pub(crate) fn enter(&self) {
        HERE.set(self.clone());
    }
}

macro_rules! routes {
    ($($name:ident $(($value:ident))? [$($part:tt)*] $(in $care:ident)?;)+) => {
        /// A page of the console. Links are built from this type, never from text.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) enum Route {
            $($name $((routes!(@text $value)))?),+
        }

        impl Route {
            fn of_parts(parts: &[&str]) -> Option<Self> {
                match parts {
                    $([$($part),*] => Some(Self::$name $(((*$value).to_owned()))?),)+
                    _ => None,
                }
            }

            /// The page's path within a scope.
            fn within(&self) -> String {
                let mut path = String::new();
                match self {
                    $(Self::$name $(($value))? => {
                        $(
                            path.push('/');
                            path.push_str($part);
                        )*
                    })+
                }
                path
            }

            /// The parent page: for the page of one object, its list.
            pub(crate) fn care(&self) -> Self {
                match self {
                    $(Self::$name $((routes!(@any $value)))? => {
                        routes!(@care self $($care)?)
                    })+
                }
            }

            #[cfg(test)]
            fn all() -> Vec<Self> {
                vec![$(Self::$name $((stringify!($value).to_owned()))?),+]
            }
        }
    };
    (@text $value:ident) => { String };
    (@any $value:ident) => { _ };
    (@care $this:ident) => { $this.clone() };
    (@care $this:ident $care:ident) => { Self::$care };
}

// The first match wins, so fixed words precede parameters.
routes! {
    Overview [];
    Timeline ["timeline"];
    Runs ["runs"];
    Run(id) ["runs" id] in Runs;
    Schedules ["schedules"];
    NewSchedule ["schedules" "new"] in Schedules;
    Schedule(id) ["schedules" id] in Schedules;
    EditSchedule(id) ["schedules" id "edit"] in Schedules;
    Cluster ["cluster"];
    Ledger ["ledger"];
    Metrics ["metrics"];
    Health ["health"];
    Audit ["audit"];
    Alerts ["alerts"];
    Upcoming ["upcoming"];
    WhatIf ["what-if"];
    Backfills ["backfills"];
    NewBackfill ["backfills" "new"] in Backfills;
    Backfill(id) ["backfills" id] in Backfills;
    Calendars ["calendars"];
    NewCalendar ["calendars" "new"] in Calendars;
    EditCalendar(id) ["calendars" id] in Calendars;
    Maintenance ["maintenance"];
    NewMaintenance ["maintenance" "new"] in Maintenance;
    MaintenanceWindow(id) ["maintenance" id] in Maintenance;
    EditMaintenance(id) ["maintenance" id "edit"] in Maintenance;
    Workflows ["workflows"];
    NewWorkflow ["workflows" "new"] in Workflows;
    Workflow(id) ["workflows" id] in Workflows;
    EditWorkflow(id) ["workflows" id "edit"] in Workflows;
    Groups ["groups"];
    Modules ["modules"];
    DeployModule ["modules" "deploy"] in Modules;
    Module(name) ["modules" "named" name] in Modules;
    Profile ["settings" "profile"];
    People ["settings" "people"];
    Tokens ["settings" "tokens"];
    Secrets ["settings" "secrets"];
    AlertRules ["settings" "alerts"];
    NewAlertRule ["settings" "alerts" "new"] in AlertRules;
    EditAlertRule(id) ["settings" "alerts" id] in AlertRules;
    Namespaces ["settings" "namespaces"];
    Feeds ["settings" "feeds"];
}

impl Route {
    /// The page of a module. The name is escaped, because it may contain characters that a path may not.
    pub(crate) fn module(name: &str) -> Self {
        Self::Module(encode_uri_component(name).into())
    }

    /// The address of the page in the current scope.
    pub(crate) fn path(&self) -> String {
        HERE.with_borrow(|scope| self.path_in(scope))
    }

    /// The address of the page in a scope.
    pub(crate) fn path_in(&self, scope: &Scope) -> String {
        format!("{}{}", scope.path(), self.within())
    }

    /// The address of the page in a namespace, for links in a list across all namespaces.
    pub(crate) fn path_at(&self, namespace: &str) -> String {
        self.path_in(&Scope::One(namespace.to_owned()))
    }

    /// Parses a path: the scope that it names, if any, and the page.
    pub(crate) fn parse(path: &str) -> Option<(Option<Scope>, Self)> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (scope, rest) = match parts.as_slice() {
            ["all", rest @ ..] => (Some(Scope::All), rest),
            ["ns", namespace, rest @ ..] => (Some(Scope::One((*namespace).to_owned())), rest),
            rest => (None, rest),
        };
        Some((scope, Self::of_parts(rest)?))
    }

    /// The address with a query string; empty values are left out.
    pub(crate) fn narrowed(&self, query: &[(&str, &str)]) -> String {
        HERE.with_borrow(|scope| self.narrowed_in(scope, query))
    }

    /// The query that opens the page's dialog for creating an object.
    pub(crate) const CREATE: (&'static str, &'static str) = ("do", "new");

    /// The address in a scope, with a query string.
    pub(crate) fn narrowed_in(&self, scope: &Scope, query: &[(&str, &str)]) -> String {
        let pair = |(name, value): &(&str, &str)| {
            (!value.is_empty()).then(|| format!("{name}={}", encode_uri_component(value)))
        };
        let pairs: Vec<String> = query.iter().filter_map(pair).collect();
        let path = self.path_in(scope);
        if pairs.is_empty() { path } else { format!("{path}?{}", pairs.join("&")) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Route, Scope};

    #[test]
    fn each_page_is_found_at_its_own_path_in_each_scope() {
        for scope in [Scope::All, Scope::One("billing".to_owned())] {
            for route in Route::all() {
                let path = route.path_in(&scope);
                assert_eq!(Route::parse(&path), Some((Some(scope.clone()), route)), "{path}");
            }
        }
    }

    #[test]
    fn a_link_without_a_scope_is_still_a_place() {
        let found = Route::parse("/runs/01a1fdd1");
        assert_eq!(found, Some((None, Route::Run("01a1fdd1".to_owned()))));
        assert_eq!(Route::parse("/"), Some((None, Route::Overview)));
    }

    #[test]
    fn pages_of_objects_belong_to_their_list() {
        assert_eq!(Route::EditSchedule("x".to_owned()).care(), Route::Schedules);
        assert_eq!(Route::Cluster.care(), Route::Cluster);
    }

    #[test]
    fn addresses_of_the_server_are_not_pages() {
        for path in ["/graphiql", "/ns", "/schedules/x/delete", "/ns/a/runs/x/y"] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }
}
