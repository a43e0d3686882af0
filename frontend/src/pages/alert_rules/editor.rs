//! The editor of one rule: its events, schedules, channels and quiet hours. Beside it is a list of the messages that
//! the rule would have sent in the last seven days, updated while the user edits the rule.

use std::time::Duration;

use leptos::{ev::SubmitEvent, leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::{
    super::{
        kit::{self, KeptForm, Wrong, check, empty, of},
        schedules::SEARCH_FIELDS,
        suggest,
    },
    EVENTS,
    draft::{Draft, Read},
    quiet,
};
use crate::{
    api,
    components::{AsyncView, Field, live, panel, when_relative},
    data::{Actor, Load, use_actor, use_load, use_once},
    model::{AlertChannel, AlertEvent, AlertRule, RulePreview},
    route::Route,
    state::{Address, use_address, use_title},
};

const PAUSE: Duration = Duration::from_millis(400);

/// The page of a new rule.
#[component]
pub(crate) fn NewAlertRule() -> impl IntoView {
    use_title(|| "New alert rule".to_owned());
    view! {
        <header class="page-head"><h1>"New alert rule"</h1></header>
        {editor(None)}
    }
}

/// The page of an existing rule.
#[component]
pub(crate) fn EditAlertRule(id: String) -> impl IntoView {
    use_title(|| "Alert rule".to_owned());
    let namespace = kit::use_namespace();
    let rules = use_load(move || Some(api::alerts::rules(namespace.get())));
    // The form is built once, so data that loads later does not overwrite the user's input.
    let rule = Memo::new(move |before: Option<&Option<AlertRule>>| {
        let found =
            || rules.with(|rules| rules.iter().find(|rule| rule.id == id).cloned()).flatten();
        before.cloned().flatten().or_else(found)
    });
    let form = move || match rule.get() {
        Some(rule) => {
            let name = rule.name.clone();
            view! {
                <header class="page-head"><h1>{name}</h1></header>
                {editor(Some(rule))}
            }
            .into_any()
        }
        None => {
            view! { <div class="empty">{empty("No such rule", "It may have been deleted.")}</div> }
                .into_any()
        }
    };
    view! { <AsyncView loading=rules.loading what="the rule">{live(form)}</AsyncView> }
}

fn editor(rule: Option<AlertRule>) -> AnyView {
    let namespace = kit::use_namespace();
    let draft = rule.as_ref().map_or_else(|| Draft::new(use_address()), Draft::of);
    let wrong: Wrong = RwSignal::new(None);
    let channels = use_load(move || Some(api::alerts::channels(namespace.get())));
    let is_declared = rule.as_ref().is_some_and(|rule| rule.module.is_some());
    let kept = (!is_declared).then(|| draft.kept().keep(&draft_key(rule.as_ref(), namespace)));
    if rule.is_none() {
        choose_the_only(draft, channels);
    }
    let preview = use_preview(draft, namespace);
    let (actor, address, once) = (use_actor(), use_address(), use_once());
    let busy = RwSignal::new(false);
    let declared = rule.as_ref().and_then(|rule| rule.module.clone());
    let identity = rule.as_ref().map(|rule| (rule.id.clone(), rule.version));
    let action = if rule.is_some() { "Save changes" } else { "Create rule" };
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        wrong.set(None);
        match untrack(|| draft.read()) {
            Ok(read) => {
                busy.set(true);
                let ask = match identity.clone() {
                    Some((id, version)) => api::alerts::update_rule(read.into_change(id, version)),
                    None => api::alerts::create_rule(
                        read.into_new(namespace.get_untracked()),
                        once.key(),
                    ),
                };
                let sent = kept.map(KeptForm::sent);
                actor.send(ask, move |outcome| {
                    once.heard(&outcome);
                    let is_left = busy.try_set(false).is_some();
                    match outcome {
                        Ok(_) => {
                            if let Some(sent) = sent {
                                sent.forget();
                            }
                            saved(actor, address, is_left);
                        }
                        Err(failure) => kit::refuse(wrong, actor, failure),
                    }
                });
            }
            Err(failure) => wrong.set(Some(failure)),
        }
    };
    let foot = match declared {
        Some(module) => {
            let words = format!("The module {module} declares this rule: change it in its file.");
            view! { <p class="muted">{words}</p> }.into_any()
        }
        None => view! {
            <div role="alert">{move || kit::general_error(wrong)}</div>
            <p class="form-foot">
                <button type="submit" class="button button-primary" aria-disabled=move || busy.get().to_string()>{action}</button>
                <a class="button" href=Route::AlertRules.path()>"Cancel"</a>
            </p>
        }
        .into_any(),
    };
    view! {
        {kept.map(KeptForm::note)}
        <div class="form-grid">
            <form class="form-main" on:submit=submit novalidate>
                {what(draft, wrong)}
                {whom(draft, wrong, channels)}
                {timing(draft, wrong)}
                {foot}
            </form>
            <div class="form-side">{look_back(preview)}</div>
        </div>
    }
    .into_any()
}

