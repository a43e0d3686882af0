//! Conditions on names.

use sea_orm::{
    ColumnTrait,
    sea_query::{BinOper, Expr, ExprTrait, Func, SimpleExpr},
};

/// The pattern of a text that contains this one, for `LIKE` with a backslash as the escape character.
pub(in crate::store) fn containing(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

/// The condition that a name contains a text, ignoring case. The database converts both to lower
/// case, so that they follow the same rules.
pub(in crate::store) fn name_contains<C: ColumnTrait>(name: C, text: &str) -> SimpleExpr {
    let pattern = SimpleExpr::from(Func::lower(Expr::val(containing(text))));
    let folded = SimpleExpr::from(Func::lower(name.into_expr()));
    folded.binary(BinOper::Like, pattern.binary(BinOper::Escape, Expr::cust("'\\'")))
}
