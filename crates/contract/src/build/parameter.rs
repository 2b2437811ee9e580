//! Parameters of operations, and headers of responses and of parts.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::model::{Dialect, Location, Parameter, ParameterEncoding, SchemaId, Style};
use crate::node::Node;
use crate::node_ref::{NodeRef, address};
use crate::pointer;
use crate::source::Span;

use super::builder::Builder;
use super::fields::{extensions, flag, text};
use super::origins::{OperationSite, ParameterSite};

impl<'a> Builder<'_, 'a> {
    /// Builds the parameters of an operation: those of the path item (`shared`), then the
    /// operation's own. An own parameter takes the place of a shared one with the same name and
    /// location.
    ///
    /// The caller sets the path's span and template in the returned [`OperationSite`].
    pub(super) fn parameters(
        &mut self,
        operation: &NodeRef<'a>,
        shared: Option<&NodeRef<'a>>,
    ) -> (Vec<Parameter>, OperationSite<'a>) {
        let mut merged: Vec<(Parameter, &'a str, Span)> = Vec::new();
        let mut positions: HashMap<(&'a str, Location), usize> = HashMap::new();
        let mut duplicates = Vec::new();
        for list in shared
            .cloned()
            .into_iter()
            .chain(operation.key("parameters"))
        {
            let mut here = HashSet::new();
            for at in list.items() {
                let Some((parameter, name)) = self.parameter(&at) else {
                    continue;
                };
                // A component's name is far from its use, so a diagnostic points at the reference.
                let span = if parameter.component.is_some() {
                    at.node.span
                } else {
                    name.span
                };
                let name = name.as_str().unwrap_or_default();
                if !here.insert((name, parameter.location)) {
                    duplicates.push((name, span));
                }
                match positions.entry((name, parameter.location)) {
                    Entry::Occupied(slot) => merged[*slot.get()] = (parameter, name, span),
                    Entry::Vacant(slot) => {
                        slot.insert(merged.len());
                        merged.push((parameter, name, span));
                    }
                }
            }
        }
        let path_parameters = merged
            .iter()
            .filter(|(parameter, _, _)| parameter.location == Location::Path)
            .map(|(_, name, span)| (*name, *span))
            .collect();
        let all = merged
            .iter()
            .map(|(parameter, name, _)| ParameterSite {
                name,
                location: parameter.location,
                is_whole_query: parameter.is_whole_query,
                schema: parameter.schema,
                has_style: matches!(parameter.encoding, ParameterEncoding::Style { .. }),
            })
            .collect();
        let site = OperationSite {
            node: operation.node,
            document: operation.document,
            parameters: all,
            path_span: operation.node.span,
            template: None,
            path_parameters,
            duplicates,
        };
        let parameters = merged.into_iter().map(|(parameter, _, _)| parameter);
        (parameters.collect(), site)
    }

    /// Builds a parameter, and returns it with the node of its name. Returns `None` if the
    /// parameter is not valid or its reference leads to nothing.
    pub(super) fn parameter(&mut self, at: &NodeRef<'a>) -> Option<(Parameter, &'a Node)> {
        let target = self.resolver.follow(at)?;
        let name = target.node.get("name")?;
        let location = match target.node.get("in")?.as_str()? {
            "path" => Location::Path,
            "query" | "querystring" => Location::Query,
            "header" => Location::Header,
            "cookie" => Location::Cookie,
            _ => return None,
        };
        let built = self.typed(name.as_str()?, location, at, &target)?;
        Some((built, name))
    }

    /// Builds a header of a response or part. Returns `None` for `Content-Type`, which the media
    /// type determines, and for a header that is not valid.
    pub(super) fn header(&mut self, name: &str, at: &NodeRef<'a>) -> Option<Parameter> {
        if name.eq_ignore_ascii_case("content-type") {
            return None;
        }
        let target = self.resolver.follow(at)?;
        target.node.as_object()?;
        self.typed(name, Location::Header, at, &target)
    }

    fn typed(
        &mut self,
        name: &str,
        location: Location,
        at: &NodeRef<'a>,
        target: &NodeRef<'a>,
    ) -> Option<Parameter> {
        let node = target.node;
        if !self.charge(node) {
            return None;
        }
        let is_whole_query = text(node, "in").is_some_and(|location| location == "querystring");
        let (schema, mut encoding) = self.encoding(location, target);
        // This style writes a form too.
        if is_whole_query
            && matches!(&encoding, ParameterEncoding::Content(media) if is_form(media))
        {
            encoding = ParameterEncoding::Style {
                style: Style::Form,
                explode: true,
                allow_reserved: false,
            };
        }
        self.note_examples(target, schema);
        let described = self.sibling(at, target, "description");
        Some(Parameter {
            name: name.to_owned(),
            location,
            is_whole_query,
            required: flag(node, "required"),
            deprecated: flag(node, "deprecated"),
            description: described.or_else(|| text(node, "description")),
            encoding,
            schema,
            component: component(target, &["parameters", "headers"]),
            extensions: extensions(node.as_object().unwrap_or_default()),
            pointer: target.pointer.to_string(),
            span: node.span,
        })
    }

    fn encoding(&mut self, location: Location, at: &NodeRef<'a>) -> (SchemaId, ParameterEncoding) {
        let node = at.node;
        // Of both, only `schema` is used, which the check of the syntax reports.
        let content = at.key("content").filter(|_| node.get("schema").is_none());
        if let Some((entry, media)) = content.and_then(|content| content.entries().next())
            && let Some(media) = self.media_type_at(&media)
        {
            let schema = match media.key("schema") {
                Some(schema) => self.schema(&schema),
                None => self.anything(&media),
            };
            self.note_examples(&media, schema);
            return (schema, ParameterEncoding::Content(entry.key.clone()));
        }
        let schema = match at.key("schema") {
            Some(schema) => self.schema(&schema),
            None => self.anything(at),
        };
        let style = node.get("style").and_then(Node::as_str).and_then(style);
        let style = style.unwrap_or(match location {
            Location::Path | Location::Header => Style::Simple,
            Location::Query | Location::Cookie => Style::Form,
        });
        let explode = node.get("explode").and_then(Node::as_bool);
        let encoding = ParameterEncoding::Style {
            style,
            explode: explode.unwrap_or(matches!(style, Style::Form | Style::Cookie)),
            allow_reserved: flag(node, "allowReserved"),
        };
        (schema, encoding)
    }

    /// Returns the string of a key beside the reference `from`, which in 3.1 replaces that of its
    /// target `to`. Returns `None` in 3.0, or if `from` is not a reference.
    pub(super) fn sibling(
        &self,
        from: &NodeRef<'a>,
        to: &NodeRef<'a>,
        key: &str,
    ) -> Option<String> {
        let is_reference = address(from.node) != address(to.node);
        (is_reference && self.dialect >= Dialect::V31)
            .then(|| text(from.node, key))
            .flatten()
    }
}

/// Returns whether a media type is that of forms.
fn is_form(name: &str) -> bool {
    let essence = name.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

pub(super) fn style(name: &str) -> Option<Style> {
    Some(match name {
        "matrix" => Style::Matrix,
        "label" => Style::Label,
        "simple" => Style::Simple,
        "form" => Style::Form,
        "spaceDelimited" => Style::SpaceDelimited,
        "pipeDelimited" => Style::PipeDelimited,
        "deepObject" => Style::DeepObject,
        "cookie" => Style::Cookie,
        _ => return None,
    })
}

/// Returns the name of a node in `components`, or `None` if it is not a component in one of the
/// given sections.
pub(super) fn component(at: &NodeRef<'_>, sections: &[&str]) -> Option<String> {
    let rest = at.pointer.strip_prefix("/components/")?;
    let (section, name) = rest.split_once('/')?;
    (sections.contains(&section) && !name.contains('/'))
        .then(|| pointer::unescape(name).into_owned())
}
