//! The names of all time zones.

use std::{borrow::Cow, sync::LazyLock};

use async_graphql::{
    ContextSelectionSet, OutputType, Positioned, ServerResult, Value, async_trait::async_trait,
    parser::types::Field, registry::Registry,
};

/// The names as a GraphQL list, built once for all requests.
static NAMES: LazyLock<Value> =
    LazyLock::new(|| Value::List(timetable::zone_names().map(Value::from).collect()));

/// A list of strings that is copied as a whole. The library resolves an ordinary list item by item,
/// which takes a hundred times as long.
pub(crate) struct ZoneNames;

type Names = Vec<String>;

#[async_trait]
impl OutputType for ZoneNames {
    fn type_name() -> Cow<'static, str> {
        <Names as OutputType>::type_name()
    }

    fn qualified_type_name() -> String {
        <Names as OutputType>::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        <Names as OutputType>::create_type_info(registry)
    }

    async fn resolve(
        &self,
        _ctx: &ContextSelectionSet<'_>,
        _field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        Ok(NAMES.clone())
    }
}
