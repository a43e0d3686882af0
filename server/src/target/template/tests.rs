use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::target::{Broker, CommandTarget, Http, Invocation, SecretText};

fn invocation() -> Invocation {
    Invocation {
        run_id: Uuid::nil(),
        attempt: 2,
        task: "load".to_owned(),
        namespace: "default".to_owned(),
        namespace_id: Uuid::nil(),
        priority: 0,
        schedule: Some("nightly".to_owned()),
        schedule_id: None,
        schedule_version: None,
        scheduled_at: None,
        idempotency_key: "k-1".to_owned(),
        traceparent: None,
        context: json!({
            "region": "eu west", "count": 3, "names": ["a", "b"], "big": "x".repeat(200_000),
            "password": "hush",
        }),
        timeout: Duration::from_secs(1),
        kill_grace: Duration::ZERO,
    }
}

fn filled(target: &Target) -> Result<Target, TargetError> {
    let tasks = json!({ "extract": { "output": { "rows": 7 } } });
    let secrets = [("smtp".to_owned(), "sesame".into())].into();
    let names = TemplateNames {
        invocation: &invocation(),
        scheduled_at: "2026-03-01T12:00:00Z".parse().unwrap(),
        previous_fire: None,
        tasks: &tasks,
        secrets: &secrets,
    };
    filling::filled_in(target.clone(), names.json(), Arc::default())
}

