//! Namespaces, people, sessions, tokens and the audit log.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema
            .create_table(
                Table::create()
                    .table("namespace")
                    .col(uuid("id").primary_key())
                    .col(text_uniq("name"))
                    .col(integer_null("retention_days"))
                    .col(big_integer("created_at"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("user")
                    .col(uuid("id").primary_key())
                    .col(text_uniq("name"))
                    .col(text("password_hash"))
                    .col(string_len("role", 16))
                    .col(big_integer("created_at"))
                    .col(big_integer_null("disabled_at"))
                    .col(big_integer_null("sessions_from"))
                    .col(big_integer_null("signed_in_at"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("session")
                    .col(text("id").primary_key())
                    .col(json_binary("data"))
                    .col(big_integer("expires_at"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_index(
                Index::create()
                    .name("session_expiry")
                    .table("session")
                    .col("expires_at")
                    .to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("api_token")
                    .col(uuid("id").primary_key())
                    .col(text_uniq("name"))
                    .col(text_uniq("hash"))
                    .col(string_len("role", 16))
                    .col(text("created_by"))
                    .col(big_integer("created_at"))
                    .col(big_integer_null("expires_at"))
                    .col(big_integer_null("revoked_at"))
                    .col(big_integer_null("used_at"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("audit_event")
                    .col(uuid("id").primary_key())
                    .col(uuid_null("namespace_id"))
                    .col(big_integer("at"))
                    .col(text("actor"))
                    .col(text("source"))
                    .col(text("action"))
                    .col(uuid_null("subject_id"))
                    .col(text("subject"))
                    .col(text_null("reason"))
                    .col(json_binary_null("before"))
                    .col(json_binary_null("after"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_index(
                Index::create()
                    .name("audit_event_subject")
                    .table("audit_event")
                    .col("subject_id")
                    .col("id")
                    .to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("idempotency")
                    .col(text("actor"))
                    .col(text("key"))
                    .col(text("request"))
                    .col(json_binary("answer"))
                    .col(big_integer("at"))
                    .primary_key(Index::create().col("actor").col("key"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_index(
                Index::create().name("idempotency_age").table("idempotency").col("at").to_owned(),
            )
            .await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in ["idempotency", "audit_event", "api_token", "session", "user", "namespace"] {
            schema.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}
