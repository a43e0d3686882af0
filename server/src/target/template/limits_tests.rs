//! Tests that no text can stop the server: nothing overflows, and nothing takes long.

use std::time::Duration;

use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::json;

use super::{depth::MAX_DEPTH, language::MAX_TEMPLATE_BYTES, *};
use crate::{clock::Clock, target::Http};

/// A quarter of the runtime's stack size for threads. Without optimisation it is all of it, because
/// frames are several times as large.
const SMALL_STACK: usize = if cfg!(debug_assertions) { 2048 * 1024 } else { 512 * 1024 };

/// Runs `act` on a thread with a small stack.
fn on_a_small_stack(act: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(SMALL_STACK).spawn(act).unwrap();
    assert!(thread.join().is_ok());
}

/// Does everything that happens to a template when it is saved, rendered and dropped.
fn used(text: &str) -> (Result<(), Fault>, Result<Target, TargetError>) {
    let judged = check(text, TemplateScope::ALONE);
    let mut http = Http::post("https://example.org/");
    http.body = Some(text.into());
    let target = Target::Http(http);
    let _ = (target.secret_names(), target.asks_beside_secrets(), target.template_use());
    (judged, filling::filled_in(target, names(), Arc::default()))
}

fn names() -> serde_json::Value {
    json!({ "context": { "a": { "a": "x" }, "list": [1, "b", null], "big": "x".repeat(200_000) },
            "task": "load", "secrets": { "smtp": "sesame" }, "tasks": {} })
}

/// A way in which a template nests: the opening, the inside, and the closing.
const SHAPES: [(&str, &str, &str, &str, &str); 26] = [
    ("{{ ", "not ", "task", "", " }}"),
    ("{{ ", "-", "1", "", " }}"),
    ("{{ ", "- -", "1", "", " }}"),
    ("{{ context", ".a", "", "", " }}"),
    ("{{ context", ".a.a", "", "", " }}"),
    ("{{ context", "['a']", "", "", " }}"),
    ("{{ task", "|upper", "", "", " }}"),
    ("{{ task", "|default('x')", "", "", " }}"),
    ("{{ task", " and task", "", "", " }}"),
    ("{{ task", " or task", "", "", " }}"),
    ("{{ task", " == task", "", "", " }}"),
    ("{{ task", " in task", "", "", " }}"),
    ("{{ task", " - 1", "", "", " }}"),
    ("{{ task", " ~ task", "", "", " }}"),
    ("{{ task", " / 1", "", "", " }}"),
    ("{{ task", " is defined", "", "", " }}"),
    ("{{ task", " is not defined", "", "", " }}"),
    ("{{ task", " if task", "", "", " }}"),
    ("{{ ", "1 if task else ", "1", "", " }}"),
    ("{{ ", "(", "1", ")", " }}"),
    ("{{ ", "[", "1", "]", " }}"),
    ("{{ ", "{1:", "1", "}", " }}"),
    ("{{ task|default", "(1, ", "1", ")", " }}"),
    ("{% if task %}", "{% elif task %}", "", "", "{% endif %}"),
    ("", "{% if task %}", "", "{% endif %}", ""),
    ("", "{% for a in context.list %}", "", "{% endfor %}", ""),
];

fn shaped(
    (start, open, inner, close, end): (&str, &str, &str, &str, &str),
    times: usize,
) -> String {
    format!("{start}{}{inner}{}{end}", open.repeat(times), close.repeat(times))
}

#[test]
fn what_nests_too_deep_is_refused_before_it_is_parsed() {
    on_a_small_stack(|| {
        for shape in SHAPES {
            // Nests slightly over the limit, and as deep as fits into the largest template.
            for times in [MAX_DEPTH + 1, 60_000 / (shape.1.len() + shape.3.len())] {
                let text = shaped(shape, times);
                let (judged, filled) = used(&text);
                let told = judged.unwrap_err().of("http.body").to_string();
                let expected = told.contains("deeper than 100");
                assert!(expected && told.starts_with("http.body: "), "{shape:?}: {told}");
                assert!(filled.is_err(), "{shape:?}");
            }
        }
    });
}

#[test]
fn a_template_just_within_the_limit_leaves_the_stack_a_margin() {
    on_a_small_stack(|| {
        for shape in SHAPES {
            for times in 1..=MAX_DEPTH {
                let _ = used(&shaped(shape, times));
            }
        }
        // Nests each kind inside each other kind.
        for outer in SHAPES {
            for inner in SHAPES {
                let both = shaped(outer, 40).replacen("task", &shaped(inner, 40)[2..], 1);
                let _ = used(&both);
            }
        }
    });
}

