//! A mutation as its idempotency key remembers it.

use async_graphql::InputType;

use crate::commands::{BadInput, Call};

/// A call with an input. Without a key nobody will compare the input with another one.
pub(super) fn call(
    name: &str,
    input: &impl InputType,
    key: Option<String>,
) -> Result<Call, BadInput> {
    if key.is_none() { Ok(Call::once()) } else { Call::new(name, &text(input), key) }
}

/// An input in a form that is the same for the same values, defaults filled in.
pub(super) fn text(input: &impl InputType) -> String {
    InputType::to_value(input).to_string()
}
