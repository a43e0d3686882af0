//! Workers, the jobs that they pull, and tokens that give access only to jobs.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in [worker(), queue(), job(), line()] {
            schema.create_table(table).await?;
        }
        let queues = json_binary_null("queues").to_owned();
        schema.alter_table(Table::alter().table("api_token").add_column(queues).to_owned()).await?;
        for statement in [
            "CREATE INDEX worker_list ON worker (namespace_id, name, id)",
            "CREATE UNIQUE INDEX worker_queue_name ON worker_queue (namespace_id, name)",
            "CREATE INDEX job_held_in ON job (namespace_id, queue) WHERE state = 'held'",
            "CREATE INDEX worker_of_token ON worker (token_id)",
            "CREATE INDEX worker_silent ON worker (heartbeat_at)",
            // Workers find waiting jobs by this index, in the order in which jobs are taken.
            "CREATE INDEX job_waiting ON job (namespace_id, queue, priority DESC, created_at, id) \
             WHERE state = 'waiting'",
            "CREATE INDEX job_held ON job (worker_id) WHERE state = 'held'",
            "CREATE INDEX job_of_run ON job (run_id)",
            "CREATE INDEX job_awaited ON job (awaited_until)",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in ["job_line", "job", "worker_queue", "worker"] {
            schema.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        schema.alter_table(Table::alter().table("api_token").drop_column("queues").to_owned()).await
    }
}

fn worker() -> TableCreateStatement {
    Table::create()
        .table("worker")
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(text("name"))
        .col(json_binary("queues"))
        .col(json_binary("tags"))
        .col(integer("capacity"))
        .col(text("version"))
        .col(text("client"))
        .col(uuid("token_id"))
        .col(text("token"))
        .col(boolean("draining"))
        .col(big_integer("registered_at"))
        .col(big_integer("heartbeat_at"))
        .to_owned()
}

fn queue() -> TableCreateStatement {
    Table::create()
        .table("worker_queue")
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(text("name"))
        .col(integer("max_jobs"))
        .col(big_integer("updated_at"))
        .to_owned()
}

fn job() -> TableCreateStatement {
    Table::create()
        .table("job")
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(uuid("run_id"))
        .col(text("run_task"))
        .col(integer("attempt"))
        .col(string_len("state", 12))
        .col(text("queue"))
        .col(text("task"))
        .col(json_binary_null("tags"))
        .col(json_binary("input"))
        .col(json_binary("about"))
        .col(small_integer("priority"))
        .col(big_integer("timeout_ms"))
        .col(big_integer("created_at"))
        .col(big_integer("awaited_until"))
        .col(uuid_null("worker_id"))
        .col(text_null("token"))
        .col(big_integer_null("taken_at"))
        .col(big_integer_null("lease_until"))
        .col(big_integer("lease_ms"))
        .col(boolean("stop"))
        .col(big_integer("lines"))
        .col(big_integer("line_bytes"))
        .col(json_binary_null("output"))
        .col(text_null("error"))
        .col(boolean("is_final"))
        .col(big_integer_null("ended_at"))
        .to_owned()
}

fn line() -> TableCreateStatement {
    Table::create()
        .table("job_line")
        .col(uuid("job_id"))
        .col(big_integer("seq"))
        .col(big_integer("at"))
        .col(boolean("is_error"))
        .col(text("text"))
        .primary_key(Index::create().col("job_id").col("seq"))
        .to_owned()
}
