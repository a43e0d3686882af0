//! Many rows of one table in one statement, from the same rows that one would be written from.
//!
//! What a bulk order writes is what as many single ones would have: so the engine composes rows
//! once, and only their number decides how many statements they become.

use std::collections::HashSet;

use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DbErr, EntityTrait, IdenStatic, Iterable, Statement, Value,
};
use uuid::Uuid;

use super::{
    Dialect, StoreError,
    bulk::{Bulk, MOST_ROWS},
};

/// SQLite binds 32,766 values to one statement.
const MOST_VALUES: usize = 32_000;

/// How rows are added.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manner<'a> {
    /// A column that the database fills, and the expression that it fills it with.
    pub(super) stamp: Option<(&'a str, &'a str)>,
    /// What stands behind the rows: what to do about those that exist, what to give back.
    pub(super) tail: &'a str,
}

/// The statements that add `rows`, each with as many as it can hold. All rows set the columns that
/// the first one sets.
pub(super) fn insert<A: ActiveModelTrait>(
    dialect: &Dialect,
    mut rows: Vec<A>,
    manner: Manner<'_>,
) -> Result<Vec<Statement>, StoreError> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let is_set = |column: &<A::Entity as EntityTrait>::Column| {
        !first.get(*column).is_not_set() && manner.stamp.is_none_or(|(it, _)| it != column.as_str())
    };
    let columns: Vec<_> = <A::Entity as EntityTrait>::Column::iter().filter(is_set).collect();
    let most = if dialect.is_postgres() {
        MOST_ROWS
    } else {
        MOST_ROWS.min(MOST_VALUES / columns.len().max(1))
    };
    let table = A::Entity::default();
    let mut statements = Vec::new();
    for some in rows.chunks_mut(most) {
        let mut bulk = Bulk::default();
        let mut names = Vec::with_capacity(columns.len() + 1);
        let mut wanted = Vec::with_capacity(columns.len() + 1);
        for column in &columns {
            let name = column.as_str();
            let values: Vec<Value> =
                some.iter_mut().filter_map(|row| row.take(*column).into_value()).collect();
            if values.len() != some.len() {
                let problem = format!("{}.{name} is not set in every row", table.as_str());
                return Err(DbErr::Custom(problem).into());
            }
            let is_flag = matches!(values.first(), Some(Value::Bool(_)));
            names.push(name);
            wanted.push(if is_flag { format!("v.{name} <> 0") } else { format!("v.{name}") });
            bulk = add(bulk, name, values)?;
        }
        if let Some((name, expression)) = manner.stamp {
            names.push(name);
            wanted.push(expression.to_owned());
        }
        let (names, wanted) = (names.join(", "), wanted.join(", "));
        // "WHERE true" lets SQLite tell a conflict clause from a join.
        let sql = format!(
            "INSERT INTO {} ({names}) SELECT {wanted} FROM v WHERE true {}",
            table.as_str(),
            manner.tail
        );
        statements.push(bulk.statement(dialect, &sql, vec![]));
    }
    Ok(statements)
}

/// Carries the statements out.
pub(super) async fn execute<C: ConnectionTrait>(
    tx: &C,
    statements: Vec<Statement>,
) -> Result<(), StoreError> {
    for statement in statements {
        tx.execute_raw(statement).await?;
    }
    Ok(())
}

/// Carries out statements that give keys back.
pub(super) async fn written<C: ConnectionTrait>(
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

/// A column whose values tell its kind: a null of the driver has a type, too.
fn add(bulk: Bulk, name: &'static str, values: Vec<Value>) -> Result<Bulk, StoreError> {
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

/// A whole number or a flag; the outer None is another kind of value.
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