/// The key of the draft: an existing rule has one for each version, a new one for each link that led to it.
fn draft_key(rule: Option<&AlertRule>, namespace: Memo<String>) -> String {
    let Some(rule) = rule else {
        let address = use_address();
        let [on, search] = ["on", "search"].map(|name| untrack(|| address.query(name)));
        return format!("alert-rule.new.{}.{on}.{search}", namespace.get_untracked());
    };
    format!("alert-rule.{}.{}", rule.id, rule.version)
}

fn saved(actor: Actor, address: Address, is_left: bool) {
    actor.say("The rule is saved. It reports what happens from now on.".to_owned());
    if !is_left {
        address.go(&Route::AlertRules.path());
    }
}

/// Selects the channel if there is only one.
fn choose_the_only(draft: Draft, channels: Load<Vec<AlertChannel>>) {
    Effect::new(move |_| {
        let only = channels.with(|channels| match channels.as_slice() {
            [only] => Some(only.id.clone()),
            _ => None,
        });
        if let Some(only) = only.flatten() {
            draft.only_channel.set(Some(only.clone()));
            draft.channels.update(|chosen| {
                if chosen.is_empty() {
                    chosen.push(only);
                }
            });
        }
    });
}

fn what(draft: Draft, wrong: Wrong) -> AnyView {
    let event = |(event, word, meaning): (AlertEvent, &str, &str)| {
        let id = format!("on-{}", word.to_ascii_lowercase().replace(' ', "-"));
        kit::switch(id, format!("{word}: {meaning}"), draft.on, event)
    };
    let events: Vec<_> = EVENTS.into_iter().map(event).collect();
    let events_wrong = of(wrong, "on");
    let seconds = move |event, id: &'static str, label: &'static str, value, field| {
        live(move || {
            if draft.on.with(|on| on.contains(&event)) {
                Field::new(id, label, value).kind("number").error(of(wrong, field)).text()
            } else {
                ().into_any()
            }
        })
    };
    view! {
        <fieldset class="panel form-section">
            <legend>"What"</legend>
            {Field::new("name", "Name", draft.name).required().first().error(of(wrong, "name")).text()}
            <div class="switch-list" role="group" aria-label="It reports">{events}</div>
            <div class="field-error" aria-live="polite">{move || events_wrong.get().map(|failure| failure.message)}</div>
            <div class="field-grid">
                {seconds(AlertEvent::Losing, "losing", "Failures in a row", draft.losing, "losingAfter")}
                {seconds(AlertEvent::Skipped, "skipped", "Skipped within an hour", draft.skipped, "skippedAfter")}
                {seconds(AlertEvent::Late, "late", "Late after (seconds)", draft.late, "lateAfterSeconds")}
                {seconds(AlertEvent::Stalled, "stalled", "Stalled after (seconds)", draft.stalled, "stalledAfterSeconds")}
                {seconds(AlertEvent::Slow, "slow", "Slow after (times the usual)", draft.slow, "slowAfterTimes")}
                {seconds(AlertEvent::ClockChange, "clock-days", "Days before", draft.clock_days, "clockChangeDays")}
            </div>
            {Field::new("search", "About the schedules", draft.search).code().picks(suggest::search(&SEARCH_FIELDS))
                .error(of(wrong, "search"))
                .hint("In the search language, as in tag:billing -name:test. Empty means all.").text()}
        </fieldset>
    }
    .into_any()
}

