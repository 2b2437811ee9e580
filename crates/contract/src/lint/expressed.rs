//! The schemas of the values that runtime expressions name.

use std::collections::HashMap;

use super::context::Context;
use crate::build::OperationSite;
use crate::expression::{Part, Side};
use crate::model::{Location, SchemaId, SchemaKind, Types};
use crate::node_ref::{NodeRef, address};
use crate::pointer;

/// The number of schemas that are looked at for one expression. If there are more, nothing is known.
const MOST_LOOKS: usize = 200;

/// The schemas of a contract, by which to look up the values that expressions name.
pub(super) struct Expressed<'l, 'a> {
    context: &'l Context<'l, 'a>,
    ids: HashMap<usize, SchemaId>,
}

/// What is known about the text of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form<'l> {
    /// The types, without null.
    pub(super) types: Types,
    /// The format.
    pub(super) format: Option<&'l str>,
}

impl<'l, 'a> Expressed<'l, 'a> {
    pub(super) fn new(context: &'l Context<'l, 'a>) -> Self {
        let nodes = context.origins.nodes.iter().enumerate();
        Self {
            context,
            ids: nodes
                .map(|(index, node)| (address(node), SchemaId::at(index)))
                .collect(),
        }
    }

    /// Returns what is known about each value that a part of a message can be, or nothing if the
    /// value may have any type. `response` is the response that a link is in.
    pub(super) fn forms(
        &self,
        site: &OperationSite<'a>,
        response: Option<&NodeRef<'a>>,
        part: Part<'_>,
    ) -> Vec<Form<'l>> {
        let ids = self.schemas(site, response, part).unwrap_or_default();
        let forms = ids.into_iter().map(|id| self.form(id));
        forms.collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns what is known about the values of a schema, or `None` if they may have any type.
    pub(super) fn form(&self, id: SchemaId) -> Option<Form<'l>> {
        let contract = self.context.contract;
        let SchemaKind::Object(keywords) = &contract.schema(contract.resolve(id)).kind else {
            return None;
        };
        let types = keywords.types?.without(Types::NULL);
        (!types.is_empty()).then_some(Form {
            types,
            format: keywords.format.as_deref(),
        })
    }

    /// Returns the schema of a part of a message in each media type, or `None` if one is not known.
    fn schemas(
        &self,
        site: &OperationSite<'a>,
        response: Option<&NodeRef<'a>>,
        part: Part<'_>,
    ) -> Option<Vec<SchemaId>> {
        let parameter = |location, name: &str| {
            let found = site.parameters.iter().find(|parameter| {
                let is_same = if location == Location::Header {
                    parameter.name.eq_ignore_ascii_case(name)
                } else {
                    parameter.name == name
                };
                is_same && parameter.location == location && parameter.has_style
            });
            found.map(|found| vec![found.schema])
        };
        match part {
            Part::Whole => None,
            Part::Query(name) => parameter(Location::Query, name),
            Part::Path(name) => parameter(Location::Path, name),
            Part::Header(Side::Request, name) => parameter(Location::Header, name),
            Part::Header(Side::Response, name) => {
                let headers = response?.key("headers")?;
                let mut headers = headers.entries();
                let (_, header) =
                    headers.find(|(entry, _)| entry.key.eq_ignore_ascii_case(name))?;
                let header = self.context.resolver.follow(&header)?;
                Some(vec![self.id(&header.key("schema")?)?])
            }
            Part::Body(Side::Request, pointer) => {
                let body = site.at().key("requestBody")?;
                self.of_content(&self.context.resolver.follow(&body)?, pointer)
            }
            Part::Body(Side::Response, pointer) => self.of_content(response?, pointer),
        }
    }

    fn id(&self, schema: &NodeRef<'a>) -> Option<SchemaId> {
        self.ids.get(&address(schema.node)).copied()
    }

    fn of_content(&self, body: &NodeRef<'a>, at: &str) -> Option<Vec<SchemaId>> {
        let content = body.key("content")?;
        let tokens: Vec<_> = pointer::tokens(at).collect();
        let path: Vec<&str> = tokens.iter().map(AsRef::as_ref).collect();
        let ids = content.entries().map(|(_, media)| {
            let media = self.context.resolver.follow(&media)?;
            self.part(self.id(&media.key("schema")?)?, &path, &mut { MOST_LOOKS })
        });
        ids.collect()
    }

    /// Returns the schema that a schema has for a part of its values.
    fn part(&self, id: SchemaId, path: &[&str], looks: &mut usize) -> Option<SchemaId> {
        let Some((token, rest)) = path.split_first() else {
            return Some(id);
        };
        *looks = looks.checked_sub(1)?;
        let contract = self.context.contract;
        let SchemaKind::Object(keywords) = &contract.schema(contract.resolve(id)).kind else {
            return None;
        };
        if let Some(property) = keywords.properties.get(*token) {
            return self.part(*property, rest, looks);
        }
        let is_index = token.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(items) = keywords.items
            && is_index
            && keywords.prefix_items.is_empty()
        {
            return self.part(items, rest, looks);
        }
        let mut parts = keywords.all_of.iter().chain(&keywords.reference);
        parts.find_map(|part| self.part(*part, path, looks))
    }
}
