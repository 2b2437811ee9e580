//! Multipart bodies whose parts have positions and no names (OpenAPI 3.2, "Encoding By Position"):
//! what each part holds, and what of the contract generated code does not apply.

mod notes;

use crate::model::{
    Contract, Dialect, Keywords, MediaType, Parameter, PropertyEncoding, SchemaId, SchemaKind,
    Types,
};

/// The maximum number of positions that are described by themselves.
pub const MOST_POSITIONS: usize = 12;

/// The parts of a multipart body, by position.
#[derive(Debug, Clone)]
pub struct Positions<'c> {
    /// The parts whose positions are described by themselves, at most [`MOST_POSITIONS`].
    pub prefix: Vec<Position<'c>>,
    /// All further parts.
    pub item: Box<Position<'c>>,
    /// The least number of parts.
    pub least: usize,
    /// The greatest number of parts.
    pub most: Option<usize>,
    /// Whether the parts are read and sent one by one (`itemSchema`).
    pub is_streamed: bool,
    /// Whether the media type is `multipart/form-data`, whose parts need a name in a header.
    pub is_form: bool,
}

/// A part of a multipart body.
#[derive(Debug, Clone)]
pub struct Position<'c> {
    /// What the part holds.
    pub content: PartContent<'c>,
    /// The schema of the value.
    pub schema: Option<SchemaId>,
    /// The media types that the part may have; empty for any.
    pub media_types: Vec<String>,
    /// The headers of the part, without `Content-Type`.
    pub headers: Vec<&'c Parameter>,
}

/// What a part holds.
#[derive(Debug, Clone)]
pub enum PartContent<'c> {
    /// JSON of the schema.
    Json,
    /// One value of the schema, as text.
    Text,
    /// Bytes.
    Bytes,
    /// Parts.
    Parts(Positions<'c>),
    /// Nothing: the schema accepts no such part.
    Nothing,
}

/// Something that generated code does not apply to the parts of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unapplied {
    /// The rule that reports it.
    pub code: &'static str,
    /// What is not applied, and why.
    pub message: String,
    /// What to write in its place.
    pub help: &'static str,
}

/// Returns the parts of a body that has positions and no names, with all that is not applied to them.
/// Returns no parts for any other body, and for one whose positions are too many.
#[must_use]
pub fn positions<'c>(
    contract: &'c Contract,
    media: &'c MediaType,
) -> (Option<Positions<'c>>, Vec<Unapplied>) {
    let mut reader = Reader {
        contract,
        unapplied: Vec::new(),
    };
    let essence = essence(&media.name);
    if !essence.starts_with("multipart/") {
        return (None, Vec::new());
    }
    reader.named(&media.encoding, false);
    let is_array = |schema: SchemaId| reader.array(schema).is_some();
    let by_position = !media.prefix_encoding.is_empty() || media.item_encoding.is_some();
    let has_array = contract.dialect >= Dialect::V32 && media.schema.is_some_and(is_array);
    if media.item_schema.is_none() && !has_array {
        if by_position {
            reader.add(
                "unapplied-encoding",
                "parts have positions only in a body whose schema is an array, or that has an `itemSchema`",
                "write `schema` with `type: array`, or `itemSchema`",
            );
        }
        return (None, reader.unapplied);
    }
    // Parts with names have an object.
    if !media.encoding.is_empty() {
        return (None, reader.unapplied);
    }
    let given = Given {
        prefix: &media.prefix_encoding,
        item: media.item_encoding.as_ref(),
        is_form: essence == "multipart/form-data",
    };
    let found = match media.item_schema {
        Some(item) => Some(reader.streamed(item, media.schema.is_some(), given)),
        None => media.schema.map(|schema| reader.whole(schema, given)),
    };
    let found = found.filter(|found| {
        let is_fit = found.prefix.len() <= MOST_POSITIONS;
        if !is_fit {
            reader.unapplied.push(Unapplied {
                code: "unapplied-encoding",
                message: format!(
                    "{} positions are described by themselves, and at most {MOST_POSITIONS} have types of their own, so the parts are passed on as bytes",
                    found.prefix.len()
                ),
                help: "describe the parts from some position on by `items` and `itemEncoding`",
            });
        }
        is_fit
    });
    (found, reader.unapplied)
}

/// The encodings of a body or a part.
#[derive(Clone, Copy)]
struct Given<'c> {
    prefix: &'c [PropertyEncoding],
    item: Option<&'c PropertyEncoding>,
    is_form: bool,
}

