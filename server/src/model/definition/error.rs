use uuid::Uuid;

/// Why runs of a workflow's version cannot be carried out. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// A run refers to a workflow version that does not exist.
    #[error("find version {version} of workflow {workflow_id}")]
    Missing {
        /// The workflow.
        workflow_id: Uuid,
        /// The version.
        version: i32,
    },
    /// A workflow version cannot be parsed: a newer Carillon wrote it.
    #[error("read version {version} of workflow {workflow_id}: {source}")]
    Broken {
        /// The workflow.
        workflow_id: Uuid,
        /// The version.
        version: i32,
        /// What is wrong with the JSON.
        source: serde_json::Error,
    },
}
