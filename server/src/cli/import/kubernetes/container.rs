use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    cli::import::plain::plain,
    target::{CommandTarget, SecretText},
};

/// The command of the first container.
pub(super) fn command(
    pod: &Map<String, Value>,
    changes: &mut Vec<String>,
) -> Result<CommandTarget, String> {
    let containers = pod.get("containers").and_then(Value::as_array);
    let all: &[Value] = containers.map_or(&[], Vec::as_slice);
    let first = all.first().and_then(Value::as_object).ok_or("it has no container")?;
    let image = first.get("image").and_then(Value::as_str).unwrap_or("none");
    let words = |key: &str| -> Result<Vec<String>, String> {
        let list = first.get(key).and_then(Value::as_array);
        let text = |value: &Value| {
            value.as_str().map(str::to_owned).ok_or_else(|| format!("'{key}' holds no texts"))
        };
        list.map_or(&[][..], Vec::as_slice).iter().map(text).collect()
    };
    let mut command = words("command")?;
    if command.is_empty() {
        return Err(format!(
            "its first container says no 'command': what runs is decided by the image {image:?}, \
             and images are not run here; give the command, or write a task that starts a container"
        ));
    }
    command.extend(words("args")?);
    changes.push(format!(
        "the image {image:?} is not used: the command runs on a node, where its program must be"
    ));
    if all.len() > 1 {
        changes.push(format!("only the first of {} containers is imported", all.len()));
    }
    let mut target = CommandTarget::default();
    // The values without the escapes for templates that those of the target have.
    let mut known = BTreeMap::new();
    let env = first.get("env").and_then(Value::as_array);
    for variable in env.into_iter().flatten() {
        let name = variable.get("name").and_then(Value::as_str).unwrap_or_default();
        match variable.get("value") {
            Some(Value::String(value)) => {
                let value = expanded(value, &known);
                target.env.insert(name.to_owned(), SecretText::new(plain(&value)));
                known.insert(name.to_owned(), value);
            }
            Some(_) | None => changes.push(format!(
                "the variable {name} is not set: its value comes from elsewhere (valueFrom)"
            )),
        }
    }
    if first.contains_key("envFrom") {
        changes.push("variables from envFrom are not set".to_owned());
    }
    let command: Vec<String> = command.iter().map(|word| expanded(word, &known)).collect();
    if command.iter().any(|word| word.contains("$(")) {
        changes.push("$(...) in the command names variables that are not set here".to_owned());
    }
    target.program = command.first().cloned();
    target.args = command.iter().skip(1).map(|word| plain(word)).collect();
    let directory = first.get("workingDir").and_then(Value::as_str);
    target.directory = directory.map(plain);
    let kept = [
        "name",
        "image",
        "imagePullPolicy",
        "command",
        "args",
        "env",
        "envFrom",
        "workingDir",
        "terminationMessagePath",
        "terminationMessagePolicy",
    ];
    let others = first.keys().filter(|key| !kept.contains(&key.as_str()));
    let others: Vec<&str> = others.map(String::as_str).collect();
    if !others.is_empty() {
        changes.push(format!("of the container is left out: {}", others.join(", ")));
    }
    Ok(target)
}

/// Replaces `$(NAME)` with known values; `$$` is a literal dollar.
fn expanded(text: &str, known: &BTreeMap<String, String>) -> String {
    let (mut made, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        made.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        if let Some(after) = behind.strip_prefix('$') {
            made.push('$');
            rest = after;
            continue;
        }
        let named = behind.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        let found = named.and_then(|(name, after)| Some((known.get(name)?, after)));
        if let Some((value, after)) = found {
            made.push_str(value);
            rest = after;
        } else {
            made.push('$');
            rest = behind;
        }
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_variables_are_filled_in() {
        let known = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        assert_eq!(expanded("x$(A)$(B)$$(A)$", &known), "x1$(B)$(A)$");
    }

    #[test]
    fn a_value_is_escaped_once_where_it_is_filled_in() {
        let pod = serde_json::json!({ "containers": [{
            "image": "a", "command": ["docker", "--format", "$(FORMAT)"],
            "env": [
                { "name": "FORMAT", "value": "{{.Names}}" },
                { "name": "AGAIN", "value": "$(FORMAT)" },
            ],
        }] });
        let pod = pod.as_object().expect("an object");
        let target = command(pod, &mut vec![]).expect("a command");
        let escaped = plain("{{.Names}}");
        assert_eq!(target.args, ["--format", escaped.as_str()]);
        for name in ["FORMAT", "AGAIN"] {
            assert_eq!(target.env[name].expose(), escaped, "{name}");
        }
    }
}