impl<'c> Given<'c> {
    /// Returns the encoding of the part with this index.
    fn at(self, at: usize) -> Option<&'c PropertyEncoding> {
        self.prefix.get(at).or(self.item)
    }
}

/// Reads positions, and notes what is not applied.
struct Reader<'c> {
    contract: &'c Contract,
    unapplied: Vec<Unapplied>,
}

impl<'c> Reader<'c> {
    /// Returns the parts of an array.
    fn whole(&mut self, schema: SchemaId, given: Given<'c>) -> Positions<'c> {
        let array = self.array(schema);
        if let Some(array) = array {
            self.note_array(array);
        }
        let schemas = array.map_or(&[][..], |array| &array.prefix_items);
        let rest = array.and_then(|array| {
            array.items.or_else(|| {
                let rest = array.unevaluated_items?;
                self.accepts_nothing(rest).then_some(rest)
            })
        });
        let prefix = (0..schemas.len().max(given.prefix.len())).map(|at| {
            let schema = schemas.get(at).copied().or(rest);
            self.position(schema, given.at(at))
        });
        let prefix: Vec<_> = prefix.collect();
        let item = Box::new(self.position(rest, given.item));
        let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let closed = matches!(item.content, PartContent::Nothing).then_some(prefix.len());
        let most = array.and_then(|array| array.max_items).map(number);
        Positions {
            most: most.into_iter().chain(closed).min(),
            least: array.and_then(|array| array.min_items).map_or(0, number),
            prefix,
            item,
            is_streamed: false,
            is_form: given.is_form,
        }
    }

    /// Returns the parts of a body that is read and sent one by one.
    fn streamed(&mut self, item: SchemaId, has_schema: bool, given: Given<'c>) -> Positions<'c> {
        if has_schema {
            self.add(
                "unapplied-schema",
                "the parts are read one by one by `itemSchema`, so `schema` is not applied to all of them",
                "remove `itemSchema`, or `schema`",
            );
        }
        let prefix = (0..given.prefix.len()).map(|at| self.position(Some(item), given.at(at)));
        let mut prefix: Vec<_> = prefix.collect();
        let mut last = self.position(Some(item), given.item);
        let kind = std::mem::discriminant(&last.content);
        let is_same = |position: &Position<'c>| std::mem::discriminant(&position.content) == kind;
        let is_nested = matches!(last.content, PartContent::Parts(_)) && !prefix.is_empty();
        if is_nested || !prefix.iter().all(is_same) {
            self.add(
                "unapplied-schema",
                "the media types of `prefixEncoding` and `itemEncoding` make values of several kinds, so `itemSchema` is not applied and each part is passed on as bytes",
                "write media types of one kind, or `schema` with `prefixItems`",
            );
            for position in prefix.iter_mut().chain([&mut last]) {
                position.content = PartContent::Bytes;
            }
        }
        Positions {
            prefix,
            item: Box::new(last),
            least: 0,
            most: None,
            is_streamed: true,
            is_form: given.is_form,
        }
    }

    fn position(
        &mut self,
        schema: Option<SchemaId>,
        encoding: Option<&'c PropertyEncoding>,
    ) -> Position<'c> {
        let declared = encoding.and_then(|encoding| encoding.content_type.as_deref());
        let media_types: Vec<String> = declared.map_or_else(
            || self.usual(schema).into_iter().map(str::to_owned).collect(),
            |declared| listed(declared).map(str::to_owned).collect(),
        );
        let headers = encoding.map_or(&[][..], |encoding| &encoding.headers);
        let is_declared = |header: &&Parameter| !header.name.eq_ignore_ascii_case("content-type");
        for header in headers.iter().filter(is_declared) {
            self.note_header(header);
        }
        Position {
            content: self.content(schema, encoding, &media_types),
            schema,
            media_types,
            headers: headers.iter().filter(is_declared).collect(),
        }
    }

    fn content(
        &mut self,
        schema: Option<SchemaId>,
        encoding: Option<&'c PropertyEncoding>,
        media_types: &[String],
    ) -> PartContent<'c> {
        if schema.is_some_and(|schema| self.accepts_nothing(schema)) {
            return PartContent::Nothing;
        }
        if let ([only], Some(schema), Some(encoding)) = (media_types, schema, encoding)
            && essence(only).starts_with("multipart/")
        {
            self.named(&encoding.encoding, true);
            if encoding.encoding.is_empty() && self.array(schema).is_some() {
                let parts = self.whole(
                    schema,
                    Given {
                        prefix: &encoding.prefix_encoding,
                        item: encoding.item_encoding.as_deref(),
                        is_form: essence(only) == "multipart/form-data",
                    },
                );
                if parts.prefix.len() <= MOST_POSITIONS {
                    return PartContent::Parts(parts);
                }
                self.add(
                    "unapplied-encoding",
                    "a part has more positions than have types of their own, so it is passed on as bytes",
                    "describe its parts from some position on by `items` and `itemEncoding`",
                );
            }
            return PartContent::Bytes;
        }
        if let Some(encoding) = encoding {
            let has_nested = !encoding.encoding.is_empty()
                || !encoding.prefix_encoding.is_empty()
                || encoding.item_encoding.is_some();
            if has_nested {
                self.add(
                    "unapplied-encoding",
                    "a part has encodings of its parts, and its `contentType` is no single `multipart` type",
                    "write `contentType: multipart/mixed`, or remove the encodings within",
                );
            }
            if encoding.style.is_some() || encoding.explode.is_some() {
                self.add(
                    "unapplied-encoding",
                    "`style` and `explode` are not applied to parts with positions",
                    "remove them, and write `contentType`",
                );
            }
        }
        let all = |is: &dyn Fn(&str) -> bool| {
            !media_types.is_empty() && media_types.iter().all(|name| is(name))
        };
        let types = schema.map_or(Types::default(), |schema| self.types(schema));
        let structured = Types::OBJECT.with(Types::ARRAY);
        if all(&crate::media_type::is_json) {
            PartContent::Json
        } else if all(&|name| essence(name).starts_with("text/"))
            && types.0 & structured.0 == 0
            && types != Types::default()
            && !schema.is_some_and(|schema| self.is_binary(schema))
        {
            PartContent::Text
        } else {
            PartContent::Bytes
        }
    }

