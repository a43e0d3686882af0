//! Writes many rows in one statement, from the same active models as single rows.
//!
//! A bulk request writes the same rows as many single requests. So all callers compose rows in the
//! same way, and only the number of rows determines how many statements are needed.

use std::collections::HashSet;

use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DbErr, EntityTrait, IdenStatic, Iterable, Statement, Value,
};
use uuid::Uuid;

use super::expected::{self, ExpectedObjects};
use crate::store::{
    Dialect, StoreError,
    db::bulk::{BulkValues, MAX_ROWS},
};

/// How the rows of objects are added.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::store) struct InsertOptions<'a> {
    /// A column that the database fills, and the expression for its value.
    pub(in crate::store) stamp: Option<(&'a str, &'a str)>,
    /// The end of the statement: what happens to existing rows, and what the statement returns.
    pub(in crate::store) tail: &'a str,
}

/// New objects, with the first definition and the audit log entry of each.
pub(in crate::store) struct NewObjects<A, B, C> {
    pub(in crate::store) rows: (Vec<A>, Vec<B>, Vec<C>),
    /// The columns of definitions and of audit entries that contain the key of the object.
    pub(in crate::store) keys: (&'static str, &'static str),
    /// The column of definitions that audit entries contain as the state after the change.
    /// Its value is sent once; the value in the entries themselves is ignored.
    pub(in crate::store) told: Option<&'static str>,
}

impl<A: ActiveModelTrait, B: ActiveModelTrait, C: ActiveModelTrait> NewObjects<A, B, C> {
    /// The statements that add the objects. If an object is not added, its definition and its audit
    /// entry are left out, too. All rows of a table set the same columns as its first row.
    /// The statements return the columns in the RETURNING clause of the tail.
    pub(in crate::store) fn insert(
        self,
        dialect: &Dialect,
        manner: InsertOptions<'_>,
    ) -> Result<Vec<Statement>, StoreError> {
        if dialect.is_postgres() {
            return self.insert_at_once(dialect, manner, None);
        }
        let of_table = |key| format!("AND v.{key} IN (SELECT id FROM {})", table::<A>());
        let (of_definition, of_entry) = (of_table(self.keys.0), of_table(self.keys.1));
        let (definition, entry) = self.keys;
        let told = self.told.map(|told| {
            let definitions = table::<B>();
            format!(
                "(SELECT d.{told} FROM {definitions} d \
                   WHERE d.{definition} = v.{entry} AND d.version = 1)"
            )
        });
        let mut statements = Vec::new();
        self.in_parts(manner, told.as_deref(), |things, definitions, entries| {
            statements.push(things.statement(dialect, "", manner.tail));
            statements.push(definitions.statement(dialect, &of_definition, ""));
            statements.push(entries.statement(dialect, &of_entry, ""));
        })?;
        Ok(statements)
    }

    /// The statement that adds the objects on PostgreSQL. It writes all three tables at once,
    /// because each statement is a round trip for which other transactions wait.
    /// Nothing is added unless all assumptions hold.
    pub(in crate::store) fn insert_at_once(
        self,
        dialect: &Dialect,
        manner: InsertOptions<'_>,
        only_if: Option<&[ExpectedObjects]>,
    ) -> Result<Vec<Statement>, StoreError> {
        let of_made = |key| format!("AND v.{key} IN (SELECT id FROM made)");
        let (of_definition, of_entry) = (of_made(self.keys.0), of_made(self.keys.1));
        let (definition, entry) = self.keys;
        let told = self.told.map(|told| format!("d.{told}"));
        let beside = told.as_ref().map_or_else(String::new, |_| {
            format!("JOIN defined_rows d ON d.{definition} = v.{entry}")
        });
        let mut statements = Vec::new();
        self.in_parts(manner, told.as_deref(), |things, definitions, entries| {
            let (mut bound, mut tables, mut which) = (Vec::new(), Vec::new(), String::new());
            if let Some(rows) = only_if {
                tables.push(expected::table(rows).table(dialect, "expected", &mut bound));
                let broken = expected::broken(dialect, "expected");
                which = format!("AND NOT EXISTS (SELECT 1 FROM expected WHERE {broken})");
            }
            for (insert, name, beside, (which, tail)) in [
                (things, "made", "", (&which, manner.tail)),
                (definitions, "defined", "", (&of_definition, "")),
                (entries, "told", &*beside, (&of_entry, "")),
            ] {
                let rows = format!("{name}_rows");
                let sql = insert.sql(&rows, beside, which, tail);
                tables.push(insert.rows.table(dialect, &rows, &mut bound));
                tables.push(format!("{name} AS ({sql})"));
            }
            let sql = format!("WITH {} SELECT * FROM made", tables.join(", "));
            statements.push(dialect.statement(sql, bound));
        })?;
        Ok(statements)
    }

    /// Splits the rows into parts that fit into one statement each.
    fn in_parts(
        self,
        manner: InsertOptions<'_>,
        told: Option<&str>,
        mut each: impl FnMut(Insert, Insert, Insert),
    ) -> Result<(), StoreError> {
        let (mut things, mut definitions, mut entries) = self.rows;
        if definitions.len() != things.len() || entries.len() != things.len() {
            let problem = format!("{} comes without its history", table::<A>());
            return Err(DbErr::Custom(problem).into());
        }
        let told = told.map(|told| ("after", told));
        let histories = definitions.chunks_mut(MAX_ROWS).zip(entries.chunks_mut(MAX_ROWS));
        for (things, (definitions, entries)) in things.chunks_mut(MAX_ROWS).zip(histories) {
            each(
                Insert::of(things, manner.stamp)?,
                Insert::of(definitions, None)?,
                Insert::of(entries, told)?,
            );
        }
        Ok(())
    }
}

