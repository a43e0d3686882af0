//! Every address of the console, as one enum.

use js_sys::encode_uri_component;

/// A place in the console. Links are made from it, never from text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Overview,
    Schedules,
    NewSchedule,
    Schedule(String),
    EditSchedule(String),
    Runs,
    Run(String),
    Cluster,
    Audit,
    Metrics,
    Health,
    Ledger,
}

impl Route {
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Overview => "/".to_owned(),
            Self::Schedules => "/schedules".to_owned(),
            Self::NewSchedule => "/schedules/new".to_owned(),
            Self::Schedule(id) => format!("/schedules/{id}"),
            Self::EditSchedule(id) => format!("/schedules/{id}/edit"),
            Self::Runs => "/runs".to_owned(),
            Self::Run(id) => format!("/runs/{id}"),
            Self::Cluster => "/cluster".to_owned(),
            Self::Audit => "/audit".to_owned(),
            Self::Metrics => "/charts".to_owned(),
            Self::Health => "/health".to_owned(),
            Self::Ledger => "/ledger".to_owned(),
        }
    }

    /// The place at a path, if there is one.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            [] => Some(Self::Overview),
            ["schedules"] => Some(Self::Schedules),
            ["schedules", "new"] => Some(Self::NewSchedule),
            ["schedules", id] => Some(Self::Schedule((*id).to_owned())),
            ["schedules", id, "edit"] => Some(Self::EditSchedule((*id).to_owned())),
            ["runs"] => Some(Self::Runs),
            ["runs", id] => Some(Self::Run((*id).to_owned())),
            ["cluster"] => Some(Self::Cluster),
            ["audit"] => Some(Self::Audit),
            ["charts"] => Some(Self::Metrics),
            ["health"] => Some(Self::Health),
            ["ledger"] => Some(Self::Ledger),
            _ => None,
        }
    }

    /// Whether this is a place in a list's care.
    pub(crate) fn is_under(&self, list: &Self) -> bool {
        match self {
            Self::NewSchedule | Self::Schedule(_) | Self::EditSchedule(_) => {
                *list == Self::Schedules
            }
            Self::Run(_) => *list == Self::Runs,
            Self::Overview
            | Self::Schedules
            | Self::Runs
            | Self::Cluster
            | Self::Audit
            | Self::Metrics
            | Self::Health
            | Self::Ledger => false,
        }
    }

    /// The place narrowed by a query; what is empty is left out.
    pub(crate) fn narrowed(&self, query: &[(&str, &str)]) -> String {
        let pair = |(name, value): &(&str, &str)| {
            (!value.is_empty()).then(|| format!("{name}={}", encode_uri_component(value)))
        };
        let pairs: Vec<String> = query.iter().filter_map(pair).collect();
        let path = self.path();
        if pairs.is_empty() { path } else { format!("{path}?{}", pairs.join("&")) }
    }
}

#[cfg(test)]
mod tests {
    use super::Route;

    #[test]
    fn each_place_is_found_at_its_own_path() {
        let id = || "01a1fdd1".to_owned();
        for route in [
            Route::Overview,
            Route::Schedules,
            Route::NewSchedule,
            Route::Schedule(id()),
            Route::EditSchedule(id()),
            Route::Runs,
            Route::Run(id()),
            Route::Cluster,
            Route::Audit,
            Route::Metrics,
            Route::Health,
            Route::Ledger,
        ] {
            assert_eq!(Route::parse(&route.path()), Some(route));
        }
    }

    #[test]
    fn what_the_server_itself_answers_is_no_place() {
        for path in ["/graphiql", "/schedules/x/delete", "/runs/x/y"] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }
}
