use entity::{Strings, worker::ActiveModel};
use sea_orm::Set;
use uuid::Uuid;

use super::{MAX_NAMED, WorkerError, bad};
use crate::{
    access::{AccessRefusal, Viewer},
    commands::{CommandError, Commands},
    engine::jobs::SILENT,
    model::check,
    random::new_id,
    store::{namespaces, workers::programs},
    target::{is_queue_name, is_worker_tag},
};

/// The version of the protocol that this server speaks.
pub const PROTOCOL: u32 = 1;

/// Maximum number of workers in a namespace.
pub(crate) const MAX_WORKERS: u64 = 1_000;
/// Maximum number of workers with one token, so that room is left for other programs.
const MAX_OF_TOKEN: u64 = 250;
const MAX_QUEUES: usize = 32;
const MAX_TAGS: usize = 32;
const MAX_CAPACITY: i32 = 1_000;
const MAX_TEXT: usize = 128;

/// A worker to register.
#[derive(Clone, Debug)]
pub struct NewWorker {
    /// The version of the protocol that the worker speaks.
    pub protocol: u32,
    /// The namespace, by name.
    pub namespace: String,
    /// The worker's name.
    pub name: String,
    /// The queues that the worker pulls from: 1 to 32.
    pub queues: Vec<String>,
    /// Tags that jobs may require.
    pub tags: Vec<String>,
    /// How many jobs the worker takes at once.
    pub capacity: i32,
    /// The version of the worker's program.
    pub version: String,
    /// The client library that the worker uses.
    pub client: String,
}

/// Refuses a worker that speaks another version of the protocol. The fields of another version may
/// be others, so this is checked before they are read.
pub fn check_protocol(asked: u32) -> Result<(), WorkerError> {
    if asked == PROTOCOL { Ok(()) } else { Err(WorkerError::Protocol { asked, speaks: PROTOCOL }) }
}

impl NewWorker {
    fn check(&self) -> Result<(), WorkerError> {
        check_protocol(self.protocol)?;
        check::name("name", &self.name)?;
        if !(1..=MAX_QUEUES).contains(&self.queues.len()) {
            let problem = format!("names {} queues", self.queues.len());
            return Err(bad("queues", "", problem, "name 1 to 32"));
        }
        if let Some(index) = self.queues.iter().position(|queue| !is_queue_name(queue)) {
            let help = "write 1 to 64 of a-z 0-9 . _ -";
            let field = format!("queues[{index}]");
            return Err(bad(&field, &self.queues[index], "is not a valid queue name", help));
        }
        if self.tags.len() > MAX_TAGS {
            let problem = format!("has {} tags", self.tags.len());
            return Err(bad("tags", "", problem, "give at most 32"));
        }
        if let Some(index) = self.tags.iter().position(|tag| !is_worker_tag(tag)) {
            let help = "write 1 to 64 of a-z 0-9 . _ - =";
            return Err(bad(
                &format!("tags[{index}]"),
                &self.tags[index],
                "is not a valid tag",
                help,
            ));
        }
        if !(1..=MAX_CAPACITY).contains(&self.capacity) {
            return Err(bad("capacity", self.capacity, "is out of range", "give 1 to 1000"));
        }
        for (field, text) in [("version", &self.version), ("client", &self.client)] {
            if text.chars().count() > MAX_TEXT || text.chars().any(char::is_control) {
                let help = "give at most 128 characters, without control characters";
                return Err(bad(field, text, "cannot be kept", help));
            }
        }
        Ok(())
    }
}

impl Commands {
    /// Registers a worker; returns the key that its other requests must contain.
    pub async fn register_worker(&self, who: &Viewer, new: NewWorker) -> Result<Uuid, WorkerError> {
        new.check()?;
        let found = namespaces::by_name(self.store.read(), &new.namespace).await?;
        let missing = || CommandError::not_found("namespace", &new.namespace);
        let namespace = found.ok_or_else(missing)?;
        // For callers without access, the namespace must seem not to exist.
        match who.pulls(namespace.id, &new.queues) {
            Err(AccessRefusal::NotFound { .. }) => return Err(missing().into()),
            pulls => pulls?,
        }
        let now = self.clock.now();
        let tx = self.store.begin().await?;
        if programs::count(&tx, namespace.id, (now - SILENT).into()).await? >= MAX_WORKERS {
            return Err(WorkerError::TooMany(MAX_WORKERS));
        }
        if programs::count_of_token(&tx, who.id, (now - SILENT).into()).await? >= MAX_OF_TOKEN {
            return Err(WorkerError::TooManyOfToken(MAX_OF_TOKEN));
        }
        let id = new_id(now);
        let row = ActiveModel {
            id: Set(id),
            namespace_id: Set(namespace.id),
            name: Set(new.name),
            queues: Set(Strings(new.queues)),
            tags: Set(Strings(new.tags)),
            capacity: Set(new.capacity),
            version: Set(new.version),
            client: Set(new.client),
            token_id: Set(who.id),
            token: Set(who.name.clone()),
            draining: Set(false),
            registered_at: Set(now.into()),
            heartbeat_at: Set(now.into()),
        };
        programs::insert(&tx, row).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }

    /// Removes a worker. The jobs that it still holds are lost, and their tasks are retried
    /// according to their policies. `known` contains the jobs that the worker knows of, if it
    /// reports them: the others never reached it and return to their queue.
    pub async fn unregister_worker(
        &self,
        who: &Viewer,
        id: Uuid,
        known: Option<&[Uuid]>,
    ) -> Result<(), WorkerError> {
        if let Some(count) = known.map(<[Uuid]>::len).filter(|count| *count > MAX_NAMED) {
            let problem = format!("names {count} jobs");
            return Err(bad("jobs", "", problem, "name at most 1000"));
        }
        let row = self.worker(who, id).await?;
        let tx = self.store.begin().await?;
        programs::remove(&self.store, &tx, row.id, known, self.clock.now().into()).await?;
        self.store.commit(tx).await?;
        self.board.forgets(id).await;
        Ok(())
    }
}