#[test]
fn a_template_that_is_too_long_is_refused_with_the_limit() {
    let text = format!("{{{{ task }}}}{}", " ".repeat(MAX_TEMPLATE_BYTES));
    let told = used(&text).0.unwrap_err().of("http.body").to_string();
    assert!(told.contains("it has 65546 bytes, at most 65536 fit"), "{told}");
    assert!(told.contains("(\"{{ task }}   ") && told.len() < 300, "{told}");
}

#[test]
fn a_text_that_may_be_a_secret_is_not_shown() {
    let text = format!("{{{{ 'hush'{} }}}}", "|upper".repeat(200));
    let fault = || check(&text, TemplateScope::ALONE).unwrap_err();
    assert!(fault().of("http.body").to_string().contains("hush"));
    for field in ["http.headers.X", "http.url", "http.signing_secret", "command.env.X"] {
        let told = fault().of(field).to_string();
        assert!(told.contains("deeper than 100") && !told.contains("hush"), "{told}");
    }
}

/// Pieces of templates, and of texts that are not templates.
fn piece() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "{%-",
        "-%}",
        "{{-",
        "-}}",
        " ",
        "\n",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        ".",
        "|",
        "~",
        "+",
        "-",
        "/",
        "//",
        "*",
        "==",
        "!=",
        "<",
        ">=",
        "=",
        "'",
        "\"",
        "\\",
        "not ",
        "and ",
        "or ",
        "in ",
        "is ",
        "if ",
        "elif ",
        "else ",
        "endif ",
        "for ",
        "endfor ",
        "raw ",
        "endraw ",
        "recursive ",
        "loop",
        "a",
        "b ",
        "context",
        "secrets",
        "task",
        "tasks",
        "upper",
        "join",
        "replace",
        "tojson",
        "default",
        "true",
        "none",
        "0x",
        "1",
        "1e9",
        "1.",
        "99999999999999999999999",
        "é",
        "\u{feff}",
        "\u{1f514}",
        "{% raw %}",
        "{% endraw %}",
        "{% endraw x %}",
        "{{ context.big }}",
        "{% for a in context.list %}",
        "{% endfor %}",
        "{% if task %}",
        "{% endif %}",
    ]);
    prop_oneof![
        8 => words.prop_map(str::to_owned),
        1 => (words_again(), 2_usize..400).prop_map(|(word, times)| word.repeat(times)),
        1 => any::<String>(),
    ]
}

fn words_again() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "(",
        "[",
        "{",
        "not ",
        "-",
        ".a",
        "|upper",
        " and a",
        " if a",
        "{% if a %}",
        "{{1}}",
        "{% elif a %}",
        "{# ",
        "{% raw %}",
        "'",
        "[a,",
        "{a:",
        "a is b ",
        "(a,",
    ])
}

#[test]
fn no_text_of_any_shape_stops_the_server() {
    on_a_small_stack(|| {
        let texts = prop_oneof![
            3 => prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat()),
            2 => prop::collection::vec(piece(), 0..40)
                .prop_map(|pieces| format!("{{{{ {} }}}}", pieces.concat())),
            1 => prop::collection::vec(piece(), 0..40)
                .prop_map(|pieces| format!("{{% if {} %}}x{{% endif %}}", pieces.concat())),
        ];
        let config = Config { cases: 3_000, failure_persistence: None, ..Config::default() };
        TestRunner::new(config)
            .run(&texts, |text| {
                if let (_, Ok(Target::Http(http))) = used(&text) {
                    let made = http.body.map_or(0, |body| body.as_str().map_or(0, str::len));
                    prop_assert!(made <= MAX_OUTPUT_BYTES.max(text.len()));
                }
                Ok(())
            })
            .unwrap();
    });
}

/// The best time of three, because other tests run at the same time.
fn took(mut act: impl FnMut()) -> Duration {
    let clock = Clock::system();
    let one = |_| {
        let from = clock.instant();
        act();
        clock.instant().duration_since(from)
    };
    (0..3).map(one).min().unwrap()
}

