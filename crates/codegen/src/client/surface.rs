//! What the client crate exposes.

use std::collections::BTreeMap;

use contract::model::SecurityKind;

use super::builder::body;
use super::names::ClientNames;
use super::paging;
use super::responses::{self, Body, Side};
use crate::ir::{Api, MediaKind, Operation, TypeRef};
use crate::positions;
use crate::surface::{
    Crate, Form, Item, Member, Signature, operation_key, operation_name, parameter_key,
    parameter_span,
};

/// Returns the items of the client crate.
pub(crate) fn surface(api: &Api<'_>) -> Vec<Item> {
    let names = ClientNames::new(api);
    let exposed = Exposed {
        api,
        names: &names,
        root: api.names.krate("client"),
        krate: if api.names.is_reversed {
            Crate::Sender
        } else {
            Crate::Client
        },
    };
    let mut items = exposed.root_items();
    for at in 0..api.tags.len() {
        items.push(exposed.operations(at));
        for operation in api.operations_of(at) {
            items.extend(exposed.builder(operation));
        }
    }
    items
}

/// The client crate of an API.
struct Exposed<'a> {
    api: &'a Api<'a>,
    names: &'a ClientNames,
    root: String,
    krate: Crate,
}

impl Exposed<'_> {
    fn item(&self, path: &str, form: Form) -> Item {
        Item::new(self.krate, format!("{}::{path}", self.root), form)
    }

    /// Returns the path of an item of a tag's module.
    fn path(&self, tag: usize, name: &str) -> String {
        format!("{}::{}::{name}", self.root, self.api.tags[tag].module)
    }

    /// Returns the items that belong to no tag: the credentials, the error, the servers.
    fn root_items(&self) -> Vec<Item> {
        let api = self.api;
        let mut credentials = self.item("ClientBuilder", Form::Builder);
        credentials.is_open = true;
        for (scheme, name) in api.security.iter().zip(&self.names.credentials) {
            let argument = match &scheme.kind {
                SecurityKind::MutualTls => continue,
                SecurityKind::HttpBasic => "(&str, impl Into<Secret>)",
                _ => "(impl Into<SecretSource>)",
            };
            let wire = format!("the security scheme `{}`", scheme.wire);
            let mut member = Member::new(name, wire, Signature::text(argument));
            let declared = api.contract.security_schemes.get(&scheme.wire);
            member.span = declared.map(|declared| declared.span);
            credentials.members.push(member);
        }
        let mut error = self.item("Error", Form::Alias);
        let body = match &api.error {
            Some(ty) => Signature::of(api, ty),
            None => Signature::text("no default"),
        };
        error.members.push(Member::new("", "its body", body));
        let mut items = vec![credentials, error];
        if api.contract.servers.iter().any(|server| server.url != "/") {
            items.push(self.item("SERVERS", Form::Static));
        }
        items
    }

    /// Returns the trait of a tag. It is sealed.
    fn operations(&self, at: usize) -> Item {
        let api = self.api;
        let tag = &api.tags[at];
        let path = format!("{}::{}", tag.module, tag.client_trait);
        let mut item = self.item(&path, Form::Trait);
        item.is_open = true;
        item.feature = Some(tag.feature.clone());
        let methods = api.operations_of(at).map(|operation| {
            let builder = Signature::item(self.path(at, &operation.pascal));
            Member::new(&operation.name, operation_key(operation), builder).of(api, operation)
        });
        item.members = methods.collect();
        item.span = item.members.first().and_then(|first| first.span);
        item
    }

    /// Returns the builder of an operation, with the enums that its `send` returns.
    fn builder(&self, operation: &Operation) -> Vec<Item> {
        let api = self.api;
        let module = &api.tags[operation.tag].module;
        let span = api.contract.operations[operation.index].span;
        let names = self.names.of(operation);
        let within = |name: &str, form| {
            let mut item = self.item(&format!("{module}::{name}"), form);
            item.is_open = true;
            item.feature = Some(api.tags[operation.tag].feature.clone());
            item.span = Some(span);
            item.operation = Some(operation_name(operation));
            item
        };
        let mut builder = within(&operation.pascal, Form::Builder);
        if body::can_be_cloned(operation) {
            builder.traits.insert("Clone".to_owned());
        }
        builder.members = self.setters(operation);
        let sides = [
            (responses::successes(api, operation), &names.response),
            (responses::errors(api, operation), &names.error),
        ];
        let [success, error] = sides.each_ref().map(|(side, name)| match side.single() {
            Some(body) => self.body(body),
            None => Signature::item(self.path(operation.tag, name)),
        });
        let result = Signature::text("Result<").and(success).then(", ");
        let result = result.and(error.clone()).then(">");
        let send = Member::new("send", "the responses", result);
        builder.members.push(send.of(api, operation));
        if let Some(paged) = operation.paging.as_ref()
            && paging::stream(api, self.names, operation).is_some()
        {
            let items = Signature::text("Items<").and(Signature::of(api, &paged.item));
            let items = items.then(", ").and(error).then(">");
            let stream = Member::new("stream", "the pages", items);
            builder.members.push(stream.of(api, operation));
        }
        let mut items = vec![builder];
        for (side, name) in &sides {
            if side.several {
                items.push(self.enumeration(within(name, Form::Enum), side));
            }
        }
        items
    }

    /// Returns the setters of the parameters and of the body. A value is given as anything that
    /// converts into the type, whether it is required or not.
    fn setters(&self, operation: &Operation) -> Vec<Member> {
        let api = self.api;
        let declared = &api.contract.operations[operation.index];
        let names = &self.names.of(operation).parameters;
        let mut members = Vec::new();
        for (parameter, name) in operation.parameters.iter().zip(names) {
            let ty = Signature::of(api, &parameter.ty);
            let mut member = Member::new(name, parameter_key(parameter), ty);
            member.span = parameter_span(api, operation, parameter);
            members.push(member);
        }
        let span = declared.request_body.as_ref().map(|body| body.span);
        for (name, media) in body::setter_names(operation, names) {
            let ty = || Signature::of(api, body::value_type(media));
            let ty = match media.kind {
                MediaKind::Json | MediaKind::Text | MediaKind::Form => ty(),
                MediaKind::Multipart => Signature::text("Multipart"),
                MediaKind::EventStream | MediaKind::Bytes => Signature::text("reqwest::Body"),
                MediaKind::Items => ty().within("ItemBody"),
                MediaKind::TypedEvents => ty().within("TypedEvent").within("ItemBody"),
                MediaKind::Parts | MediaKind::PartStream => {
                    let of = |ty: &TypeRef| Signature::of(api, ty);
                    let parts = media.parts.as_ref();
                    let parts = parts.expect("a body of parts has their list");
                    if media.kind == MediaKind::Parts {
                        positions::whole_signature(parts, &of)
                    } else {
                        positions::item_signature(parts, &of).within("PartBody")
                    }
                }
            };
            let ty = if media.name.contains('*') {
                Signature::text("&str, ").and(ty)
            } else {
                ty
            };
            let wire = format!("the body `{}`", media.name);
            let mut member = Member::new(&name, wire, ty);
            member.span = span;
            members.push(member);
        }
        members
    }

    fn enumeration(&self, mut item: Item, side: &Side) -> Item {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let choices = side
            .arms
            .iter()
            .flat_map(|arm| arm.bodies.iter().map(|choice| (arm.statuses, choice)));
        let mut is_plain = true;
        for ((first, last), choice) in choices {
            is_plain &= matches!(choice.body, Body::Empty | Body::Json(_) | Body::Text(_));
            let signature = match &choice.body {
                Body::Empty => Signature::default(),
                body => self.body(body),
            };
            let wire = format!(
                "the response {first} to {last} `{}`",
                choice.media.join(", ")
            );
            let count = seen.entry(wire.clone()).or_default();
            *count += 1;
            let wire = if *count > 1 {
                format!("{wire} {count}")
            } else {
                wire
            };
            item.members
                .push(Member::new(&choice.variant, wire, signature));
        }
        if is_plain {
            item.traits
                .extend(["Clone", "PartialEq"].map(str::to_owned));
        }
        item
    }

    /// Returns the type of a response body.
    fn body(&self, body: &Body) -> Signature {
        match body {
            Body::Empty => Signature::text("()"),
            Body::Json(ty) | Body::Text(ty) => Signature::of(self.api, ty),
            Body::Bytes => Signature::text("ByteStream"),
            Body::Events => Signature::text("EventStream"),
            Body::Items(ty) => Signature::of(self.api, ty).within("ItemStream"),
            Body::TypedEvents(ty) => Signature::of(self.api, ty)
                .within("TypedEvent")
                .within("ItemStream"),
            Body::Parts(parts) => {
                positions::whole_signature(parts, &|ty| Signature::of(self.api, ty))
            }
            Body::PartStream(parts) => {
                positions::item_signature(parts, &|ty| Signature::of(self.api, ty))
                    .within("PartStream")
            }
            Body::Upgrade => Signature::text("reqwest::Upgraded"),
        }
    }
}
