//! Every address of the console, as one enum.

use js_sys::{decode_uri_component, encode_uri_component};

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
    Alerts,
    AlertRules,
    NewAlertRule,
    EditAlertRule(String),
    Upcoming,
    Backfills,
    NewBackfill,
    Backfill(String),
    Calendars,
    NewCalendar,
    EditCalendar(String),
    Workflows,
    Workflow(String),
    Groups,
    Modules,
    DeployModule,
    Module(String),
    Profile,
    People,
    Tokens,
    Secrets,
    Namespaces,
    Feeds,
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
            Self::Alerts => "/alerts".to_owned(),
            Self::AlertRules => "/alert-rules".to_owned(),
            Self::NewAlertRule => "/alert-rules/new".to_owned(),
            Self::EditAlertRule(id) => format!("/alert-rules/{id}"),
            Self::Upcoming => "/upcoming".to_owned(),
            Self::Backfills => "/backfills".to_owned(),
            Self::NewBackfill => "/backfills/new".to_owned(),
            Self::Backfill(id) => format!("/backfills/{id}"),
            Self::Calendars => "/calendars".to_owned(),
            Self::NewCalendar => "/calendars/new".to_owned(),
            Self::EditCalendar(name) => format!("/calendars/named/{}", encode_uri_component(name)),
            Self::Workflows => "/workflows".to_owned(),
            Self::Workflow(id) => format!("/workflows/{id}"),
            Self::Groups => "/groups".to_owned(),
            Self::Modules => "/modules".to_owned(),
            Self::DeployModule => "/modules/deploy".to_owned(),
            Self::Module(name) => format!("/modules/named/{}", encode_uri_component(name)),
            Self::Profile => "/settings/profile".to_owned(),
            Self::People => "/settings/people".to_owned(),
            Self::Tokens => "/settings/tokens".to_owned(),
            Self::Secrets => "/settings/secrets".to_owned(),
            Self::Namespaces => "/settings/namespaces".to_owned(),
            Self::Feeds => "/settings/feeds".to_owned(),
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
            ["alerts"] => Some(Self::Alerts),
            ["alert-rules"] => Some(Self::AlertRules),
            ["alert-rules", "new"] => Some(Self::NewAlertRule),
            ["alert-rules", id] => Some(Self::EditAlertRule((*id).to_owned())),
            ["upcoming"] => Some(Self::Upcoming),
            ["backfills"] => Some(Self::Backfills),
            ["backfills", "new"] => Some(Self::NewBackfill),
            ["backfills", id] => Some(Self::Backfill((*id).to_owned())),
            ["calendars"] => Some(Self::Calendars),
            ["calendars", "new"] => Some(Self::NewCalendar),
            ["calendars", "named", name] => Some(Self::EditCalendar(decoded(name))),
            ["workflows"] => Some(Self::Workflows),
            ["workflows", id] => Some(Self::Workflow((*id).to_owned())),
            ["groups"] => Some(Self::Groups),
            ["modules"] => Some(Self::Modules),
            ["modules", "deploy"] => Some(Self::DeployModule),
            ["modules", "named", name] => Some(Self::Module(decoded(name))),
            ["settings", "profile"] => Some(Self::Profile),
            ["settings", "people"] => Some(Self::People),
            ["settings", "tokens"] => Some(Self::Tokens),
            ["settings", "secrets"] => Some(Self::Secrets),
            ["settings", "namespaces"] => Some(Self::Namespaces),
            ["settings", "feeds"] => Some(Self::Feeds),
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
            _ => false,
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

/// A name as it stands in a path; one that is no percent-encoding stands for itself.
fn decoded(name: &str) -> String {
    decode_uri_component(name).map_or_else(|_| name.to_owned(), String::from)
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
