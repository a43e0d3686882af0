//! Cleans up the alerts of deleted or disabled rules: there may be many, so they are written in
//! batches, once the change to the rule is committed.

use uuid::Uuid;

use crate::{
    commands::Commands,
    store::{StoreError, alerts::rules},
};

/// So many alerts are written in one transaction.
pub(super) const PIECE: u64 = 1_000;

/// The rules whose alerts are nobody's any more when the transaction is committed.
#[derive(Debug, Default)]
pub(in crate::commands) struct Aftermath {
    pub(super) deleted: Vec<Uuid>,
    pub(super) disabled: Vec<Uuid>,
}

impl Commands {
    /// To be called when the transaction was committed.
    pub(in crate::commands) async fn clear_up(&self, aftermath: Aftermath) {
        for id in aftermath.deleted {
            self.forget(id).await;
        }
        for id in aftermath.disabled {
            self.let_go(id).await;
        }
    }

    /// Removes what a deleted rule has taken note of, piece by piece. The rule is gone whatever
    /// becomes of this: what is left goes with what is old.
    async fn forget(&self, id: Uuid) {
        let forgetting = async {
            loop {
                let tx = self.store.begin().await?;
                let gone = rules::forget(&tx, id, PIECE).await?;
                self.store.commit(tx).await?;
                if gone < PIECE {
                    return Ok::<(), StoreError>(());
                }
            }
        };
        if let Err(error) = forgetting.await {
            tracing::warn!(rule = %id, "failed to remove a deleted rule's alerts: {error}");
        }
    }

    /// Ends what a disabled rule has taken note of, piece by piece, for as long as it is disabled.
    /// Nothing of it is told whatever becomes of this: what is left ends when it is enabled again.
    async fn let_go(&self, id: Uuid) {
        let letting_go = async {
            loop {
                let tx = self.store.begin().await?;
                let is_disabled = rules::lock(&tx, id).await?.is_some_and(|row| !row.enabled);
                if !is_disabled {
                    tx.rollback().await?;
                    return Ok(());
                }
                let over = rules::let_go(&tx, id, self.clock.now().into(), PIECE).await?;
                self.store.commit(tx).await?;
                if over < PIECE {
                    return Ok::<(), StoreError>(());
                }
            }
        };
        if let Err(error) = letting_go.await {
            tracing::warn!(rule = %id, "failed to end a disabled rule's alerts: {error}");
        }
    }
}