#[test]
fn judging_takes_twice_as_long_for_twice_the_text() {
    for unit in ["{{1}}", "{# #}", "{%raw%}{%endraw%}", "{{task}}\n", "{{'a'}} { ", "x{{-1-}}% "] {
        let text = |bytes: usize| unit.repeat(bytes / unit.len());
        let (half, whole) = (text(MAX_TEMPLATE_BYTES / 8), text(MAX_TEMPLATE_BYTES));
        let judge = |text: &str| took(|| check(text, TemplateScope::ALONE).unwrap());
        let (small, large) = (judge(&half), judge(&whole));
        // The text is eight times as long; with quadratic behaviour it would take sixty-four times
        // as long.
        assert!(large < small * 32, "{unit}: {small:?}, then {large:?}");
    }
}

#[test]
fn a_template_does_no_more_work_than_its_budget() {
    let loops = |inside: &str| {
        format!(
            "{{% for a in context.list %}}{{% for b in context.big %}}{inside}{{% endfor %}}{{% endfor %}}"
        )
    };
    let chain = format!("{{{{ (context.big{})[:1] }}}}", "|upper|lower".repeat(45));
    let chains = chain.repeat(60);
    let lists = format!("{{{{ ([{}] | join)[:1] }}}}", ["context.big"; 60].join(","));
    let json = format!("{{{{ ([{}] | tojson)[:1] }}}}", ["context.big"; 60].join(","));
    let compared = loops(&"{{ '' if context.big == context.big|trim else '' }}".repeat(100));
    let found = loops("{{ '' if 'xy' in context.big else '' }}");
    let cut = loops("{{ context.big[1:][:0] }}");
    let joined = loops("{{ (context.big ~ context.big ~ context.big ~ context.big)[:0] }}");
    for text in [chain.clone(), chains, lists, json, compared, found, cut, joined] {
        let clock = Clock::system();
        let from = clock.instant();
        drop(used(&text));
        let took = clock.instant().duration_since(from);
        // The limit allows for debug builds and other tests that run at the same time.
        assert!(took < Duration::from_secs(10), "{took:?}: {}", &text[..80.min(text.len())]);
    }
    let told = used(&chain.repeat(60)).1.unwrap_err().to_string();
    assert!(told.contains("go through more than 67108864 bytes"), "{told}");
    let steps = used(&loops("{{ '' if 'xy' in context.big else '' }}")).1.unwrap_err().to_string();
    assert!(steps.contains("it takes more than 5"), "{steps}");
}

#[test]
fn a_loop_builds_no_value_that_is_larger_than_its_parts() {
    for text in [
        "{% for a in [context.big, context.big] %}{% endfor %}",
        "{% for a in (context.big, 1) %}{% endfor %}",
        "{% for a in {'k': context.big} %}{% endfor %}",
        "{% for a in context.a | default([[context.big]]) %}{% endfor %}",
    ] {
        let told = check(text, TemplateScope::ALONE).unwrap_err().problem;
        assert!(told.contains("list without names"), "{text}: {told}");
    }
    for text in [
        "{% for a in context.list | default([]) %}{{ a }}{% endfor %}",
        "{% for a in ['x', 1] if a in (context.list) %}{{ a }}{% endfor %}",
        "{% for a in context.list[0:(2)] %}{{ a }}{% endfor %}",
        "{% for a in context['list'] %}{{ [a, a] | tojson }}{% endfor %}",
    ] {
        assert_eq!(check(text, TemplateScope::ALONE), Ok(()), "{text}");
    }
    let told =
        check("{% for a in context.x recursive %}{% endfor %}", TemplateScope::ALONE).unwrap_err();
    assert!(told.problem.contains("no `recursive` loop"));
    let many = format!("{{{{ [{}] }}}}", ["task"; 65].join(","));
    assert!(
        check(&many, TemplateScope::ALONE).unwrap_err().problem.contains("more than 64 values")
    );
}

#[test]
fn raw_parts_are_checked_as_the_parser_sees_them() {
    for text in [
        // A text that resembles the end of the raw part does not end it, and a text that resembles
        // a comment is raw.
        "{% raw %}{% endraw x %}{# {% endraw %}{{ 'x' * 9 }}{# #}",
        // Brackets keep an expression open.
        "{{ {'a': {'b': 1}}, 'x' * 9 }}",
    ] {
        let told = check(text, TemplateScope::ALONE).unwrap_err().problem;
        assert!(told.contains("no multiplication"), "{text}: {told}");
    }
}
