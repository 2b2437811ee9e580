//! What the server crate exposes.

use std::collections::{BTreeMap, BTreeSet};

use contract::model::{SecurityRequirement, StatusKey};

use super::names::{fixed, type_names};
use super::payload::{self, Payload, is_shared};
use super::{request, response, security, tag};
use crate::ir::{Api, Media, MediaKind, Operation, Response, TypeRef};
use crate::positions;
use crate::surface::{
    Constructor, Crate, Form, Item, Member, Signature, operation_key, operation_name,
    parameter_key, parameter_span,
};

/// Returns the items of the server crate.
pub(crate) fn surface(api: &Api<'_>) -> Vec<Item> {
    let exposed = Exposed {
        api,
        root: api.names.krate("server"),
        krate: if api.names.is_reversed {
            Crate::Receiver
        } else {
            Crate::Server
        },
    };
    let mut items = exposed.root_items();
    items.extend(exposed.shared_responses());
    for at in 0..api.tags.len() {
        items.push(exposed.operations(at));
        for operation in api.operations_of(at) {
            items.extend(exposed.request(operation));
            items.extend(exposed.responses(operation));
        }
    }
    items
}

/// The server crate of an API.
struct Exposed<'a> {
    api: &'a Api<'a>,
    root: String,
    krate: Crate,
}

