use super::super::check;
use super::*;

/// Checks a template of a task that runs after `extract` and `load-eu`.
fn judged(template: &str) -> Result<(), String> {
    let before = ["extract", "load-eu"].map(str::to_owned);
    let scope = TemplateScope { before: &before, ..TemplateScope::ALONE };
    check(template, scope).map_err(|fault| format!("line {}: {}", fault.line, fault.problem))
}

#[test]
fn names_that_only_a_run_knows_are_not_checked() {
    for template in [
        "{{ context }} {{ context.region.name | upper }} {{ context['a b'][0].c }}",
        "{{ context.nope | default('x') }} {{ context[task] }}",
        "{{ tasks.extract.output.rows + 1 }} {{ tasks[\"load-eu\"].output.rows }}",
        "{{ tasks.extract.output['a'].b }} {{ tasks[context.which].output }} {{ tasks | tojson }}",
        "{{ secrets.smtp[:3] }} {{ scheduled_at[:10] | date('%Y') }} {{ previous_fire is none }}",
        "{% for n in context.names if n is not string %}{{ n.a }} {{ loop.cycle('a', 'b') }}{% endfor %}",
        "{% for (k, v) in context.pairs %}{{ k ~ v }}{% else %}none{% endfor %}",
        "{% for tasks in context.lists %}{{ tasks.first.name }}{% endfor %}",
        "{% if not (attempt > 1 and context.is) or task in ('a', 'b') %}x{% endif %}",
        "{{ 'range(9) | nofilter {{ nothing' }} {# nothing | at.all #}",
        "{% raw %}{{ nothing | at.all() }}{% endraw %} {{ 1.5 }} {{ true }}",
        "{{ context.a if context.b is defined else none }}",
    ] {
        assert_eq!(judged(template), Ok(()), "{template}");
    }
}

#[test]
fn a_name_that_no_attempt_can_find_is_refused_with_the_available_ones() {
    let names = "there are attempt, idempotency_key, namespace, previous_fire, run_id, schedule, \
                 scheduled_at, task, context, secrets, tasks";
    for (template, said) in [
        ("a\n{{ contxt.region }}", format!("line 2: there is nothing named `contxt`; {names}")),
        (
            "{{ region | default('eu') }}",
            format!("line 1: there is nothing named `region`; {names}"),
        ),
        ("{{ loop.index }}", "there is nothing named `loop`".to_owned()),
        ("{% for a in context.list %}{% endfor %}{{ a }}", "nothing named `a`".to_owned()),
        (
            "{{ tasks.extrat.output }}",
            "no task `extrat` comes before it; there are extract, load-eu".to_owned(),
        ),
        ("{{ tasks['load'] is defined }}", "no task `load` comes before it".to_owned()),
        ("{{ tasks.load-eu.output }}", "no task `load` comes before it".to_owned()),
        (
            "{{ tasks.extract.rows }}",
            "`tasks.extract.rows`: of a task there is only its `output`".to_owned(),
        ),
        ("{{ schedule.name }}", "`schedule.name`: `schedule` is a plain value".to_owned()),
        ("{{ secrets.smtp.user }}", "`secrets.smtp` is a plain value".to_owned()),
        ("{{ context.a | upcase }}", "there is no filter `upcase`; there are default, ".to_owned()),
        ("{% if context.a is not odd %}{% endif %}", "there is no test `odd`; ".to_owned()),
        ("{{ range(9) }}", "there is no function `range`".to_owned()),
        ("{{ context.get('a') }}", "there is no function `context.get`".to_owned()),
        (
            "{% for a in context.list %}\n{{ a.items() }}{% endfor %}",
            "line 2: there is no function `a.items`".to_owned(),
        ),
    ] {
        let told = judged(template).unwrap_err();
        assert!(told.contains(&said), "{template}: {told}");
    }
}

#[test]
fn a_task_that_waits_for_none_and_a_call_of_no_run_find_less() {
    let told = |text, scope| check(text, scope).unwrap_err().problem;
    let of_none = told("{{ tasks.a.output }}", TemplateScope::ALONE);
    assert_eq!(of_none, "no task `a` comes before it; none does");
    assert_eq!(check("{{ schedule }} {{ run_id }}", TemplateScope::NO_RUN), Ok(()));
    assert!(told("{{ context.a }}", TemplateScope::NO_RUN).contains("there is no context here"));
    let names = told("{{ contxt }}", TemplateScope::NO_RUN);
    assert!(names.ends_with("scheduled_at, task, secrets"), "{names}");
}

#[test]
fn a_template_that_breaks_off_is_read_to_its_end() {
    for template in ["{{ 'a", "{{ \"a\\\"", "{% for", "{{ context['a", "{{ a |", "{{ é('"] {
        assert!(judged(template).is_err(), "{template}");
    }
}
