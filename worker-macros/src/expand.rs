//! Emits the function unchanged, and a type of the same name that implements the task.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{FnArg, ItemFn, LitStr, PatType, ReturnType, Type, spanned::Spanned};

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
    let function: ItemFn = syn::parse2(item)?;
    let queue = queue(&arguments)?;
    let name = task_name(&arguments, &function)?;
    let schedule = match kind {
        Kind::Task => None,
        Kind::Scheduled => Some(Schedule::read(&arguments, &name)?),
    };
    check_signature(&function)?;
    let call = call(&function)?;

    let (visibility, identifier) = (&function.vis, &function.sig.ident);
    let schedules = schedule.map(|Schedule { name, keys, task_keys, input }| {
        let input = input.map_or(quote!(None), |text| quote!(Some(#text)));
        quote!(::carillon_worker::Schedule {
            name: #name, keys: #keys, task_keys: #task_keys, input: #input
        })
    });
    Ok(quote! {
        #function

        #[doc(hidden)]
        #[allow(non_camel_case_types, reason = "it goes by the function's name")]
        #visibility struct #identifier {}

        impl ::carillon_worker::Task for #identifier {
            const NAME: &'static str = #name;
            const QUEUE: &'static str = #queue;
            const SCHEDULES: &'static [::carillon_worker::Schedule] = &[#schedules];

            fn run(job: ::carillon_worker::Job) -> ::carillon_worker::Running {
                ::std::boxed::Box::pin(async move { #call })
            }
        }
    })
}

fn queue(arguments: &Arguments) -> syn::Result<String> {
    let text = arguments.required_text("queue", "\"emails\"")?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    checked(&text, fits, "a queue is 1 to 64 of a-z 0-9 . _ -")
}

fn task_name(arguments: &Arguments, function: &ItemFn) -> syn::Result<String> {
    let Some(text) = arguments.text("name")? else { return Ok(function.sig.ident.to_string()) };
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    checked(&text, fits, "a task's name is 1 to 64 of a-z A-Z 0-9 . _ -")
}

fn checked(text: &LitStr, fits: impl Fn(char) -> bool, help: &str) -> syn::Result<String> {
    let value = text.value();
    if (1..=64).contains(&value.len()) && value.chars().all(fits) {
        Ok(value)
    } else {
        Err(syn::Error::new(text.span(), help))
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
        let problem = "a task gives back a `Result<T, carillon_worker::Failure>`";
        return Err(syn::Error::new(signature.ident.span(), problem));
    }
    Ok(())
}

/// The call of the function with the job's input, and the conversion of its result.
fn call(function: &ItemFn) -> syn::Result<TokenStream> {
    let mut reads = Vec::new();
    let mut passed = Vec::new();
    let (mut has_input, mut has_context) = (false, false);
    for (index, argument) in function.sig.inputs.iter().enumerate() {
        let FnArg::Typed(PatType { ty, .. }) = argument else {
            return Err(syn::Error::new(argument.span(), "a task is no method"));
        };
        if matches!(**ty, Type::Reference(_)) {
            let problem = "a task owns what it is given: take it by value";
            return Err(syn::Error::new(ty.span(), problem));
        }
        let twice = |what: &str| {
            let problem = format!("a task takes {what} at the most, in any order");
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
            // A type that JSON cannot be deserialized into is an error at that type.
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
    fn a_bad_schedule_is_told() {
        for (arguments, expected) in [
            (r#"queue = "a""#, "`cron` is missing"),
            (r#"cron = "0 25 * * *", queue = "a""#, "25"),
            (r#"cron = ["@daily", "0 61 * * *"], queue = "a""#, "61"),
            (r#"cron = "@daily", zone = "Europe/Berlim", queue = "a""#, "Europe/Berlin"),
            (r#"cron = "@daily", overlap = "jump", queue = "a""#, "`jump` is no overlap"),
            (r#"cron = "@daily", queue = "A""#, "a queue is 1 to 64"),
            (r#"cron = "@daily""#, "`queue` is missing"),
            (r#"cron = "@daily", queue = "a", zones = "UTC""#, "there is no `zones`"),
            (r#"cron = "@daily", queue = "a", queue = "b""#, "`queue` is there twice"),
            (r#"cron = 5, queue = "a""#, "write a text in quotes"),
            (r#"cron = "@daily", queue = "a", input = "[]""#, "write a JSON object"),
            (r#"cron = "@daily", queue = "a", input = "{""#, "this is no JSON"),
            (r#"cron = "@daily", queue = "a", schedule = "-""#, "write 1 to 128"),
        ] {
            let told = problem(Kind::Scheduled, arguments, GOOD);
            assert!(told.contains(expected), "{arguments}: {told}");
        }
    }

    #[test]
    fn a_function_that_can_be_no_task_is_told() {
        for (item, expected) in [
            ("fn send() -> Result<(), Failure> { }", "a task is an `async fn`"),
            ("async fn send() { }", "a task gives back a `Result<"),
            ("async fn send<T>(input: T) -> Result<(), Failure> { }", "no generics"),
            ("async fn send(&self) -> Result<(), Failure> { }", "no method"),
            ("async fn send(a: &str) -> Result<(), Failure> { }", "take it by value"),
            ("async fn send(a: A, b: B) -> Result<(), Failure> { }", "one input and one Context"),
            ("async fn send(a: Context, b: Context) -> Result<(), Failure> { }", "one Context"),
        ] {
            let told = problem(Kind::Task, r#"queue = "a""#, item);
            assert!(told.contains(expected), "{item}: {told}");
        }
        assert!(problem(Kind::Task, r#"queue = "a", cron = "@daily""#, GOOD).contains("`cron`"));
    }
}
