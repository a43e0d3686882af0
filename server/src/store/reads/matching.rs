//! Builds conditions on columns of texts and numbers.
//! Every word is a bound value, and LIKE patterns are escaped.

use entity::schedule;
use sea_orm::{
    ColumnTrait, Condition, IntoSimpleExpr,
    sea_query::{BinOper, Expr, ExprTrait, Func, IntoCondition, Query, SimpleExpr},
};

use crate::{search::Comparator, store::Dialect};

pub(super) fn nothing() -> Condition {
    any_of(Expr::cust("1 = 0"))
}

pub(super) fn any_of(condition: impl IntoCondition) -> Condition {
    Condition::any().add(condition.into_condition())
}

/// The condition that a column has a value for which `condition` holds.
pub(super) fn some<C: ColumnTrait>(column: C, condition: impl IntoCondition) -> Condition {
    any_of(Condition::all().add(column.is_not_null()).add(condition.into_condition()))
}

fn lower<C: ColumnTrait>(column: C) -> SimpleExpr {
    Func::lower(column.into_simple_expr()).into()
}

/// A text in lower case. The database converts it, so that the text follows the same rules as the
/// column; on SQLite, these rules only cover ASCII.
fn folded(text: impl Into<String>) -> SimpleExpr {
    Func::lower(Expr::val(text.into())).into()
}

/// The condition that a column equals one of the words, ignoring case.
pub(super) fn is<C: ColumnTrait>(column: C, words: &[String]) -> Condition {
    any_of(lower(column).is_in(words.iter().map(folded)))
}

pub(super) fn is_some<C: ColumnTrait>(column: C, words: &[String]) -> Condition {
    some(column, is(column, words))
}

/// The condition that a column contains the text, ignoring case.
pub(super) fn contains<C: ColumnTrait>(column: C, text: &str) -> Condition {
    any_of(lower(column).binary(BinOper::Like, part(text)))
}

/// The condition that the name or the note of a schedule contains the text, ignoring case.
pub(super) fn in_name_or_note(dialect: &Dialect, text: &str) -> Condition {
    let like = |column: SimpleExpr| column.binary(BinOper::Like, part(text));
    if dialect.is_postgres() {
        // On PostgreSQL, a stored column contains both in lower case.
        any_of(like(Expr::col((schedule::Entity, "search_text"))))
    } else {
        // SQLite's LIKE ignores case as lower() does, so lower() need not be called for each row.
        let (name, note) = (schedule::Column::Name, schedule::Column::Note);
        any_of(like(name.into_simple_expr())).add(like(note.into_simple_expr()))
    }
}

/// The LIKE pattern for texts that contain the given one. A subquery converts the text to lower
/// case once. In a generic plan, PostgreSQL would otherwise convert it for each row.
fn part(text: &str) -> SimpleExpr {
    let once = Query::select().expr(folded_part(text)).take();
    SimpleExpr::from(once).binary(BinOper::Escape, Expr::cust("'\\'"))
}

/// The LIKE pattern, in lower case and escaped by backslashes, for texts that contain the given one.
pub(super) fn folded_part(text: &str) -> SimpleExpr {
    folded(format!("%{}%", escaped(text)))
}

/// As [`folded_part`], for texts that begin with the given one.
pub(super) fn folded_beginning(text: &str) -> SimpleExpr {
    folded(format!("{}%", escaped(text)))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

pub(super) fn contains_some<C: ColumnTrait>(column: C, text: &str) -> Condition {
    some(column, contains(column, text))
}

pub(super) fn any_part<C: ColumnTrait>(column: C, parts: &[String]) -> Condition {
    parts.iter().fold(Condition::any(), |any, part| any.add(contains(column, part)))
}

pub(super) fn compare(value: SimpleExpr, order: Comparator, with: i64) -> SimpleExpr {
    match order {
        Comparator::Less => value.lt(with),
        Comparator::AtMost => value.lte(with),
        Comparator::More => value.gt(with),
        Comparator::AtLeast => value.gte(with),
    }
}
