//! Emits the function unchanged, and a type of the same name that implements the task.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, FnArg, ItemFn, PatType, ReturnType, Type, ext::IdentExt, spanned::Spanned};

use crate::{arguments::Arguments, schedule::Schedule};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Task,
    Scheduled,
}

pub(crate) fn expand(
    kind: Kind,
    arguments: TokenStream,
    item: TokenStream,
) -> syn::Result<TokenStream> {
    let known = if kind == Kind::Task { &["queue", "name"] } else { Schedule::KEYS };
    let arguments = Arguments::parse(arguments, known)?;
    let mut function: ItemFn = syn::parse2(item)?;
    let further = take_further(&mut function);
    let queue = queue(&arguments)?;
    let name = task_name(&arguments, &function)?;
    let mut schedules = match kind {
        Kind::Task => Vec::new(),
        Kind::Scheduled => vec![Schedule::read(&arguments, &name)?],
    };
    for attribute in &further {
        let schedule = further_schedule(attribute, &queue, &name)?;
        if schedules.iter().any(|there| there.name == schedule.name) {
            let problem = format!(
                "two schedules of this function have the name `{}`: give one of them another, by \
                 `schedule = \"...\"`",
                schedule.name
            );
            return Err(syn::Error::new(attribute.span(), problem));
        }
        schedules.push(schedule);
    }
    check_signature(&function)?;
    let call = call(&function)?;

    let (visibility, identifier) = (&function.vis, &function.sig.ident);
    let schedules = schedules.into_iter().map(|schedule| {
        let Schedule { name, keys, task_keys, input, worker_tags } = schedule;
        let input = input.map_or(quote!(None), |text| quote!(Some(#text)));
        quote!(::carillon_worker::Schedule {
            name: #name, keys: #keys, task_keys: #task_keys, input: #input,
            worker_tags: &[#(#worker_tags),*]
        })
    });
    Ok(quote! {
        #function

        #[doc(hidden)]
        #[allow(non_camel_case_types, reason = "the struct has the function's name")]
        #visibility struct #identifier {}

        impl ::carillon_worker::Task for #identifier {
            const NAME: &'static str = #name;
            const QUEUE: &'static str = #queue;
            const SCHEDULES: &'static [::carillon_worker::Schedule] = &[#(#schedules),*];

            fn run(job: ::carillon_worker::Job) -> ::carillon_worker::Running {
                ::std::boxed::Box::pin(async move { #call })
            }
        }
    })
}

/// The function without its `scheduled` attributes. After an error, the macro emits this, so that
/// the other attributes are not expanded and report no second error.
pub(crate) fn plain(item: TokenStream) -> TokenStream {
    match syn::parse2::<ItemFn>(item.clone()) {
        Ok(mut function) => {
            take_further(&mut function);
            function.into_token_stream()
        }
        Err(_) => item,
    }
}

/// Removes further `scheduled` attributes from the function, and returns them. The first attribute
/// is expanded first, and declares all schedules.
fn take_further(function: &mut ItemFn) -> Vec<Attribute> {
    let is_schedule = |attribute: &Attribute| {
        attribute.path().segments.last().is_some_and(|segment| segment.ident == "scheduled")
    };
    let (further, others) = std::mem::take(&mut function.attrs).into_iter().partition(is_schedule);
    function.attrs = others;
    further
}

/// A further schedule of the same task, with the queue and the name from the first attribute.
fn further_schedule(attribute: &Attribute, queue: &str, name: &str) -> syn::Result<Schedule> {
    let tokens = attribute.meta.require_list()?.tokens.clone();
    let arguments = Arguments::parse(tokens, Schedule::KEYS)?;
    for (key, first) in [("queue", queue), ("name", name)] {
        if let Some(text) = arguments.text(key)?.filter(|text| text.value() != first) {
            let problem = format!("the first attribute says `{key} = \"{first}\"`: leave it out");
            return Err(syn::Error::new(text.span(), problem));
        }
    }
    Schedule::read(&arguments, name)
}

fn queue(arguments: &Arguments) -> syn::Result<String> {
    let text = arguments.required_text("queue", "\"emails\"")?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    checked(text.value(), text.span(), fits, "a queue is 1 to 64 of a-z 0-9 . _ -")
}

/// The name of the task: the given one, or else that of the function.
fn task_name(arguments: &Arguments, function: &ItemFn) -> syn::Result<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let help = "a task's name is 1 to 64 of a-z A-Z 0-9 . _ -";
    match arguments.text("name")? {
        Some(text) => checked(text.value(), text.span(), fits, help),
        None => {
            let identifier = &function.sig.ident;
            let help = format!("{help}: give this function one, by `name = \"...\"`");
            // A raw identifier, such as `r#move`, names its task without the mark.
            checked(identifier.unraw().to_string(), identifier.span(), fits, &help)
        }
    }
}

fn checked(
    value: String,
    span: Span,
    fits: impl Fn(char) -> bool,
    help: &str,
) -> syn::Result<String> {
    if (1..=64).contains(&value.len()) && value.chars().all(fits) {
        Ok(value)
    } else {
        Err(syn::Error::new(span, help))
    }
}

fn check_signature(function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        return Err(syn::Error::new(signature.fn_token.span, "a task is an `async fn`"));
    }
    if !signature.generics.params.is_empty() {
        let problem = "a task has no generics: its input is read from JSON, as one type";
        return Err(syn::Error::new(signature.generics.span(), problem));
    }
    if signature.output == ReturnType::Default {
        let problem = "a task returns a `Result<T, carillon_worker::Failure>`";
        return Err(syn::Error::new(signature.ident.span(), problem));
    }
    Ok(())
}

/// Emits the call of the function with the job's input, and the conversion of its result.
fn call(function: &ItemFn) -> syn::Result<TokenStream> {
    let mut reads = Vec::new();
    let mut passed = Vec::new();
    let (mut has_input, mut has_context) = (false, false);
    for (index, argument) in function.sig.inputs.iter().enumerate() {
        let FnArg::Typed(PatType { ty, .. }) = argument else {
            return Err(syn::Error::new(argument.span(), "a task is not a method"));
        };
        if matches!(**ty, Type::Reference(_)) {
            let problem = "a task owns its arguments: take them by value";
            return Err(syn::Error::new(ty.span(), problem));
        }
        let twice = |what: &str| {
            let problem = format!("a task takes at most {what}, in any order");
            syn::Error::new(ty.span(), problem)
        };
        let name = format_ident!("argument_{index}");
        if is_context(ty) {
            if std::mem::replace(&mut has_context, true) {
                return Err(twice("one Context"));
            }
            reads.push(quote!(let #name = job.context();));
        } else {
            if std::mem::replace(&mut has_input, true) {
                return Err(twice("one input and one Context"));
            }
            // If a type cannot be deserialized from JSON, the compiler reports the error at that
            // type.
            reads.push(quote_spanned!(ty.span() => let #name: #ty = job.input()?;));
        }
        passed.push(name);
    }
    let identifier = &function.sig.ident;
    let output = quote_spanned! {function.sig.output.span() =>
        ::carillon_worker::Job::output(#identifier(#(#passed),*).await)
    };
    Ok(quote!(#(#reads)* #output))
}

fn is_context(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|segment| segment.ident == "Context")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(kind: Kind, arguments: &str, item: &str) -> String {
        let arguments = arguments.parse().unwrap();
        expand(kind, arguments, item.parse().unwrap()).unwrap_err().to_string()
    }

    const GOOD: &str = "async fn send() -> Result<(), Failure> { Ok(()) }";

    #[test]
    fn an_invalid_schedule_is_reported() {
        for (arguments, expected) in [
            (r#"queue = "a""#, "`cron` is missing"),
            (r#"cron = "0 25 * * *", queue = "a""#, "25"),
            (r#"cron = ["@daily", "0 61 * * *"], queue = "a""#, "61"),
            (r#"cron = "@daily", zone = "Europe/Berlim", queue = "a""#, "Europe/Berlin"),
            (r#"cron = "@daily", overlap = "jump", queue = "a""#, "`jump` is not an overlap"),
            (r#"cron = "@daily", queue = "A""#, "a queue is 1 to 64"),
            (r#"cron = "@daily""#, "`queue` is missing"),
            (r#"cron = "@daily", queue = "a", zones = "UTC""#, "there is no `zones`"),
            (r#"cron = "@daily", queue = "a", queue = "b""#, "`queue` occurs twice"),
            (r#"cron = 5, queue = "a""#, "write a text in quotes"),
            (r#"cron = "@daily", queue = "a", input = "[]""#, "write a JSON object"),
            (r#"cron = "@daily", queue = "a", input = "{""#, "this is not JSON"),
            (r#"cron = "@daily", queue = "a", schedule = "-""#, "write 1 to 128"),
            (r#"cron = "@daily", queue = "a", tags = 5"#, "write a text in quotes"),
            (r#"cron = "@daily", queue = "a", worker_tags = ["eu", "G P U"]"#, "a worker's tag is"),
            (r#"cron = "@daily", queue = "a", retry = "3""#, "write a JSON object"),
            (
                r#"cron = "@daily", queue = "a", retry = "{ \"attempts\": 3 }""#,
                "`retry` has no `attempts`; it has max_attempts,",
            ),
            (r#"cron = "@daily", queue = "a", attempts = 3, retry = "{}""#, "write one of them"),
        ] {
            let told = problem(Kind::Scheduled, arguments, GOOD);
            assert!(told.contains(expected), "{arguments}: {told}");
        }
    }

    #[test]
    fn a_function_may_have_several_schedules() {
        let expanded = |kind: Kind, first: &str, more: &str| {
            let item = format!("{more} /// Kept.\n {GOOD}");
            expand(kind, first.parse().unwrap(), item.parse().unwrap())
        };
        let stacked = |first: &str, more: &str| expanded(Kind::Scheduled, first, more);
        let first = r#"cron = "@daily", queue = "a""#;
        let hourly = r#"#[scheduled(cron = "@hourly", schedule = "often", queue = "a")]"#;
        let weekly = r#"#[carillon_worker::scheduled(cron = "@weekly", schedule = "seldom")]"#;
        let code = stacked(first, &format!("{hourly} {weekly}")).unwrap().to_string();
        assert_eq!(code.matches("task_keys :").count(), 3, "{code}");
        assert!(code.contains("Kept.") && !code.contains("scheduled ("), "{code}");
        let below = expanded(Kind::Task, r#"queue = "a""#, hourly).unwrap().to_string();
        assert_eq!(below.matches("task_keys :").count(), 1, "{below}");

        for (more, expected) in [
            (r#"#[scheduled(cron = "@hourly")]"#, "two schedules of this function have the name"),
            (r#"#[scheduled(schedule = "often")]"#, "`cron` is missing"),
            (r#"#[scheduled(cron = "0 25 * * *", schedule = "often")]"#, "25"),
            (
                r#"#[scheduled(cron = "@hourly", schedule = "often", queue = "b")]"#,
                "the first attribute says `queue = \"a\"`",
            ),
            (
                r#"#[scheduled(cron = "@hourly", schedule = "often", name = "other")]"#,
                "the first attribute says `name = \"send\"`",
            ),
            ("#[scheduled]", "expected attribute arguments"),
        ] {
            let told = stacked(first, more).unwrap_err().to_string();
            assert!(told.contains(expected), "{more}: {told}");
        }
        let item = format!("{hourly} {GOOD}").parse().unwrap();
        assert!(!plain(item).to_string().contains("scheduled"));
    }

    #[test]
    fn a_function_whose_name_is_no_task_name_needs_another() {
        let task = |arguments: &str, name: &str| {
            let item = GOOD.replace("send", name).parse().unwrap();
            expand(Kind::Task, arguments.parse().unwrap(), item).map(|code| code.to_string())
        };
        let code = task(r#"queue = "a""#, "r#move").unwrap();
        assert!(code.contains(r#""move""#), "{code}");
        let long = "a".repeat(65);
        for name in ["größe", long.as_str()] {
            let told = task(r#"queue = "a""#, name).unwrap_err().to_string();
            assert!(told.contains("give this function one, by `name"), "{name}: {told}");
            task(r#"queue = "a", name = "other""#, name).unwrap();
        }
    }

    #[test]
    fn a_function_that_can_be_no_task_is_told() {
        for (item, expected) in [
            ("fn send() -> Result<(), Failure> { }", "a task is an `async fn`"),
            ("async fn send() { }", "a task returns a `Result<"),
            ("async fn send<T>(input: T) -> Result<(), Failure> { }", "no generics"),
            ("async fn send(&self) -> Result<(), Failure> { }", "not a method"),
            ("async fn send(a: &str) -> Result<(), Failure> { }", "take them by value"),
            ("async fn send(a: A, b: B) -> Result<(), Failure> { }", "one input and one Context"),
            ("async fn send(a: Context, b: Context) -> Result<(), Failure> { }", "one Context"),
        ] {
            let told = problem(Kind::Task, r#"queue = "a""#, item);
            assert!(told.contains(expected), "{item}: {told}");
        }
        assert!(problem(Kind::Task, r#"queue = "a", cron = "@daily""#, GOOD).contains("`cron`"));
    }
}
