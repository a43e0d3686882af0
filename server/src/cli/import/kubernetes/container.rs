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
    let env = first.get("env").and_then(Value::as_array);
    for variable in env.into_iter().flatten() {
        let name = variable.get("name").and_then(Value::as_str).unwrap_or_default();
        match variable.get("value") {
            Some(Value::String(value)) => {
                let value = expanded(value, &target);
                target.env.insert(name.to_owned(), SecretText::new(plain(&value)));
            }
            Some(_) | None => changes.push(format!(
                "the variable {name} is not set: its value comes from elsewhere (valueFrom)"
            )),
        }
    }
    if first.contains_key("envFrom") {
        changes.push("variables from envFrom are not set".to_owned());
    }
    let command: Vec<String> = command.iter().map(|word| expanded(word, &target)).collect();
    if command.iter().any(|word| word.contains("$(")) {
        changes.push("$(...) in the command names variables that are not set here".to_owned());
    }
    target.program = command.first().cloned();
    target.args = command.iter().skip(1).map(|word| plain(word)).collect();
    let directory = first.get("workingDir").and_then(Value::as_str);
    target.directory = directory.map(plain);
    let known = [
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
    let others = first.keys().filter(|key| !known.contains(&key.as_str()));
    let others: Vec<&str> = others.map(String::as_str).collect();
    if !others.is_empty() {
        changes.push(format!("of the container is left out: {}", others.join(", ")));
    }
    Ok(target)
}

/// Replaces `$(NAME)` with known values; `$$` is a literal dollar.
fn expanded(text: &str, target: &CommandTarget) -> String {
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
        let found = named.and_then(|(name, after)| Some((target.env.get(name)?, after)));
        if let Some((value, after)) = found {
            made.push_str(value.expose());
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
        let env = [("A".to_owned(), SecretText::new("1"))].into();
        let target = CommandTarget { env, ..CommandTarget::default() };
        assert_eq!(expanded("x$(A)$(B)$$(A)$", &target), "x1$(B)$(A)$");
    }
}