    /// Returns the media type of a part without `contentType`; none for any.
    fn usual(&self, schema: Option<SchemaId>) -> Option<&'static str> {
        let schema = schema?;
        let types = self.types(schema).without(Types::NULL);
        if types.is_empty() || self.is_binary(schema) {
            None
        } else if types.0 & Types::OBJECT.with(Types::ARRAY).0 == 0 {
            Some("text/plain")
        } else {
            Some("application/json")
        }
    }

    /// Returns the types that a schema allows, or none if it has no `type`.
    fn types(&self, schema: SchemaId) -> Types {
        self.keywords(schema)
            .and_then(|keywords| {
                let own = keywords.types;
                own.or_else(|| {
                    let mut parts = keywords.all_of.iter().chain(&keywords.reference);
                    parts.find_map(|part| self.keywords(*part)?.types)
                })
            })
            .unwrap_or_default()
    }

    /// Returns whether a string stands for bytes.
    fn is_binary(&self, schema: SchemaId) -> bool {
        self.keywords(schema).is_some_and(|keywords| {
            keywords.content_encoding.is_some() || keywords.format.as_deref() == Some("binary")
        })
    }

    fn accepts_nothing(&self, schema: SchemaId) -> bool {
        let schema = self.contract.schema(self.contract.resolve(schema));
        matches!(schema.kind, SchemaKind::Bool(false))
    }

    fn keywords(&self, schema: SchemaId) -> Option<&'c Keywords> {
        match &self.contract.schema(self.contract.resolve(schema)).kind {
            SchemaKind::Bool(_) => None,
            SchemaKind::Object(keywords) => Some(keywords),
        }
    }

    /// Returns the keywords of a schema that is one of arrays.
    fn array(&self, schema: SchemaId) -> Option<&'c Keywords> {
        let keywords = self.keywords(schema)?;
        let is_array = match keywords.types {
            Some(types) => types.without(Types::NULL) == Types::ARRAY,
            None => keywords.items.is_some() || !keywords.prefix_items.is_empty(),
        };
        is_array.then_some(keywords)
    }
}

/// Returns the media types of a list with commas, except those within quotes.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let parts = text.split(move |char: char| {
        is_quoted ^= char == '"';
        char == ',' && !is_quoted
    });
    parts.map(str::trim).filter(|name| !name.is_empty())
}

/// Returns a media type without its parameters, in lower case.
fn essence(name: &str) -> String {
    let essence = name.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}