fn whom(draft: Draft, wrong: Wrong, channels: Load<Vec<AlertChannel>>) -> AnyView {
    let list = move |channels: &Vec<AlertChannel>| {
        if channels.is_empty() {
            let href = Route::AlertRules.narrowed(&[("tab", "channels")]);
            return view! { <p>"There is no channel yet. "<a href=href>"Create one first"</a>"."</p> }.into_any();
        }
        let one = |channel: &AlertChannel| {
            let id = format!("channel-{}", channel.id);
            kit::switch(id, channel.name.clone(), draft.channels, channel.id.clone())
        };
        channels.iter().map(one).collect::<Vec<_>>().into_any()
    };
    let channels_wrong = of(wrong, "channelIds");
    view! {
        <fieldset class="panel form-section">
            <legend>"Whom"</legend>
            <AsyncView loading=channels.loading what="the channels">
                <div class="switch-list" role="group" aria-label="Channels">{channels.draw(list)}</div>
            </AsyncView>
            <div class="field-error" aria-live="polite">{move || channels_wrong.get().map(|failure| failure.message)}</div>
            {check("include-errors", "Say why a run failed", draft.errors, "Includes the program's error message, which everyone in the channel can read.")}
        </fieldset>
    }
    .into_any()
}

fn timing(draft: Draft, wrong: Wrong) -> AnyView {
    let seconds = |id: &'static str, label: &'static str, value, field, hint| {
        Field::new(id, label, value).kind("number").error(of(wrong, field)).hint(hint).text()
    };
    view! {
        <fieldset class="panel form-section">
            <legend>"When"</legend>
            <div class="field-grid">
                {seconds("grace", "Grace (seconds)", draft.grace, "graceSeconds", "Alerts that end within this time are not sent.")}
                {seconds("digest", "Digest (seconds)", draft.digest, "digestSeconds", "Events within this time are sent in one message.")}
            </div>
            {quiet::fields(draft.quiet, wrong)}
            {check("enabled", "Enabled", draft.enabled, "Disabling the rule drops its open alerts.")}
        </fieldset>
    }
    .into_any()
}

/// The messages that the rule would have sent, loaded a moment after the last change.
fn use_preview(draft: Draft, namespace: Memo<String>) -> Load<RulePreview> {
    let settled = RwSignal::new(untrack(|| draft.read()).ok());
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    Effect::new(move |before: Option<()>| {
        let read: Option<Read> = draft.read().ok();
        if before.is_some() {
            stop();
            let later = move || settled.set(read.clone());
            timer.set_value(set_timeout_with_handle(later, PAUSE).ok());
        }
    });
    on_cleanup(stop);
    use_load(move || {
        let read = settled.get()?;
        Some(api::alerts::preview(read.into_preview(namespace.get())))
    })
}

fn alerts(count: i64) -> String {
    if count == 1 { "1 alert".to_owned() } else { format!("{count} alerts") }
}

fn look_back(preview: Load<RulePreview>) -> AnyView {
    let list = move |preview: &RulePreview| {
        let more = if preview.is_cut { "at least " } else { "" };
        let sum = match preview.messages.len() {
            0 => "Nothing in the last 7 days.".to_owned(),
            1 => format!("{more}1 message, for {}.", alerts(preview.alerts)),
            count => format!("{more}{count} messages, for {}.", alerts(preview.alerts)),
        };
        let message = |message: &crate::model::PastMessage| {
            view! { <li>{when_relative(message.at, None)}<span>{message.subject.clone()}</span></li> }.into_any()
        };
        let latest: Vec<_> = preview.messages.iter().rev().take(30).map(message).collect();
        view! {
            <p class="lede" data-testid="look-back">{sum}</p>
            <div class="look-back" tabindex="0" role="group" aria-label="Messages">
                <ul>{latest}</ul>
            </div>
        }
        .into_any()
    };
    let content = view! {
        <AsyncView loading=preview.loading what="what it would have sent">{preview.draw(list)}</AsyncView>
        <p class="hint">"From what is recorded. Stalled work is left out, because nothing records it."</p>
    };
    panel("What it would have sent", (), content.into_any())
}
