use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer};

use super::listed;

/// A role that a process performs for the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRole {
    /// Answers GraphQL and serves the console.
    Api,
    /// Claims due schedules, recovers lost work and removes old history.
    Scheduler,
    /// Executes runs.
    Worker,
}

impl NodeRole {
    const ALL: [Self; 3] = [Self::Api, Self::Scheduler, Self::Worker];

    /// The role's name in the configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Scheduler => "scheduler",
            Self::Worker => "worker",
        }
    }
}

/// The roles of a process: at least one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Roles([bool; 3]);

impl Roles {
    /// All roles.
    pub const ALL: Self = Self([true; 3]);

    /// Whether these roles include the given one.
    pub const fn has(self, role: NodeRole) -> bool {
        self.0[role as usize]
    }

    /// The names of these roles, in a fixed order.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        NodeRole::ALL.into_iter().filter(move |role| self.has(*role)).map(NodeRole::word)
    }
}

impl Default for Roles {
    fn default() -> Self {
        Self::ALL
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().collect::<Vec<_>>().join(","))
    }
}

impl fmt::Debug for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A list that is not a valid choice of roles.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{value}' {problem}; give one or more of api, scheduler, worker")]
pub struct NotRoles {
    value: String,
    problem: &'static str,
}

impl FromStr for Roles {
    type Err = NotRoles;

    fn from_str(text: &str) -> Result<Self, NotRoles> {
        Self::of(text.split(',').map(str::trim).filter(|word| !word.is_empty()))
    }
}

impl Roles {
    fn of<'a>(words: impl Iterator<Item = &'a str>) -> Result<Self, NotRoles> {
        let mut chosen = [false; 3];
        for word in words {
            let Some(role) = NodeRole::ALL.into_iter().find(|role| role.word() == word) else {
                return Err(NotRoles { value: word.to_owned(), problem: "is not a role" });
            };
            chosen[role as usize] = true;
        }
        if chosen == [false; 3] {
            let problem = "is an empty list: such a process would do nothing";
            return Err(NotRoles { value: String::new(), problem });
        }
        Ok(Self(chosen))
    }
}

impl<'de> Deserialize<'de> for Roles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = listed(deserializer)?;
        Self::of(words.iter().map(String::as_str)).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_in_any_order_and_written_in_one() {
        let roles: Roles = "worker, api".parse().unwrap();
        assert_eq!(roles.to_string(), "api,worker");
        assert!(!roles.has(NodeRole::Scheduler));
    }

    #[test]
    fn a_list_that_is_empty_or_has_an_unknown_word_is_refused_with_the_choices() {
        let problem = |text: &str| text.parse::<Roles>().unwrap_err().to_string();
        assert_eq!(
            problem("api,sheduler"),
            "'sheduler' is not a role; give one or more of api, scheduler, worker"
        );
        assert_eq!(
            problem(" ,"),
            "'' is an empty list: such a process would do nothing; give one or more of api, \
             scheduler, worker"
        );
    }
}