impl Exposed<'_> {
    fn item(&self, path: &str, form: Form) -> Item {
        Item::new(self.krate, format!("{}::{path}", self.root), form)
    }

    /// Returns an item of an operation, in the module of its tag.
    fn of_operation(&self, operation: &Operation, name: &str, form: Form) -> Item {
        let tag = &self.api.tags[operation.tag];
        let mut item = self.item(&format!("{}::{name}", tag.module), form);
        item.feature = Some(tag.feature.clone());
        item.span = Some(self.api.contract.operations[operation.index].span);
        item.operation = Some(operation_name(operation));
        item
    }

    /// Returns the items that belong to no tag: `Api`, `router` and `Security`.
    fn root_items(&self) -> Vec<Item> {
        let api = self.api;
        let is_secured = (0..api.tags.len()).any(|at| tag::is_secured(api, at));
        let mut whole = self.item("Api", Form::Trait);
        whole.generics = if is_secured { "<P>" } else { "" };
        for (at, tag) in api.tags.iter().enumerate() {
            let wire = format!("the tag `{}`", tag.name.as_deref().unwrap_or("untagged"));
            let path = format!("{}::{}::{}", self.root, tag.module, tag.server_trait);
            let mut member = Member::new(&tag.server_trait, wire, Signature::item(path));
            let first = api.operations_of(at).next();
            member.span = first.map(|first| api.contract.operations[first.index].span);
            whole.members.push(member);
        }
        let mut router = self.item("router", Form::Function);
        let body = match &api.error {
            Some(ty) => Signature::of(api, ty),
            None => Signature::text("any body"),
        };
        let security = if api.security.is_empty() {
            "no credentials, rejections with "
        } else {
            "credentials, rejections with "
        };
        let signature = Signature::text(security).and(body);
        router
            .members
            .push(Member::new("", "its arguments", signature));
        let mut items = vec![whole, router];
        if !api.security.is_empty() {
            items.push(self.credentials());
        }
        items
    }

    /// Returns the trait that turns credentials into a principal.
    fn credentials(&self) -> Item {
        let api = self.api;
        let mut methods: BTreeMap<String, &SecurityRequirement> = BTreeMap::new();
        for alternative in security::securities(api).flat_map(security::asked) {
            let name = security::method_name(api, alternative);
            methods.entry(name).or_insert(alternative);
        }
        let mut item = self.item("Security", Form::Trait);
        for (name, alternative) in methods {
            let arguments = security::schemes(api, alternative).map(|(scheme, _)| {
                let scopes = if security::has_scopes(&scheme.kind) {
                    ", &[&str]"
                } else {
                    ""
                };
                format!("{}{scopes}", security::credential_type(&scheme.kind))
            });
            let arguments: Vec<String> = arguments.collect();
            let wire = format!("the credentials `{name}`");
            let signature = Signature::text(&format!("({})", arguments.join(", ")));
            let mut member = Member::new(&name, wire, signature);
            let declared = alternative.schemes.first();
            let declared =
                declared.and_then(|(scheme, _)| api.contract.security_schemes.get(scheme));
            member.span = declared.map(|declared| declared.span);
            item.members.push(member);
        }
        item
    }

    /// Returns the trait of a tag, whose methods are the handlers.
    fn operations(&self, at: usize) -> Item {
        let api = self.api;
        let definition = &api.tags[at];
        let path = format!("{}::{}", definition.module, definition.server_trait);
        let mut item = self.item(&path, Form::Trait);
        item.feature = Some(definition.feature.clone());
        if tag::is_secured(api, at) {
            item.generics = "<P>";
        }
        let methods = api.operations_of(at).map(|operation| {
            let asked = &operation.security;
            let principal = match (security::is_secured(asked), security::is_optional(asked)) {
                (false, _) => "(",
                (true, false) => "(principal: P, ",
                (true, true) => "(principal: Option<P>, ",
            };
            let path = |name: String| {
                Signature::item(format!("{}::{}::{name}", self.root, definition.module))
            };
            let [request, response, error] =
                type_names(operation).map(|name| path(name.to_string()));
            let signature = Signature::text(principal).and(request);
            let signature = signature.then(") -> Result<").and(response).then(", ");
            let signature = signature.and(error).then(">");
            Member::new(&operation.name, operation_key(operation), signature).of(api, operation)
        });
        item.members = methods.collect();
        item.span = item.members.first().and_then(|first| first.span);
        item
    }

    /// Returns the struct of a request, and the enum of its bodies if there are several media types.
    fn request(&self, operation: &Operation) -> Vec<Item> {
        let api = self.api;
        let declared = &api.contract.operations[operation.index];
        let name = format!("{}Request", operation.pascal);
        let mut item = self.of_operation(operation, &name, Form::Struct);
        item.constructor = Constructor::Literal;
        let is_clone = request::is_clone(operation);
        if is_clone {
            item.traits.insert("Clone".to_owned());
        }
        for parameter in &operation.parameters {
            let signature = Signature::of(api, &parameter.ty);
            let signature = signature.optional(request::is_optional(parameter));
            let mut member = Member::new(&parameter.name, parameter_key(parameter), signature);
            member.span = parameter_span(api, operation, parameter);
            item.members.push(member);
        }
        if request::upgrades(operation) {
            let name = request::upgrade_field(operation).to_string();
            let signature = Signature::text("Upgrade");
            item.members
                .push(Member::new(&name, "the connection", signature));
        }
        let Some(body) = operation
            .body
            .as_ref()
            .filter(|body| !body.media.is_empty())
        else {
            return vec![item];
        };
        let (ty, choices) = if let [only] = body.media.as_slice() {
            (self.media_type(only, true), None)
        } else {
            let name = format!("{}Body", operation.pascal);
            let mut choices = self.of_operation(operation, &name, Form::Enum);
            choices.members = self.choices(&body.media, true);
            choices.traits.clone_from(&item.traits);
            (Signature::item(choices.path.clone()), Some(choices))
        };
        let mut member = Member::new("body", "the body", ty.optional(!body.required));
        member.span = declared.request_body.as_ref().map(|body| body.span);
        item.members.push(member);
        std::iter::once(item).chain(choices).collect()
    }

    /// Returns the enums of the successes and errors of an operation, and the structs of its own
    /// that their variants hold.
    fn responses(&self, operation: &Operation) -> Vec<Item> {
        let api = self.api;
        let declared = &api.contract.operations[operation.index].responses;
        let mut items = Vec::new();
        for is_error in [false, true] {
            let suffix = if is_error { "Error" } else { "Response" };
            let name = format!("{}{suffix}", operation.pascal);
            let mut item = self.of_operation(operation, &name, Form::Enum);
            let listed = response::listed(operation, is_error);
            if listed.iter().all(|response| payload::is_clone(response)) {
                item.traits.insert("Clone".to_owned());
            }
            for response in listed {
                let held = self.held(operation, response);
                let wire = format!("the response {}", response.status);
                let is_fixed = matches!(response.status, StatusKey::Code(_));
                let is_telling = response.is_success() || is_struct(operation, response);
                let mut member = Member::new(&response.name, wire, held);
                member.converts = is_fixed && is_telling && !member.signature.pieces().is_empty();
                member.span = declared.get(response.index).map(|declared| declared.span);
                item.members.push(member);
            }
            // Two variants of one type have no conversions, which would conflict.
            let all: Vec<Signature> = item
                .members
                .iter()
                .map(|member| member.signature.clone())
                .collect();
            for member in &mut item.members {
                let same = all.iter().filter(|other| **other == member.signature);
                member.converts &= same.count() == 1;
            }
            items.push(item);
        }
        for response in &operation.responses {
            if let Payload::Struct(name, false) = Payload::of(&operation.pascal, response) {
                let item = self.of_operation(operation, &name.to_string(), Form::Struct);
                let span = declared.get(response.index).map(|declared| declared.span);
                items.extend(self.structure(Item { span, ..item }, response));
            }
        }
        items
    }

    /// Returns what the variant of a response holds besides its status.
    fn held(&self, operation: &Operation, response: &Response) -> Signature {
        let module = &self.api.tags[operation.tag].module;
        match Payload::of(&operation.pascal, response) {
            Payload::Nothing => Signature::default(),
            Payload::Body(media) => self.media_type(&media, false),
            Payload::Handshake => Signature::text("Handshake"),
            Payload::Struct(name, true) => Signature::item(format!(
                "{}::{}::{name}",
                self.root,
                fixed(self.api, "responses")
            )),
            Payload::Struct(name, false) => {
                Signature::item(format!("{}::{module}::{name}", self.root))
            }
        }
    }

    /// Returns the structs of the responses that operations share.
    fn shared_responses(&self) -> Vec<Item> {
        let api = self.api;
        let mut shared: BTreeMap<&str, (&Operation, &Response, BTreeSet<usize>)> = BTreeMap::new();
        for operation in &api.operations {
            for response in operation
                .responses
                .iter()
                .filter(|listed| is_shared(listed))
            {
                if let Some(component) = response.component.as_deref() {
                    let entry = shared.entry(component);
                    let (.., tags) = entry.or_insert((operation, response, BTreeSet::new()));
                    tags.insert(operation.tag);
                }
            }
        }
        let module = fixed(api, "responses");
        let mut items = Vec::new();
        for (component, (operation, response, tags)) in shared {
            let mut item = self.item(&format!("{module}::{component}"), Form::Struct);
            if tags.len() == 1 {
                item.feature = tags.first().map(|tag| api.tags[*tag].feature.clone());
            }
            let declared = &api.contract.operations[operation.index].responses;
            item.span = declared.get(response.index).map(|declared| declared.span);
            items.extend(self.structure(item, response));
        }
        items
    }

    /// Returns the struct of a response that has headers or several media types, or is shared, and
    /// the enum of its bodies if there are several media types.
    fn structure(&self, mut item: Item, response: &Response) -> Vec<Item> {
        let api = self.api;
        item.constructor = Constructor::Literal;
        if payload::is_clone(response) {
            item.traits.insert("Clone".to_owned());
        }
        let mut choices = None;
        let body = match response.media.as_slice() {
            [] => None,
            [only] => Some(self.media_type(only, false)),
            several => {
                let path = format!("{}Body", item.path);
                let bodies = Item {
                    form: Form::Enum,
                    constructor: Constructor::Nothing,
                    members: self.choices(several, false),
                    path: path.clone(),
                    ..item.clone()
                };
                choices = Some(bodies);
                Some(Signature::item(path))
            }
        };
        let body = body.map(|ty| Member::new("body", "the body", ty));
        item.members.extend(body);
        for header in &response.headers {
            let ty = Signature::of(api, &header.ty).optional(!header.required);
            let wire = format!("the header `{}`", header.wire);
            let member = Member::new(&header.name, wire, ty);
            item.members.push(member);
        }
        std::iter::once(item).chain(choices).collect()
    }

    /// Returns a variant for each media type.
    fn choices(&self, media: &[Media], is_request: bool) -> Vec<Member> {
        let names = payload::media_names(media);
        let variants = names.iter().zip(media).map(|(name, media)| {
            let wire = format!("the media type `{}`", media.name);
            let ty = self.media_type(media, is_request);
            Member::new(&name.to_string(), wire, ty)
        });
        variants.collect()
    }

    /// Returns the type of a body of one media type.
    fn media_type(&self, media: &Media, is_request: bool) -> Signature {
        let ty = || Signature::of(self.api, media.ty.as_ref().unwrap_or(&TypeRef::Any));
        let sequence = if is_request { "ItemStream" } else { "ItemBody" };
        match media.kind {
            MediaKind::Json | MediaKind::Form | MediaKind::Text => ty(),
            MediaKind::EventStream if !is_request => Signature::text("EventStream"),
            MediaKind::Multipart if is_request => Signature::text("Multipart"),
            MediaKind::Items => ty().within(sequence),
            MediaKind::TypedEvents => ty().within("TypedEvent").within(sequence),
            MediaKind::Parts | MediaKind::PartStream => {
                let of = |ty: &TypeRef| Signature::of(self.api, ty);
                let parts = media.parts.as_ref();
                let parts = parts.expect("a body of parts has their list");
                if media.kind == MediaKind::Parts {
                    positions::whole_signature(parts, &of)
                } else {
                    let stream = if is_request { "PartStream" } else { "PartBody" };
                    positions::item_signature(parts, &of).within(stream)
                }
            }
            MediaKind::EventStream | MediaKind::Multipart | MediaKind::Bytes => {
                Signature::text("ByteStream")
            }
        }
    }
}

/// Returns whether the variant of a response holds a struct of its own.
fn is_struct(operation: &Operation, response: &Response) -> bool {
    matches!(
        Payload::of(&operation.pascal, response),
        Payload::Struct(..)
    )
}