/// Renders a template in the body of a request.
fn made(template: &str) -> Result<String, String> {
    let mut http = Http::post("https://example.org/");
    http.body = Some(Value::String(template.to_owned()));
    match filled(&Target::Http(http)) {
        Ok(Target::Http(http)) => Ok(http.body.unwrap().as_str().unwrap().to_owned()),
        Ok(Target::Command(_) | Target::Publish(_) | Target::Worker(_) | Target::Noop(_)) => {
            unreachable!("a request stays one")
        }
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_template_can_name_the_values_of_its_attempt() {
    for (template, expected) in [
        ("{{ scheduled_at }}", "2026-03-01T12:00:00Z"),
        ("{{ scheduled_at[:10] }}", "2026-03-01"),
        ("{{ scheduled_at | date('%d.%m.%Y') }}", "01.03.2026"),
        ("{{ previous_fire }}", "null"),
        ("{{ context.region | urlencode }}", "eu%20west"),
        ("{{ context.nope | default('x') }}", "x"),
        ("{{ tasks.extract.output.rows + 1 }}", "8"),
        ("{{ run_id }}/{{ attempt }}/{{ task }}", "00000000-0000-0000-0000-000000000000/2/load"),
        ("{{ idempotency_key }} {{ namespace }} {{ schedule }}", "k-1 default nightly"),
        (
            "{% for n in context.names %}{{ n }}{% if not loop.last %},{% endif %}{% endfor %}",
            "a,b",
        ),
        ("{{ context.names | join('-') }} {{ context.names | tojson }}", "a-b [\"a\",\"b\"]"),
        ("{% raw %}{{ as it is }}{% endraw %}{# nothing #}", "{{ as it is }}"),
        ("{{ 'a*b' | replace('*', '~') }}", "a~b"),
        ("no template: * ~ %", "no template: * ~ %"),
    ] {
        assert_eq!(made(template).as_deref(), Ok(expected), "{template}");
    }
}

#[test]
fn a_name_that_is_not_there_is_an_error_that_says_which_and_where() {
    let told = made("first\n{{ context.regoin }}").unwrap_err();
    assert!(told.starts_with("http.body: "), "{told}");
    assert!(told.contains("line 2") && told.contains("`context.regoin` is undefined"), "{told}");
    let told = made("{{ context.regoin | tojson }}").unwrap_err();
    assert!(told.contains("`context.regoin` is undefined"), "{told}");
    let told = made("{{ tasks.load.output.rows }}").unwrap_err();
    assert!(told.contains("`tasks.load` is undefined"), "{told}");
}

#[test]
fn an_error_repeats_no_value_of_the_context() {
    for template in
        ["{{ context.password | int }}", "{{ context.password - 1 }}", "{{ context.password() }}"]
    {
        let told = made(template).unwrap_err();
        assert!(!told.contains("hush"), "{told}");
    }
}

#[test]
fn a_small_template_makes_no_large_text_and_takes_no_long_time() {
    for (template, said) in [
        ("{{ context.big }}{{ context.big }}", "more than 262144 bytes"),
        ("{% set x = 1 %}{{ x }}", "no statement \"set\""),
        ("{%- macro m() %}{% endmacro %}", "no statement \"macro\""),
        ("{% include 'x' %}", "no statement \"include\""),
        ("{{ 'x' * 1000000 }}", "no multiplication"),
        ("{{ 10 ** 100 }}", "no multiplication"),
        ("{% raw %}{% endraw %}{{ 'x' * 9 }}", "no multiplication"),
        ("{{ context.names | replace('', context.big) }}", "line 1"),
        ("{{ context.big | replace('x', context.big) }}", "line 1"),
        ("{{ context.big | join(context.big) }}", "line 1"),
        (
            "{{ context.big | urlencode | tojson | tojson | tojson ~ context.big ~ context.big }}",
            "line 1",
        ),
        (
            "{% for a in context.big[:1000] %}{% for b in context.big[:1000] %}{% endfor %}{% endfor %}",
            "line 1",
        ),
        ("{% for a in context.names %}", "line 1"),
        ("{{ context.names", "line 1"),
        ("{{ x | nofilter }}", "nofilter"),
        ("{{ range(9) }}", "range"),
    ] {
        let told = made(template).unwrap_err();
        assert!(told.contains(said), "{template}: {told}");
    }
    let many = format!("{{{{ 'a'{} }}}}", " ~ 'a'".repeat(17));
    assert!(made(&many).unwrap_err().contains("more than 16 texts"));
    let nested = format!("{{{{ {}1{} }}}}", "(".repeat(5_000), ")".repeat(5_000));
    assert!(made(&nested).is_err());
}

#[test]
fn every_text_that_may_be_a_template_is_filled_in_and_no_other() {
    let mut http = Http::post("https://example.org/{{ context.region | urlencode }}");
    http.headers.insert("X-Rows".to_owned(), SecretText::new("{{ tasks.extract.output.rows }}"));
    http.body = Some(json!({ "a": ["{{ attempt }}", 1, "{{ task }}"], "{{ key }}": true }));
    let Ok(Target::Http(http)) = filled(&Target::Http(http)) else { panic!("not filled in") };
    assert_eq!(http.url, "https://example.org/eu%20west");
    assert_eq!(http.headers["X-Rows"].expose(), "7");
    assert_eq!(http.body, Some(json!({ "a": ["2", 1, "load"], "{{ key }}": true })));

    let command = CommandTarget {
        program: Some("{{ task }}".to_owned()),
        args: vec!["--day={{ scheduled_at[:10] }}".to_owned(), "plain".to_owned()],
        env: [("REGION".to_owned(), SecretText::new("{{ context.region }}"))].into(),
        directory: Some("/var/{{ namespace }}".to_owned()),
        ..CommandTarget::default()
    };
    let Ok(Target::Command(command)) = filled(&Target::Command(command)) else {
        panic!("not filled in")
    };
    assert_eq!(command.program.as_deref(), Some("{{ task }}"));
    assert_eq!(command.args, ["--day=2026-03-01", "plain"]);
    assert_eq!(command.env["REGION"].expose(), "eu west");
    assert_eq!(command.directory.as_deref(), Some("/var/default"));
}

#[test]
fn the_texts_of_an_event_and_of_its_destination_are_filled_in() {
    let target = json!({ "publish": {
        "to": { "kafka": {
            "connection": { "servers": ["kafka.example.org"] }, "topic": "of-{{ task }}",
            "key": "{{ idempotency_key }}", "partition": "{{ context.count }}",
        } },
        "event": {
            "subject": "{{ namespace }}", "headers": { "x-region": "{{ context.region }}" },
            "payload": { "attempt": "{{ attempt }}" },
        },
    } });
    let target: Target = serde_json::from_value(target).unwrap();
    let Ok(Target::Publish(publish)) = filled(&target) else { panic!("not filled in") };
    let Broker::Kafka(kafka) = &publish.to else { panic!("another broker") };
    assert_eq!(kafka.topic, "of-load");
    assert_eq!((kafka.key.as_deref(), kafka.partition.as_deref()), (Some("k-1"), Some("3")));
    assert_eq!(publish.event.subject.as_deref(), Some("default"));
    assert_eq!(publish.event.headers["x-region"].expose(), "eu west");
    assert_eq!(publish.event.payload, Some(json!({ "attempt": "2" })));
}

#[test]
fn a_target_says_whether_it_has_templates() {
    let of = |url: &str| Target::Http(Http::post(url)).template_use();
    assert_eq!(of("https://example.org/"), TemplateUse::None);
    assert_eq!(of("https://example.org/{{ task }}"), TemplateUse::Some { previous_fire: false });
    let asked = TemplateUse::Some { previous_fire: true };
    assert_eq!(of("https://example.org/?since={{ previous_fire }}"), asked);
    let script =
        CommandTarget { script: Some("echo {{ task }}".to_owned()), ..CommandTarget::default() };
    assert_eq!(Target::Command(script).template_use(), TemplateUse::None);
}

#[test]
fn only_templates_after_the_server_leave_the_origin_fixed() {
    let open = |url: &str| Target::Http(Http::post(url)).has_open_origin();
    for url in ["https://a.example/{{ x }}", "https://a.example?{{ x }}", "https://a.example/"] {
        assert!(!open(url), "{url}");
    }
    for url in ["{{ x }}", "https://{{ x }}/", "https://a.{{ x }}", "https://a.example:{{ x }}/"] {
        assert!(open(url), "{url}");
    }
}

#[test]
fn a_secret_is_asked_for_by_its_name() {
    assert_eq!(made("key={{ secrets.smtp | urlencode }}").as_deref(), Ok("key=sesame"));
    assert!(made("{{ secrets.nope }}").unwrap_err().contains("`secrets.nope` is undefined"));
    let names = |body: &str| {
        let mut http = Http::post("https://example.org/{{ secrets.b }}");
        http.headers.insert("X".to_owned(), SecretText::new("{{ secrets.c ~ secrets.b }}"));
        http.body = Some(json!({ "text": [body] }));
        Target::Http(http).secret_names()
    };
    assert_eq!(names("{{ secrets.a }} {{ context.secrets.d }}"), ["a", "b", "c"]);
    assert_eq!(names("secrets.a"), ["b", "c"]);
    for text in [
        "{{ secrets }}",
        "{{ secrets[context.region] }}",
        "{{ secrets | tojson }}",
        "{% for name in secrets %}{{ name }}{% endfor %}",
        "{% for all in [secrets] %}{{ all.smtp }}{% endfor %}",
    ] {
        let mut http = Http::post("https://example.org/");
        http.body = Some(Value::from(text));
        let refused = Target::Http(http)
            .with_templates_checked(TemplateScope::ALONE)
            .unwrap_err()
            .to_string();
        let is_told = refused.contains("without their names") || refused.contains("without names");
        assert!(is_told, "{text}: {refused}");
    }
}

#[test]
fn a_body_with_a_secret_follows_no_redirect() {
    let sent = |body: &str| {
        let mut http = Http::post("https://example.org/");
        http.max_redirects = 3;
        http.body = Some(json!({ "key": body }));
        match filled(&Target::Http(http)) {
            Ok(Target::Http(http)) => http.max_redirects,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((sent("{{ task }}"), sent("{{ secrets.smtp }}")), (3, 0));
}

#[test]
fn a_secret_is_requested_wherever_its_name_occurs() {
    for (template, names) in [
        ("{{ secrets.smtp[:8] }}", vec!["smtp"]),
        ("{{ secrets['smtp'][1:] }}{% if secrets . a[:1] == 'x' %}{% endif %}", vec!["a", "smtp"]),
        ("{{ secrets[\"b\"] | upper }}", vec!["b"]),
        ("{{ 'see secrets.x' }}{# secrets.y #}{% raw %}{{ secrets.z }}{% endraw %}", vec![]),
        ("secrets.example.org/{{ context.secrets.x }}", vec![]),
    ] {
        let mut http = Http::post("https://example.org/");
        http.body = Some(Value::String(template.to_owned()));
        assert_eq!(Target::Http(http).secret_names(), names, "{template}");
    }
    assert_eq!(made("{{ secrets.smtp[:3] }}").as_deref(), Ok("ses"));
}

#[test]
fn a_body_that_mentions_secrets_is_not_redirected() {
    for (template, most) in
        [("{{ secrets.smtp[:3] }}", 0), ("{{ (secrets).smtp }}", 0), ("{{ task }}", 5)]
    {
        let mut http = Http::post("https://example.org/");
        http.body = Some(json!({ "a": [template] }));
        let Ok(Target::Http(http)) = filled(&Target::Http(http)) else { panic!("{template}") };
        assert_eq!(http.max_redirects, most, "{template}");
    }
}
