//! Mends progenitor's builders on the syntax tree, and fails when there is not exactly what it came to mend.
//!
//! - The contract's names, types and docs take the place of the placeholders that `view` gave it.
//! - Responses decode leniently, and errors are those of our run time.
//! - Arguments of a path cannot climb it.
//! - The `api-version` header that progenitor adds is gone.

use std::collections::{BTreeMap, HashMap, HashSet};

use contract::model::Location;
use indexmap::IndexSet;
use proc_macro2::{Ident, Span};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Member, Stmt, Token, parse_quote};

use super::names::ClientNames;
use super::responses::{self, Side};
use super::{ClientError, paging, parts, text, view};
use crate::ir::{Api, Operation, TypeRef};
use crate::tokens::{docs, ident};

/// The local variables of progenitor's `send`.
const LOCALS: [&str; 7] = [
    "client",
    "url",
    "request",
    "response",
    "result",
    "info",
    "header_map",
];

/// The types behind `T0`, `T1`, …
pub(super) fn types(api: &Api<'_>, types: &IndexSet<TypeRef>) -> Vec<syn::Type> {
    types
        .iter()
        .map(|ty| {
            let ty = parts::type_of(api, ty);
            parse_quote!(#ty)
        })
        .collect()
}

/// The name of the fix-up that keeps arguments from climbing a path.
const SAFE_PATH: &str = "safe path arguments";

/// Calls of progenitor's run time, the fix-up that each belongs to, and the calls of ours.
const CALLS: [(&[&str], &str, &[&str]); 6] = [
    (&["encode_path"], SAFE_PATH, &["encode_path"]),
    (
        &["ResponseValue", "from_response"],
        "lenient responses",
        &["decode"],
    ),
    (&["ResponseValue", "empty"], "lenient responses", &["empty"]),
    (
        &["ResponseValue", "stream"],
        "lenient responses",
        &["stream"],
    ),
    (
        &["Error", "ErrorResponse"],
        "listed errors",
        &["Error", "listed"],
    ),
    (
        &["Error", "UnexpectedResponse"],
        "unlisted responses",
        &["Error", "unlisted"],
    ),
];

/// A path below `runtime`.
fn runtime_path(names: &[&str]) -> syn::Path {
    syn::Path {
        leading_colon: None,
        segments: ["runtime"]
            .iter()
            .chain(names)
            .map(|name| syn::PathSegment::from(ident(name)))
            .collect(),
    }
}

/// Mends the builder of an operation.
pub(super) fn mend(
    api: &Api<'_>,
    names: &ClientNames,
    operation: &Operation,
    types: &[syn::Type],
    (mut structure, mut methods): (syn::ItemStruct, syn::ItemImpl),
) -> Result<Vec<syn::Item>, ClientError> {
    let (successes, errors) = (
        responses::successes(api, operation),
        responses::errors(api, operation),
    );
    let mut fixups = Fixups::new(api, names, operation, types, &structure.ident);
    fixups.visit_item_struct_mut(&mut structure);
    fixups.visit_item_impl_mut(&mut methods);
    fixups.check(&successes, &errors)?;

    let client_trait = &api.tags[operation.tag].client_trait;
    describe(
        &mut structure.attrs,
        &text::builder(api, operation, client_trait),
    )?;
    let setters: HashMap<&str, usize> = names
        .of(operation)
        .parameters
        .iter()
        .enumerate()
        .map(|(at, name)| (name.as_str(), at))
        .collect();
    for item in &mut methods.items {
        let syn::ImplItem::Fn(method) = item else {
            continue;
        };
        match (
            method.sig.ident.to_string().as_str(),
            setters.get(method.sig.ident.to_string().as_str()),
        ) {
            (_, Some(at)) => {
                let parameter = &operation.parameters[*at];
                describe(&mut method.attrs, &text::setter(parameter))?;
                if parameter.deprecated {
                    method.attrs.push(parse_quote!(#[deprecated]));
                }
            }
            ("new", None) => {
                describe(&mut method.attrs, "A call without arguments yet.")?;
                method.vis = parse_quote!(pub(crate));
            }
            ("send", None) => describe(&mut method.attrs, &text::send(api, &successes, &errors))?,
            _ => describe(&mut method.attrs, &text::body(operation))?,
        }
    }
    if let Some(stream) = paging::stream(api, names, operation) {
        methods.items.push(syn::ImplItem::Fn(syn::parse2(stream)?));
    }
    Ok(vec![syn::Item::Struct(structure), syn::Item::Impl(methods)])
}

/// Puts docs in the place of those that are there.
fn describe(attributes: &mut Vec<syn::Attribute>, words: &str) -> Result<(), ClientError> {
    attributes.retain(|attribute| !attribute.path().is_ident("doc"));
    let docs = syn::Attribute::parse_outer.parse2(docs(words))?;
    attributes.splice(0..0, docs);
    Ok(())
}

struct Fixups<'a> {
    api: &'a Api<'a>,
    operation: &'a Operation,
    /// The types behind `T0`, `T1`, …
    types: &'a [syn::Type],
    /// Identifiers to put in the place of others.
    identifiers: Vec<(String, Ident)>,
    info: syn::Expr,
    applied: BTreeMap<&'static str, usize>,
}

impl<'a> Fixups<'a> {
    fn new(
        api: &'a Api<'a>,
        names: &ClientNames,
        operation: &'a Operation,
        types: &'a [syn::Type],
        structure: &Ident,
    ) -> Self {
        let parameters = &names.of(operation).parameters;
        let mut identifiers: Vec<(String, Ident)> = parameters
            .iter()
            .enumerate()
            .map(|(at, name)| (format!("p{at}"), ident(name)))
            .collect();
        identifiers.push((structure.to_string(), ident(&operation.pascal)));
        let mut taken: HashSet<String> = parameters.iter().cloned().collect();
        for local in LOCALS
            .iter()
            .filter(|local| parameters.iter().any(|name| name == *local))
        {
            let fresh = crate::names::unique(&mut taken, format!("{local}_"));
            identifiers.push(((*local).to_owned(), ident(&fresh)));
        }
        Self {
            api,
            operation,
            types,
            identifiers,
            info: parts::operation_info(api, names, operation),
            applied: BTreeMap::new(),
        }
    }

    fn applied(&mut self, fixup: &'static str) {
        *self.applied.entry(fixup).or_default() += 1;
    }

    fn has_headers(&self) -> bool {
        self.operation
            .parameters
            .iter()
            .any(|parameter| parameter.location == Location::Header)
    }

    /// Everything was there to mend, once for each time that the contract gives a reason.
    fn check(&self, successes: &Side, errors: &Side) -> Result<(), ClientError> {
        let in_path = self
            .operation
            .parameters
            .iter()
            .filter(|parameter| parameter.location == Location::Path)
            .count();
        let expected_errors = view::statuses(errors).len();
        let expected = [
            (SAFE_PATH, in_path),
            ("wire names", self.operation.parameters.len() - in_path),
            ("own path", 1),
            ("base url", 1),
            ("http client", 1),
            ("no api-version", 1),
            ("no header map", usize::from(!self.has_headers())),
            ("operation info", 1),
            ("no post hook", 1),
            (
                "lenient responses",
                view::statuses(successes).len() + expected_errors,
            ),
            ("listed errors", expected_errors),
            ("unlisted responses", 1),
        ];
        for (fixup, expected) in expected {
            let applied = self.applied.get(fixup).copied().unwrap_or_default();
            if applied != expected {
                return Err(ClientError::Fixup {
                    fixup,
                    operation: self.operation.name.clone(),
                    applied,
                    expected,
                });
            }
        }
        Ok(())
    }

    /// Calls of progenitor's run time become calls of ours.
    fn call(&mut self, call: &mut syn::ExprCall) -> Option<Expr> {
        let Expr::Path(function) = &mut *call.func else {
            return None;
        };
        let segments = &function.path.segments;
        let is = |names: &[&str]| {
            segments.len() == names.len()
                && segments
                    .iter()
                    .zip(names)
                    .all(|(segment, name)| segment.ident == name)
        };
        let (fixup, replacement) = CALLS
            .iter()
            .find(|(names, ..)| is(names))
            .map(|(_, fixup, path)| (*fixup, *path))?;
        function.path = runtime_path(replacement);
        self.applied(fixup);
        (fixup == SAFE_PATH).then(|| {
            Expr::Try(syn::ExprTry {
                attrs: Vec::new(),
                expr: Box::new(Expr::Call(call.clone())),
                question_token: Token![?](Span::call_site()),
            })
        })
    }

    /// `client.baseurl` and `client.client` are methods of the transport.
    fn field(&mut self, field: &syn::ExprField) -> Option<Expr> {
        let Expr::Path(base) = &*field.base else {
            return None;
        };
        let Member::Named(member) = &field.member else {
            return None;
        };
        if !base.path.is_ident("client") {
            return None;
        }
        let base = &field.base;
        if member == "baseurl" {
            self.applied("base url");
            return Some(parse_quote!(#base.base_url()));
        }
        if member == "client" {
            self.applied("http client");
            return Some(parse_quote!(#base.http()));
        }
        None
    }

    /// `let url = format!("{}/op7/x/{}", client.baseurl, encode_path(&p0.to_string()));` as one statement for each
    /// argument, which is checked, and one for the URL, without the part that made its path this operation's own.
    fn url(&mut self, local: &syn::Local) -> Option<Vec<Stmt>> {
        let Expr::Macro(format) = &*local.init.as_ref()?.expr else {
            return None;
        };
        let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
        let arguments = parser.parse2(format.mac.tokens.clone()).ok()?;
        let mut arguments = arguments.into_iter();
        let Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) = arguments.next()?
        else {
            return None;
        };
        let text = text.value();
        let rest = text
            .strip_prefix("{}/op")?
            .trim_start_matches(|sign: char| sign.is_ascii_digit());
        self.applied("own path");
        let text = format!("{{}}{rest}");

        let mut base = arguments.next()?;
        self.visit_expr_mut(&mut base);
        let mut statements: Vec<Stmt> = Vec::new();
        let mut names: Vec<Ident> = Vec::new();
        for argument in arguments {
            let name = argument_name(&argument)?;
            if !names.contains(&name) {
                statements.push(parse_quote!(let #name = #argument;));
            }
            names.push(name);
        }
        // A macro's tokens are not visited like the rest.
        for name in &mut names {
            self.visit_ident_mut(name);
        }
        let pattern = &local.pat;
        statements.push(parse_quote!(let #pattern = format!(#text, #base #(, #names)*);));
        Some(statements)
    }

    /// Whether a statement stays.
    fn keeps(&mut self, statement: &Stmt) -> bool {
        match statement {
            Stmt::Local(local) if pattern_is(&local.pat, "header_map") && !self.has_headers() => {
                self.applied("no header map");
                false
            }
            Stmt::Expr(Expr::MethodCall(call), _) if adds_version(call) => {
                self.applied("no api-version");
                false
            }
            Stmt::Expr(Expr::Try(tried), _) if awaits(&tried.expr, "post") => {
                self.applied("no post hook");
                false
            }
            _ => true,
        }
    }

    /// A placeholder inside a text.
    fn literal(&mut self, text: &str) -> Option<String> {
        if let Some(at) = placeholder(text, 'p') {
            self.applied("wire names");
            return Some(self.operation.parameters.get(at)?.wire.clone());
        }
        let described = |word: &str| {
            if let Some(at) = placeholder(word, 'p') {
                return self
                    .operation
                    .parameters
                    .get(at)
                    .map(|given| (given.name.as_str(), Some(&given.ty)));
            }
            let media = self
                .operation
                .body
                .as_ref()
                .and_then(|body| body.media.first());
            (word == "body").then(|| ("body", media.and_then(|media| media.ty.as_ref())))
        };
        if let Some(word) = text.strip_suffix(" was not initialized") {
            return described(word).map(|(name, _)| text::missing(name));
        }
        let (_, word) = text
            .strip_prefix("conversion to `")?
            .strip_suffix(" failed")?
            .split_once("` for ")?;
        described(word).map(|(name, ty)| match ty {
            Some(ty) => text::misfit(self.api, name, ty),
            None => format!("`{name}` cannot be a body"),
        })
    }
}

impl VisitMut for Fixups<'_> {
    fn visit_ident_mut(&mut self, found: &mut Ident) {
        if let Some((_, replacement)) = self
            .identifiers
            .iter()
            .find(|(name, _)| *found == name.as_str())
        {
            *found = replacement.clone();
        }
    }

    fn visit_type_mut(&mut self, ty: &mut syn::Type) {
        if let syn::Type::Path(path) = ty
            && let Some(name) = path.path.get_ident()
            && let Some(at) = placeholder(&name.to_string(), 'T')
            && let Some(replacement) = self.types.get(at)
        {
            *ty = replacement.clone();
            return;
        }
        visit_mut::visit_type_mut(self, ty);
    }

    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        let first = &path.segments[0].ident;
        if first == "super" {
            *path = runtime_path(&["Transport"]);
        } else if first == "progenitor_client" {
            path.segments[0].ident = ident("runtime");
        } else if first == "std"
            && path
                .segments
                .last()
                .is_some_and(|last| last.ident == "TryInto")
        {
            path.segments = path.segments.iter().skip(2).cloned().collect();
        } else if ["reqwest", "ResponseValue", "Error", "ByteStream"]
            .iter()
            .any(|name| first == name)
        {
            path.leading_colon = None;
            path.segments.insert(0, ident("runtime").into());
        }
        visit_mut::visit_path_mut(self, path);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Call(call) => {
                let replacement = self.call(call);
                if let Some(replacement) = replacement {
                    *expr = replacement;
                }
            }
            Expr::Field(field) => {
                if let Some(replacement) = self.field(field) {
                    *expr = replacement;
                }
            }
            Expr::MethodCall(call) if call.method == "headers" && !self.has_headers() => {
                let receiver = (*call.receiver).clone();
                *expr = receiver;
                self.visit_expr_mut(expr);
                return;
            }
            Expr::Struct(literal) if literal.path.is_ident("OperationInfo") => {
                *expr = self.info.clone();
                self.applied("operation info");
                return;
            }
            _ => {}
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let mut statements = Vec::with_capacity(block.stmts.len());
        for mut statement in std::mem::take(&mut block.stmts) {
            if !self.keeps(&statement) {
                continue;
            }
            if let Stmt::Local(local) = &mut statement {
                local.attrs.clear();
                if pattern_is(&local.pat, "url")
                    && let Some(url) = self.url(local)
                {
                    statements.extend(url);
                    continue;
                }
            }
            statements.push(statement);
        }
        block.stmts = statements;
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_lit_str_mut(&mut self, literal: &mut syn::LitStr) {
        if let Some(text) = self.literal(&literal.value()) {
            *literal = syn::LitStr::new(&text, literal.span());
        }
    }

    fn visit_attribute_mut(&mut self, _: &mut syn::Attribute) {}
}

/// The number of a placeholder such as `p7`.
fn placeholder(word: &str, kind: char) -> Option<usize> {
    word.strip_prefix(kind)?.parse().ok()
}

/// `p0` of `encode_path(&p0.to_string())`.
fn argument_name(argument: &Expr) -> Option<Ident> {
    let Expr::Call(call) = argument else {
        return None;
    };
    let Expr::Reference(reference) = call.args.first()? else {
        return None;
    };
    let Expr::MethodCall(text) = &*reference.expr else {
        return None;
    };
    let Expr::Path(name) = &*text.receiver else {
        return None;
    };
    name.path.get_ident().cloned()
}

fn pattern_is(pattern: &syn::Pat, name: &str) -> bool {
    matches!(pattern, syn::Pat::Ident(pattern) if pattern.ident == name)
}

/// Whether a call is `header_map.append(HeaderName::from_static("api-version"), …)`.
fn adds_version(call: &syn::ExprMethodCall) -> bool {
    let Some(Expr::Call(name)) = call.args.first() else {
        return false;
    };
    call.method == "append"
        && matches!(
            name.args.first(),
            Some(Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })) if text.value() == "api-version"
        )
}

/// Whether an expression awaits a call of this method.
fn awaits(expr: &Expr, method: &str) -> bool {
    matches!(expr, Expr::Await(awaited) if matches!(&*awaited.base, Expr::MethodCall(call) if call.method == method))
}
