use serde_json::json;

use super::*;
use crate::model::TextProblem;

const TYPED: &str = "# Mine.\nmine:\n  tasks: []\n";

fn read(name: &str) -> WorkflowReading {
    let target = json!({ "command": { "args": ["b\nc"] } });
    let task = json!({ "name": "a", "target": target, "retryOn": [" timeout"] });
    let definition = json!({ "name": name, "tasks": [task] });
    WorkflowReading { definition: Some(definition), problems: vec![] }
}

fn problem() -> TextProblem {
    TextProblem {
        line: Some(2),
        column: Some(3),
        field: "max_parallel".to_owned(),
        value: "0".to_owned(),
        problem: "is out of range".to_owned(),
        help: "give 1 to 100".to_owned(),
    }
}

fn with_pane(check: impl FnOnce(Draft, TextPane)) {
    Owner::new().with(|| {
        let draft = Draft::new();
        let pane = TextPane::beside(draft, None);
        untrack(|| pane.follow_form());
        untrack(|| check(draft, pane));
    });
}

#[test]
fn a_typed_text_stays_until_the_form_is_changed() {
    with_pane(|draft, pane| {
        assert!(pane.text().contains("task-1") && pane.typed_text().is_none());
        pane.type_text(TYPED.to_owned());
        assert!(pane.is_pending() && pane.waits_for(TYPED));
        assert_ne!(draft.name.get(), "mine");

        pane.answer(Ok(read("mine")));
        pane.follow_form();
        assert_eq!((pane.text().as_str(), draft.name.get().as_str()), (TYPED, "mine"));
        assert_eq!(pane.typed_text().as_deref(), Some(TYPED));
        assert!(!pane.waits_for(TYPED));

        draft.max_parallel.set("3".to_owned());
        pane.follow_form();
        assert!(pane.text().contains("max_parallel: 3"), "{}", pane.text());
        assert_eq!(pane.typed_text(), None);
    });
}

#[test]
fn what_the_text_says_is_sent_and_not_what_the_form_makes_of_it() {
    with_pane(|draft, pane| {
        pane.type_text(TYPED.to_owned());
        pane.answer(Ok(read("mine")));
        let task = |pane: TextPane| json!(pane.definition().unwrap().tasks[0]);
        assert_eq!(task(pane)["retryOn"], json!([" timeout"]));
        draft.timeout.set("60".to_owned());
        assert_eq!(task(pane)["retryOn"], json!(["timeout"]));
        assert_eq!(task(pane)["target"]["command"]["args"], json!(["b\nc"]));
    });
}

#[test]
fn a_text_that_cannot_be_read_is_not_written_over() {
    with_pane(|draft, pane| {
        pane.type_text("mine: [".to_owned());
        let problems = vec![TextProblem { field: String::new(), ..problem() }];
        pane.answer(Ok(WorkflowReading { definition: None, problems }));
        draft.name.set("form".to_owned());
        pane.follow_form();
        assert_eq!(pane.text(), "mine: [");
        let refusal = pane.refusal(false).unwrap();
        assert_eq!(refusal.field.as_deref(), Some("text"));
        let said = "The text cannot be read. Line 2, column 3: It is out of range.";
        assert!(refusal.message.starts_with(said), "{}", refusal.message);
        pane.give_up();
        pane.follow_form();
        assert!(pane.text().starts_with("form:"), "{}", pane.text());
        assert_eq!((pane.refusal(true), pane.typed_text()), (None, None));
    });
}

#[test]
fn an_answer_about_an_older_text_is_not_waited_for() {
    with_pane(|_, pane| {
        pane.type_text("a".to_owned());
        pane.type_text("b".to_owned());
        assert!(!pane.waits_for("a") && pane.waits_for("b"));
    });
}

#[test]
fn what_saving_would_refuse_is_told_where_the_text_is_shown() {
    with_pane(|draft, pane| {
        pane.type_text(TYPED.to_owned());
        pane.answer(Ok(WorkflowReading { problems: vec![problem()], ..read("mine") }));
        assert_eq!(draft.name.get(), "mine");
        let said = "Line 2, column 3: max_parallel, “0”: It is out of range. Give 1 to 100.";
        assert_eq!(pane.refusal(true).map(|failure| failure.message).as_deref(), Some(said));
        assert_eq!(pane.refusal(false), None);
    });
}

