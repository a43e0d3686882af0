use crate::{model::DefinitionError, store::StoreError};

/// Why the engine could not do something. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The definition of the run's work is invalid.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// Another live process uses the node's name.
    #[error(
        "join the nodes: node.name '{name}' is another process's, which {doing}; give this one a \
         name of its own by --node-name, or stop that one first"
    )]
    NameTaken {
        /// The node's name.
        name: String,
        /// The state of the other process, as the end of a sentence about it.
        doing: &'static str,
    },
    /// The node's clock is wrong, so the node could fire at the wrong time.
    #[error(
        "join the nodes: the clock of this machine is {offset}, and more than 5 s are not allowed; \
         set it right (its time service) and start again"
    )]
    ClockOff {
        /// How far off the clock is, and in which direction.
        offset: String,
    },
    /// Some parts of a round failed independently; the other parts succeeded.
    #[error("{}", told(.0))]
    Parts(Vec<(&'static str, EngineError)>),
    /// A bug in Carillon.
    #[error("continue: a bug in Carillon, logged above; please report it")]
    Defect,
}

impl EngineError {
    /// Whether the same call may succeed if it is repeated later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            Self::Parts(parts) => parts.iter().any(|(_, error)| error.is_transient()),
            Self::Definition(_) | Self::NameTaken { .. } | Self::ClockOff { .. } | Self::Defect => {
                false
            }
        }
    }

    /// Why the database cannot serve a call now; `None` if the error has another cause.
    pub fn unavailable(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) => error.unavailable(),
            Self::Parts(parts) => parts.iter().find_map(|(_, error)| error.unavailable()),
            Self::Definition(_) | Self::NameTaken { .. } | Self::ClockOff { .. } | Self::Defect => {
                None
            }
        }
    }

    /// Whether the database refuses the data, and would refuse it again.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Store(error) => error.is_refusal(),
            Self::Parts(parts) => parts.iter().all(|(_, error)| error.is_refusal()),
            Self::Definition(_) | Self::NameTaken { .. } | Self::ClockOff { .. } | Self::Defect => {
                false
            }
        }
    }
}

fn told(parts: &[(&'static str, EngineError)]) -> String {
    let told = parts.iter().map(|(what, error)| format!("{what}: {error}"));
    format!("complete a round: {}", told.collect::<Vec<_>>().join("; "))
}

impl From<sea_orm::DbErr> for EngineError {
    fn from(error: sea_orm::DbErr) -> Self {
        Self::Store(error.into())
    }
}

#[cfg(test)]
mod tests {
    use sea_orm::DbErr;

    use super::*;

    #[test]
    fn several_failed_parts_are_reported_together() {
        let full = StoreError::DiskFull { source: DbErr::Custom("full".to_owned()) };
        let parts = vec![("overruns", StoreError::Nul.into()), ("lost hand-offs", full.into())];
        let error = EngineError::Parts(parts);
        let told = error.to_string();
        assert!(
            told.starts_with(
                "complete a round: overruns: query the database: a text has a NUL character; \
                 lost hand-offs: write to the database: the disk"
            ),
            "{told}"
        );
        assert!(error.is_transient() && !error.is_refusal());
    }
}
