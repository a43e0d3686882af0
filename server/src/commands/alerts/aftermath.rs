//! Cleans up the alerts of deleted or disabled rules. There may be many, so they are written in
//! batches after the change to the rule is committed.

use uuid::Uuid;

use crate::{
    commands::Commands,
    store::{StoreError, alerts::rules},
};

/// Maximum number of alerts written in one transaction.
pub(super) const PIECE: u64 = 1_000;

/// The rules whose alerts must be cleaned up once the transaction is committed.
#[derive(Debug, Default)]
pub(in crate::commands) struct Aftermath {
    pub(super) deleted: Vec<Uuid>,
    pub(super) disabled: Vec<Uuid>,
}

impl Commands {
    /// Cleans up. Must be called after the transaction is committed.
    pub(in crate::commands) async fn clear_up(&self, aftermath: Aftermath) {
        for id in aftermath.deleted {
            self.forget(id).await;
        }
        for id in aftermath.disabled {
            self.let_go(id).await;
        }
    }

    /// Removes the alerts of a deleted rule in batches. If this fails, retention removes the rest
    /// by age; the rule is gone in any case.
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
            tracing::warn!(rule_id = %id, %error, "failed to remove a deleted rule's alerts");
        }
    }

    /// Ends the alerts of a disabled rule in batches, as long as the rule stays disabled. If this
    /// fails, the remaining alerts are not reported, and end when the rule is enabled again.
    async fn let_go(&self, id: Uuid) {
        let letting_go = async {
            loop {
                let tx = self.store.begin().await?;
                let is_disabled = rules::lock(&tx, id).await?.is_some_and(|row| !row.enabled);
                if !is_disabled {
                    tx.rollback().await?;
                    return Ok(());
                }
                let over =
                    rules::let_go(self.store.dialect(), &tx, id, self.clock.now().into(), PIECE)
                        .await?;
                self.store.commit(tx).await?;
                if over < PIECE {
                    return Ok::<(), StoreError>(());
                }
            }
        };
        if let Err(error) = letting_go.await {
            tracing::warn!(rule_id = %id, %error, "failed to end a disabled rule's alerts");
        }
    }
}