#[test]
fn a_text_that_could_not_be_checked_is_read_again() {
    with_pane(|_, pane| {
        pane.type_text(TYPED.to_owned());
        pane.answer(Err(Failure::unreachable()));
        assert!(pane.refusal(false).is_some() && pane.pending_text().is_none());
        pane.retry();
        assert_eq!(pane.pending_text().as_deref(), Some(TYPED));
        pane.answer(Ok(read("mine")));
        pane.retry();
        assert_eq!((pane.pending_text(), pane.refusal(true)), (None, None));
    });
}

#[test]
fn json_of_the_api_is_read_at_once() {
    with_pane(|draft, pane| {
        let json = "{ \"name\": \"json\", \"tasks\": [] }";
        pane.type_text(json.to_owned());
        assert_eq!((draft.name.get().as_str(), pane.reading()), ("json", Reading::Read));
        pane.type_text("{ \"é\": 1, \"nmae\": \"json\", \"tasks\": [] }".to_owned());
        assert_eq!(pane.reading(), Reading::Unreadable);
        assert_eq!(pane.problems()[0].place.map(|(line, _)| line), Some(1));
    });
    Owner::new().with(|| {
        let pane = TextPane::beside(Draft::new(), Some("kept".to_owned()));
        pane.type_text("{\n  \"name\": \"x\",\n  \"tasks\": []\n}".to_owned());
        let said = "Line 2, column 1: A workflow keeps its name, \"kept\".";
        assert_eq!(untrack(|| pane.problems())[0].sentence(), said);
    });
}

#[test]
fn a_text_begins_with_what_the_form_was_made_from() {
    Owner::new().with(|| {
        let definition = serde_json::from_value::<Definition>(read("old").definition.unwrap());
        let definition = definition.unwrap();
        let pane = TextPane::beside(Draft::of(&definition), Some("old".to_owned()));
        pane.begin(definition.clone());
        pane.start();
        untrack(|| pane.follow_form());
        assert_eq!(untrack(|| pane.text()), yaml::of(&definition));
        assert_eq!(untrack(|| pane.definition()), Ok(definition));
    });
}

#[test]
fn a_text_that_begins_late_has_what_the_form_was_changed_to() {
    Owner::new().with(|| {
        let definition = serde_json::from_value::<Definition>(read("old").definition.unwrap());
        let definition = definition.unwrap();
        let draft = Draft::of(&definition);
        let pane = TextPane::beside(draft, Some("old".to_owned()));
        pane.begin(definition.clone());
        draft.max_parallel.set("3".to_owned());
        let sent = untrack(|| pane.definition()).unwrap();
        assert_eq!((sent.max_parallel, sent.name.as_str()), (3, "old"));
        pane.start();
        untrack(|| pane.follow_form());
        assert!(untrack(|| pane.text()).contains("max_parallel: 3"));

        // Back at its beginning, the form is sent as it is, because the text followed it.
        draft.max_parallel.set("8".to_owned());
        assert_eq!(untrack(|| pane.definition()).unwrap().max_parallel, 8);
    });
}

#[test]
fn a_form_that_is_not_changed_is_sent_as_it_was_read_without_its_text() {
    Owner::new().with(|| {
        let definition = serde_json::from_value::<Definition>(read("old").definition.unwrap());
        let definition = definition.unwrap();
        let pane = TextPane::beside(Draft::of(&definition), Some("old".to_owned()));
        pane.begin(definition.clone());
        assert_eq!(untrack(|| pane.definition()), Ok(definition));
    });
}

#[test]
fn a_restored_text_is_read_once_its_tab_is_there() {
    with_pane(|draft, pane| {
        pane.restore("{ \"name\": \"json\", \"tasks\": [] }".to_owned());
        assert!(pane.is_pending() && pane.typed_text().is_some());
        pane.start();
        assert_eq!((draft.name.get().as_str(), pane.reading()), ("json", Reading::Read));
    });
}
