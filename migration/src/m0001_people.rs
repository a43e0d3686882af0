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
                    .col(string_len_null("role", 16))
                    .col(boolean("sees_payloads"))
                    .col(boolean("is_service"))
                    .col(big_integer("created_at"))
                    .col(big_integer_null("disabled_at"))
                    .col(big_integer_null("sessions_from"))
                    .col(big_integer_null("signed_in_at"))
                    .col(text_null("issuer"))
                    .col(text_null("subject"))
                    .col(json_binary_null("given_elsewhere"))
                    .col(big_integer_null("given_at"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_index(
                Index::create()
                    .name("user_identity")
                    .table("user")
                    .col("issuer")
                    .col("subject")
                    .unique()
                    .to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("membership")
                    .col(uuid("user_id"))
                    .col(uuid("namespace_id"))
                    .col(string_len("role", 16))
                    .col(boolean("sees_payloads"))
                    .col(big_integer("created_at"))
                    .primary_key(Index::create().col("user_id").col("namespace_id"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_index(
                Index::create()
                    .name("membership_namespace")
                    .table("membership")
                    .col("namespace_id")
                    .to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("session")
                    .col(text("id").primary_key())
                    .col(uuid_null("user_id"))
                    .col(text_null("address"))
                    .col(big_integer_null("began_at"))
                    .col(big_integer_null("used_at"))
                    .col(text_null("mark"))
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
            .create_index(
                Index::create().name("session_user").table("session").col("user_id").to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("api_token")
                    .col(uuid("id").primary_key())
                    .col(text("name"))
                    .col(text_uniq("hash"))
                    .col(uuid_null("user_id"))
                    .col(uuid_null("namespace_id"))
                    .col(string_len("role", 16))
                    .col(boolean("sees_payloads"))
                    .col(text("created_by"))
                    .col(big_integer("created_at"))
                    .col(big_integer_null("expires_at"))
                    .col(big_integer_null("revoked_at"))
                    .col(big_integer_null("used_at"))
                    .to_owned(),
            )
            .await?;
        for statement in [
            // A token's name is unique only among its owner's tokens.
            "CREATE UNIQUE INDEX api_token_name ON api_token (user_id, name)",
            "CREATE UNIQUE INDEX api_token_free ON api_token (name) WHERE user_id IS NULL",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
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
            .create_index(
                Index::create()
                    .name("audit_event_namespace")
                    .table("audit_event")
                    .col("namespace_id")
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
        for table in [
            "idempotency",
            "audit_event",
            "api_token",
            "session",
            "membership",
            "user",
            "namespace",
        ] {
            schema.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}
