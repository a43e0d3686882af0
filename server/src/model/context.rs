//! The context of runs.

use serde_json::Value;

/// The context `base` with `over` merged over it, key by key.
pub(crate) fn laid_over(base: &Value, over: Option<&Value>) -> Value {
    let mut context = base.clone();
    if let (Value::Object(context), Some(Value::Object(over))) = (&mut context, over) {
        context.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    context
}
