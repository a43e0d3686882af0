//! Defines how the rows of each type of object are found and written one by one.

/// Defines the lookups of a type of object, in a module that has its `Entity`, `Column` and `Model`
/// in scope. Lookups that write also need its `ActiveModel`.
///
/// Rows marked `kept` remain when they are deleted, because history refers to them.
/// Rows marked `removed` do not.
///
/// - `by_ids`: the rows with these keys, in no particular
///   order, including deleted rows that are kept
/// - `by_name`: the row with this name in a namespace that is not deleted
/// - `of_module`: the rows that a module declared and that are not deleted, sorted by name
/// - `list`, `list_within`: the rows of one namespace or of several, sorted by name
/// - `lock`: the row with this key that is not deleted,
///   locked until the transaction ends; `lock_all`: all rows of a namespace;
///   `lock_sealed_otherwise`: the rows for one step of a key rotation
/// - `insert`, `update`, `delete`: writes a single row
macro_rules! lookups {
    ($what:literal, $rows:ident: $($lookup:ident),+) => {
        $(crate::store::db::lookups::lookups!(@$lookup $what, $rows);)+
    };
    (@by_ids $what:literal, $rows:ident) => {
        #[doc = concat!("The rows of those keys, in no order: each is a ", $what, ".")]
        pub async fn by_ids<C: sea_orm::ConnectionTrait>(
            connection: &C,
            ids: &[uuid::Uuid],
        ) -> Result<Vec<Model>, crate::store::StoreError> {
            use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
            let query = Entity::find().filter(Column::Id.is_in(ids.iter().copied()));
            Ok(query.all(connection).await?)
        }
    };
    (@by_name $what:literal, $rows:ident) => {
        #[doc = concat!("The ", $what, " of that name, if there is one.")]
        pub async fn by_name<C: sea_orm::ConnectionTrait>(
            connection: &C,
            namespace: uuid::Uuid,
            name: &str,
        ) -> Result<Option<Model>, crate::store::StoreError> {
            use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
            let query = Entity::find()
                .filter(Column::NamespaceId.eq(namespace))
                .filter(Column::Name.eq(name))
                .filter(crate::store::db::lookups::lookups!(@living $rows));
            Ok(query.one(connection).await?)
        }
    };
    (@of_module $what:literal, $rows:ident) => {
        #[doc = concat!("Each ", $what, " that the module declared, by name.")]
        pub async fn of_module<C: sea_orm::ConnectionTrait>(
            connection: &C,
            namespace: uuid::Uuid,
            module: &str,
        ) -> Result<Vec<Model>, crate::store::StoreError> {
            use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
            let query = Entity::find()
                .filter(Column::NamespaceId.eq(namespace))
                .filter(Column::Module.eq(module))
                .filter(crate::store::db::lookups::lookups!(@living $rows))
                .order_by_asc(Column::Name);
            Ok(query.all(connection).await?)
        }
    };
    (@list $what:literal, $rows:ident) => {
        #[doc = concat!("Each ", $what, " of a namespace, by name: at most `limit`.")]
        pub async fn list<C: sea_orm::ConnectionTrait>(
            connection: &C,
            namespace: uuid::Uuid,
            limit: u64,
        ) -> Result<Vec<Model>, crate::store::StoreError> {
            list_within(connection, &crate::store::db::within::Within::One(namespace), limit).await
        }

        #[doc = concat!("Each ", $what, " of several namespaces, by name: at most `limit`.")]
        pub async fn list_within<C: sea_orm::ConnectionTrait>(
            connection: &C,
            within: &crate::store::db::within::Within,
            limit: u64,
        ) -> Result<Vec<Model>, crate::store::StoreError> {
            use sea_orm::{EntityTrait, QueryFilter, QueryOrder, QuerySelect};
            let query = Entity::find()
                .filter(within.holds(Column::NamespaceId))
                .filter(crate::store::db::lookups::lookups!(@living $rows))
                .order_by_asc(Column::Name)
                .order_by_asc(Column::Id)
                .limit(limit);
            Ok(query.all(connection).await?)
        }
    };
    (@lock $what:literal, $rows:ident) => {
        #[doc = concat!("The ", $what, " of that key, locked until the transaction ends.")]
        pub async fn lock<C: sea_orm::ConnectionTrait>(
            tx: &C,
            id: uuid::Uuid,
        ) -> Result<Option<Model>, crate::store::StoreError> {
            use sea_orm::{EntityTrait, QueryFilter, QuerySelect};
            let query = Entity::find_by_id(id)
                .filter(crate::store::db::lookups::lookups!(@living $rows))
                .lock_exclusive();
            Ok(query.one(tx).await?)
        }
    };
    (@lock_all $what:literal, $rows:ident) => {
        #[doc = concat!("Each ", $what, " of a namespace, locked until the transaction ends.")]
        pub async fn lock_all<C: sea_orm::ConnectionTrait>(
            tx: &C,
            namespace: uuid::Uuid,
        ) -> Result<Vec<Model>, crate::store::StoreError> {
            use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
            let query = Entity::find()
                .filter(Column::NamespaceId.eq(namespace))
                .order_by_asc(Column::Id)
                .lock_exclusive();
            Ok(query.all(tx).await?)
        }
    };
    (@lock_sealed_otherwise $what:literal, $rows:ident) => {
        #[doc = concat!("Each ", $what, " that another key than that one seals, after one of them, ")]
        #[doc = "locked: at most `most`."]
        pub async fn lock_sealed_otherwise<C: sea_orm::ConnectionTrait>(
            tx: &C,
            key_id: &str,
            after: Option<uuid::Uuid>,
            most: u64,
        ) -> Result<Vec<Model>, crate::store::StoreError> {
            use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait};
            let query = Entity::find()
                .filter(Column::KeyId.ne(key_id))
                .apply_if(after, |query, id| query.filter(Column::Id.gt(id)))
                .order_by_asc(Column::Id)
                .limit(most)
                .lock_exclusive();
            Ok(query.all(tx).await?)
        }
    };
    (@insert $what:literal, $rows:ident) => {
        #[doc = concat!("Adds a ", $what, ".")]
        pub async fn insert<C: sea_orm::ConnectionTrait>(
            tx: &C,
            row: ActiveModel,
        ) -> Result<(), crate::store::StoreError> {
            use sea_orm::EntityTrait;
            Entity::insert(row).exec_without_returning(tx).await?;
            Ok(())
        }
    };
    (@update $what:literal, $rows:ident) => {
        #[doc = concat!("Writes the set columns of `row`. The ", $what, " was locked before.")]
        pub async fn update<C: sea_orm::ConnectionTrait>(
            tx: &C,
            id: uuid::Uuid,
            row: ActiveModel,
        ) -> Result<(), crate::store::StoreError> {
            use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
            Entity::update_many().set(row).filter(Column::Id.eq(id)).exec(tx).await?;
            Ok(())
        }
    };
    (@delete $what:literal, $rows:ident) => {
        #[doc = concat!("Deletes a ", $what, ".")]
        pub async fn delete<C: sea_orm::ConnectionTrait>(
            tx: &C,
            id: uuid::Uuid,
        ) -> Result<(), crate::store::StoreError> {
            use sea_orm::EntityTrait;
            Entity::delete_by_id(id).exec(tx).await?;
            Ok(())
        }
    };
    (@living kept) => {
        sea_orm::ColumnTrait::is_null(&Column::DeletedAt)
    };
    (@living removed) => {
        sea_orm::Condition::all()
    };
}

pub(in crate::store) use lookups;
