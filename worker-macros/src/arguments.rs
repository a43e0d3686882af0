//! The arguments of an attribute.

use std::collections::BTreeMap;

use proc_macro2::{Span, TokenStream};
use syn::{
    Expr, ExprArray, ExprLit, Ident, Lit, LitInt, LitStr, MetaNameValue, Token, parse::Parser,
    punctuated::Punctuated, spanned::Spanned,
};

/// The arguments `name = value` of an attribute, each at most once.
pub(crate) struct Arguments {
    values: BTreeMap<String, (Ident, Expr)>,
}

impl Arguments {
    pub(crate) fn parse(tokens: TokenStream, known: &[&str]) -> syn::Result<Self> {
        let pairs = Punctuated::<MetaNameValue, Token![,]>::parse_terminated.parse2(tokens)?;
        let mut values = BTreeMap::new();
        for pair in pairs {
            let name = pair.path.require_ident()?.clone();
            let text = name.to_string();
            if !known.contains(&text.as_str()) {
                let problem = format!("there is no `{text}`; there is {}", known.join(", "));
                return Err(syn::Error::new(name.span(), problem));
            }
            if values.insert(text.clone(), (name.clone(), pair.value)).is_some() {
                return Err(syn::Error::new(name.span(), format!("`{text}` occurs twice")));
            }
        }
        Ok(Self { values })
    }

    pub(crate) fn text(&self, name: &str) -> syn::Result<Option<LitStr>> {
        self.values.get(name).map(|(_, value)| text_of(value)).transpose()
    }

    pub(crate) fn required_text(&self, name: &str, like: &str) -> syn::Result<LitStr> {
        let missing = || {
            let problem = format!("`{name}` is missing: write `{name} = {like}`");
            syn::Error::new(Span::call_site(), problem)
        };
        self.text(name)?.ok_or_else(missing)
    }

    /// The value of an argument that is one string, or several in brackets.
    pub(crate) fn texts(&self, name: &str) -> syn::Result<Vec<LitStr>> {
        match self.values.get(name) {
            None => Ok(Vec::new()),
            Some((_, Expr::Array(ExprArray { elems, .. }))) => elems.iter().map(text_of).collect(),
            Some((_, value)) => Ok(vec![text_of(value)?]),
        }
    }

    pub(crate) fn number(&self, name: &str) -> syn::Result<Option<LitInt>> {
        match self.values.get(name) {
            None => Ok(None),
            Some((_, Expr::Lit(ExprLit { lit: Lit::Int(number), .. }))) => Ok(Some(number.clone())),
            Some((_, value)) => Err(syn::Error::new(value.span(), "write a number")),
        }
    }
}

fn text_of(value: &Expr) -> syn::Result<LitStr> {
    if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value {
        return Ok(text.clone());
    }
    Err(syn::Error::new(value.span(), "write a text in quotes"))
}
