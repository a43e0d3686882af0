//! The attributes of `carillon-worker`; its documentation describes them.

mod arguments;
mod expand;
mod schedule;

use proc_macro::TokenStream;

use crate::expand::Kind;

/// Declares an async function as a task that jobs in a queue call by name.
#[proc_macro_attribute]
pub fn task(arguments: TokenStream, item: TokenStream) -> TokenStream {
    attribute(Kind::Task, arguments, item)
}

/// Declares an async function as a task, and a schedule for it. The attribute may be repeated, once
/// per schedule, and may follow `task`.
#[proc_macro_attribute]
pub fn scheduled(arguments: TokenStream, item: TokenStream) -> TokenStream {
    attribute(Kind::Scheduled, arguments, item)
}

fn attribute(kind: Kind, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = proc_macro2::TokenStream::from(item);
    match expand::expand(kind, arguments.into(), item.clone()) {
        Ok(code) => code.into(),
        Err(error) => {
            // Keep the function, so that the compiler does not also report a missing function.
            let (item, error) = (expand::plain(item), error.into_compile_error());
            quote::quote!(#item #error).into()
        }
    }
}