/// The name of a table.
fn table<A: ActiveModelTrait>() -> &'static str {
    A::Entity::default().as_str()
}

/// Rows to insert into a table.
struct Insert {
    table: &'static str,
    /// The columns to write.
    names: String,
    /// The expressions for the values of these columns.
    wanted: String,
    rows: BulkValues,
}

impl Insert {
    fn of<A: ActiveModelTrait>(
        rows: &mut [A],
        stamp: Option<(&str, &str)>,
    ) -> Result<Self, StoreError> {
        let table = table::<A>();
        let mut bulk = BulkValues::default();
        let (mut names, mut wanted) = (Vec::new(), Vec::new());
        for column in <A::Entity as EntityTrait>::Column::iter() {
            let name = column.as_str();
            let is_set = rows.first().is_some_and(|first| !first.get(column).is_not_set());
            if !is_set || stamp.is_some_and(|(stamped, _)| stamped == name) {
                continue;
            }
            let values: Vec<Value> =
                rows.iter_mut().filter_map(|row| row.take(column).into_value()).collect();
            if values.len() != rows.len() {
                let problem = format!("{table}.{name} is not set in every row");
                return Err(DbErr::Custom(problem).into());
            }
            let is_flag = matches!(values.first(), Some(Value::Bool(_)));
            names.push(name.to_owned());
            wanted.push(if is_flag { format!("v.{name} <> 0") } else { format!("v.{name}") });
            bulk = add(bulk, name, values)?;
        }
        if let Some((name, expression)) = stamp {
            names.push(name.to_owned());
            wanted.push(expression.to_owned());
        }
        let (names, wanted) = (names.join(", "), wanted.join(", "));
        Ok(Self { table, names, wanted, rows: bulk })
    }

    /// The insert as a statement of its own. `which` narrows the rows, and `tail` is appended.
    fn statement(self, dialect: &Dialect, which: &str, tail: &str) -> Statement {
        let sql = self.sql("v", "", which, tail);
        self.rows.statement(dialect, &sql, vec![])
    }

    /// The insert from a table of `rows` and its joins.
    /// "WHERE true" lets SQLite tell a conflict clause from a join.
    fn sql(&self, rows: &str, beside: &str, which: &str, tail: &str) -> String {
        let Self { table, names, wanted, .. } = self;
        format!(
            "INSERT INTO {table} ({names}) SELECT {wanted} FROM {rows} v {beside} \
             WHERE true {which} {tail}"
        )
    }
}

/// Executes statements that return keys, and collects the keys.
pub(in crate::store) async fn written<C: ConnectionTrait>(
    tx: &C,
    statements: Vec<Statement>,
) -> Result<HashSet<Uuid>, StoreError> {
    let mut ids = HashSet::new();
    for statement in statements {
        for row in tx.query_all_raw(statement).await? {
            ids.insert(row.try_get_by_index::<Uuid>(0)?);
        }
    }
    Ok(ids)
}

/// Adds a column. Its values determine its type, because even nulls have a type in the driver.
fn add(bulk: BulkValues, name: &'static str, values: Vec<Value>) -> Result<BulkValues, StoreError> {
    let odd = |value: &Value| {
        StoreError::from(DbErr::Type(format!("{name}: {value:?} cannot be written in bulk")))
    };
    let Some(first) = values.first() else { return Ok(bulk) };
    if matches!(first, Value::Uuid(_)) {
        let key = |value| if let Value::Uuid(key) = value { Ok(key) } else { Err(odd(&value)) };
        let keys: Vec<_> = values.into_iter().map(key).collect::<Result<_, _>>()?;
        Ok(bulk.uuid(name, keys.into_iter()))
    } else if matches!(first, Value::String(_)) {
        let word =
            |value| if let Value::String(word) = value { Ok(word) } else { Err(odd(&value)) };
        let words: Vec<_> = values.into_iter().map(word).collect::<Result<_, _>>()?;
        Ok(bulk.text(name, words.into_iter()))
    } else if matches!(first, Value::Json(_)) {
        let json = |value| if let Value::Json(json) = value { Ok(json) } else { Err(odd(&value)) };
        let documents: Vec<_> = values.into_iter().map(json).collect::<Result<_, _>>()?;
        Ok(bulk.json(name, documents.into_iter().map(|json| json.map(|json| *json))))
    } else {
        let number = |value| number(&value).ok_or_else(|| odd(&value));
        let numbers: Vec<_> = values.into_iter().map(number).collect::<Result<_, _>>()?;
        Ok(bulk.int(name, numbers.into_iter()))
    }
}

/// An integer or a flag; the outer `None` means that the value has another type.
fn number(value: &Value) -> Option<Option<i64>> {
    if let Value::BigInt(number) = value {
        Some(*number)
    } else if let Value::Int(number) = value {
        Some(number.map(i64::from))
    } else if let Value::SmallInt(number) = value {
        Some(number.map(i64::from))
    } else if let Value::Bool(flag) = value {
        Some(flag.map(i64::from))
    } else {
        None
    }
}
