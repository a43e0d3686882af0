use serde_json::{Value, json};

/// Deeply nested templates, one for each construct in which a parser may recurse.
pub(super) fn deep_templates() -> Vec<String> {
    const TIMES: usize = 20_000;
    let ifs = "{% if a %}".to_owned() + &"{% elif a %}".repeat(2_000) + "{% endif %}";
    vec![
        format!("{{{{ {}true }}}}", "not ".repeat(TIMES)),
        format!("{{{{ {}1 }}}}", "-".repeat(TIMES)),
        format!("{{{{ a{} }}}}", ".a".repeat(TIMES)),
        format!("{{{{ a{} }}}}", "|upper".repeat(TIMES / 2)),
        format!("{{{{ a{} }}}}", " and a".repeat(TIMES / 2)),
        format!("{{{{ {}1{} }}}}", "(".repeat(TIMES), ")".repeat(TIMES)),
        format!("{{{{ {}1{} }}}}", "[".repeat(TIMES), "]".repeat(TIMES)),
        ifs,
    ]
}

/// Wide templates: many small pieces, which cause much work for little text.
pub(super) fn wide_templates() -> Vec<String> {
    let chain = "|upper|lower".repeat(200);
    vec![
        "{{1}}".repeat(13_000),
        format!("{{% set a = 'x' * 60000 %}}{{{{ a{chain} }}}}"),
        "{% for i in range(9999) %}{% for j in range(9999) %}{{ i }}{% endfor %}{% endfor %}"
            .to_owned(),
    ]
}

/// A schedule of the attackers with this template as its body.
pub(super) fn with_template(number: usize, template: &str, url: &str) -> Value {
    json!({
        "namespace": "attackers",
        "name": format!("template-{number}"),
        "timing": { "expressions": ["* * * * * *"], "zone": "UTC" },
        "overlap": "ALLOW",
        "task": { "target": { "http": { "url": url, "body": template } } },
    })
}

/// A document with an introspection that multiplies: types of fields of types of fields.
pub(super) fn introspection() -> String {
    let mut inner = "name".to_owned();
    for _ in 0..5 {
        inner = format!("name fields {{ name type {{ {inner} ofType {{ {inner} }} }} }}");
        if inner.len() > 3_500 {
            break;
        }
    }
    format!("{{ __schema {{ types {{ {inner} }} }} }}")
}

/// A document that requests hundreds of previews.
pub(super) fn previews(calls: usize) -> String {
    let call = |number: usize| {
        format!(
            "p{number}: schedulePreview(timing: {{ expressions: [\"{} 3 29 2 *\"], \
             zone: \"Europe/Berlin\" }}, count: 1000) {{ fires {{ at }} }}",
            number % 60
        )
    };
    let all: Vec<String> = (0..calls).map(call).collect();
    format!("{{ {} }}", all.join(" "))
}

/// A document that lists the zones many times.
pub(super) fn zones(times: usize) -> String {
    aliases(times, "timezones")
}

/// A document that lists a page of schedules many times, with the description and the warnings of
/// each timing, which the server computes each time.
pub(super) fn listings(times: usize) -> String {
    let page = "schedules(namespace: \"attackers\", first: 200) {
        nodes { timing { warnings { message } description } } }";
    aliases(times, page)
}

fn aliases(times: usize, field: &str) -> String {
    let all: Vec<String> = (0..times).map(|number| format!("a{number}: {field}")).collect();
    format!("{{ {} }}", all.join(" "))
}

/// Schedules of the attackers with this expression and this target.
pub(super) fn schedules(
    count: usize,
    prefix: &str,
    expression: &str,
    target: &Value,
) -> Vec<Value> {
    let one = |number: usize| {
        json!({
            "namespace": "attackers",
            "name": format!("{prefix}-{number}"),
            "tags": [prefix],
            "timing": { "expressions": [expression], "zone": "Europe/Berlin" },
            "overlap": "ALLOW",
            "task": { "target": target },
        })
    };
    (0..count).map(one).collect()
}
