//! The table of readings: for each mistake, by the rule that reports it, what its author meant.

use super::site::Site;
use super::{ids, labels, operations, schemas, shapes, texts};

/// How a mistake is read in a document of others.
#[derive(Debug)]
pub struct Reading {
    /// The rule that reports the mistake, such as `bad-default`.
    pub rule: &'static str,
    /// The mistake, as the documentation names it.
    pub mistake: &'static str,
    /// The meaning that the mistake is read as, as the documentation names it.
    pub meaning: &'static str,
    /// Changes the document. Returns `None` if it is not this mistake. Without a repair, the
    /// contract can be used as it is.
    pub(super) repair: Option<fn(&mut Site<'_>) -> Option<()>>,
    /// When the repair is made.
    pub(super) turn: Turn,
}

/// When a repair is made: one of a later turn waits for a round without any of an earlier turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Before the others: what is named right need not be added and dropped.
    First,
    /// The turn of most repairs.
    Usual,
    /// After the others, which decide what a schema accepts: the turn of dropping the defaults that
    /// it rejects, and of nothing else.
    RejectedDefaults,
}

impl Turn {
    pub(super) const ALL: [Self; 3] = [Self::First, Self::Usual, Self::RejectedDefaults];
}

impl Reading {
    const fn at(self, turn: Turn) -> Self {
        Self { turn, ..self }
    }
}

/// Returns the readings of a rule, in the order in which they are tried.
pub(super) fn of(rule: &str) -> impl Iterator<Item = &'static Reading> {
    READINGS.iter().filter(move |reading| reading.rule == rule)
}

/// Returns a reading with a repair.
pub(super) const fn reading(
    rule: &'static str,
    mistake: &'static str,
    meaning: &'static str,
    repair: fn(&mut Site<'_>) -> Option<()>,
) -> Reading {
    Reading {
        rule,
        mistake,
        meaning,
        repair: Some(repair),
        turn: Turn::Usual,
    }
}

const fn accepted(rule: &'static str, mistake: &'static str, meaning: &'static str) -> Reading {
    Reading {
        rule,
        mistake,
        meaning,
        repair: None,
        turn: Turn::Usual,
    }
}

/// Every reading, in the order of the documentation.
pub static READINGS: &[Reading] = &[
    reading(
        "bad-default",
        "a default that its schema rejects",
        "the default is dropped",
        schemas::drop_default,
    )
    .at(Turn::RejectedDefaults),
    reading(
        "nullable-enum",
        "`nullable: true` beside an `enum` without null (3.0)",
        "null is accepted",
        schemas::list_null,
    ),
    reading(
        "ignored-sibling",
        "`nullable: true` beside `$ref` (3.0)",
        "null is accepted",
        schemas::nullable_reference,
    ),
    reading(
        "wrong-dialect",
        "`nullable: true` in 3.1",
        "null is accepted",
        schemas::nullable,
    ),
    reading(
        "wrong-dialect",
        "a boolean `exclusiveMinimum` in 3.1, or a number there in 3.0",
        "the keyword means what it does in the other version",
        schemas::exclusive_bound,
    ),
    reading(
        "wrong-dialect",
        "a list of types, or the type `null`, in 3.0",
        "the types are accepted, as in 3.1",
        schemas::type_list,
    ),
    reading(
        "unknown-type",
        "the type `any`, alone or in a list",
        "every type is accepted",
        schemas::any_type,
    ),
    reading(
        "unknown-type",
        "a type in other letters, or by the name of another language, such as `String`, `int` or `bool`",
        "the type is that of JSON Schema",
        shapes::named_type,
    )
    .at(Turn::First),
    reading(
        "unknown-type",
        "a format of strings as a type, such as `date` or `uuid`",
        "the type is `string`, with this format if there is no other",
        shapes::format_type,
    )
    .at(Turn::First),
    reading(
        "unknown-type",
        "a misspelt type, such as `strin`",
        "the type is the one that it resembles",
        shapes::misspelt_type,
    )
    .at(Turn::First),
    reading(
        "unknown-mapping",
        "a discriminator's mapping to a schema that does not exist",
        "the entry of the mapping is dropped",
        schemas::drop_mapping,
    ),
    reading(
        "misspelt-keyword",
        "a method in other letters, such as `GET`",
        "the method is in small letters",
        operations::spell_method,
    )
    .at(Turn::First),
    reading(
        "misspelt-keyword",
        "a misspelt field of what is no schema, such as `paramters`, without the right one beside it",
        "the field is the one that it resembles",
        operations::spell_field,
    )
    .at(Turn::First),
    accepted(
        "misspelt-keyword",
        "another unknown keyword that resembles a known one, such as `min_items`",
        "the keyword is an annotation without effect",
    ),
    reading(
        "circular-ref",
        "a child that has its parent in `allOf`, where the parent has the child in `oneOf` or `anyOf`",
        "the child has what the parent says beside these",
        schemas::chosen_child,
    ),
    reading(
        "bad-pattern",
        "a pattern that is no regular expression",
        "the pattern is an annotation, `x-pattern`",
        schemas::note_pattern,
    ),
    accepted(
        "misspelt-section",
        "a misspelt section of the document or of `components`, such as `path`",
        "the section is the one that it resembles",
    ),
    accepted(
        "misplaced-ref",
        "a reference in place of an operation, of the properties of a schema, of another map such as `content` or a section of `components`, or of the text of the document or of a tag",
        "what it leads to is in its place",
    ),
    accepted(
        "duplicate-path",
        "paths that differ only in the names of parameters",
        "clients have the operations of both, and a server serves the first of two with one method",
    ),
    reading(
        "path-parameter-undeclared",
        "a path parameter that is not declared",
        "the parameter is a required string",
        operations::declare_parameter,
    ),
    reading(
        "path-parameter-unused",
        "a path parameter that is not in the path, where one of the path is not declared: one with a name that resembles it, or the only one",
        "the parameter has the name in the path",
        operations::rename_parameter,
    )
    .at(Turn::First),
    reading(
        "path-parameter-unused",
        "a path parameter that is a value in the query of the path, such as `/a?b={b}`",
        "the parameter is in the query, with the name that the value has there",
        labels::query_parameter,
    ),
    reading(
        "path-parameter-unused",
        "a path parameter that the path does not have",
        "the parameter is dropped",
        operations::drop_parameter,
    ),
    reading(
        "query-parameter-undeclared",
        "a value in braces in the query of the path that no parameter has the name of, such as `/a?b={c}`",
        "the parameter of the query that is named in the braces has the name before them; without one, the value is a required string",
        labels::name_parameter,
    ),
    reading(
        "duplicate-template-name",
        "a name that a path has twice",
        "the second is a parameter of its own, declared as the first is, with `_2` behind its name",
        operations::second_parameter,
    ),
    reading(
        "path-parameter-optional",
        "a path parameter that is not required",
        "the parameter is required",
        operations::require_parameter,
    ),
    reading(
        "deep-object-array",
        "`deepObject` for an array whose name ends in `[]`",
        "each item is sent as `name[]=…`, an object in it as JSON",
        operations::bracketed_name,
    ),
    accepted(
        "deep-object-array",
        "`deepObject` for an array, in a query or a form",
        "single values are sent as `name[]=…`, and objects as `name[0][property]=…`",
    ),
    reading(
        "impossible-style",
        "a style that the location does not have, such as `simple` in a query",
        "the style is left out, so that the value is written in the default style of the location; with `simple`, an array is one value with commas",
        operations::usual_style,
    ),
    reading(
        "duplicate-operation-id",
        "an operation id that is used twice",
        "each after the first has its method and path behind it, and a number if that is taken too",
        ids::rename_operation,
    ),
    reading(
        "duplicate-operation-id",
        "an operation id that two paths have, since they refer to one path item",
        "the second path has a copy of the path item, with its method and path behind the id",
        ids::own_item,
    ),
    reading(
        "unknown-security-scheme",
        "a security scheme that is not declared",
        "the scheme is dropped, and with it an alternative of nothing else; if there is no other, no credential is required",
        operations::drop_scheme,
    ),
    reading(
        "unknown-scheme-type",
        "a security scheme of type `basic` or `bearer`, without a name or another scheme",
        "the type is `http`, with this scheme",
        shapes::http_scheme,
    ),
    reading(
        "unknown-location",
        "a location in other letters, such as `in: Query`",
        "the location is in small letters",
        shapes::spell_location,
    ),
    reading(
        "bad-path",
        "a path with operations and without a slash at its start",
        "the path begins with a slash",
        shapes::leading_slash,
    ),
    reading(
        "impossible-status",
        "a status such as `4xx` or `Default`, or with spaces around it",
        "the status is spelt as the standard does, such as `2XX` or `default`",
        operations::spell_status,
    ),
    reading(
        "missing-responses",
        "an operation without `responses`, or with none in them",
        "the operation has the response `default`, with any body, which is bytes",
        operations::default_response,
    ),
    reading(
        "unapplied-schema",
        "a body of `*/*` or `application/*` whose schema is an object, array, number or boolean",
        "the body is JSON, if `Content-Type` says so",
        operations::json_body,
    ),
    reading(
        "unsupported-version",
        "an unquoted version, such as `openapi: 3.0`",
        "the version is the text as written",
        texts::quote,
    ),
    reading(
        "wrong-type",
        "an unquoted number or boolean for a string, such as `version: 1.0`",
        "the string is the text as written",
        texts::quote,
    ),
    reading(
        "wrong-type",
        "a quoted number or boolean, such as `minimum: \"1\"`",
        "the value is what is in the quotes",
        texts::unquote,
    ),
    reading(
        "wrong-type",
        "`required: true` or `false` in a schema, as in drafts of JSON Schema before 4",
        "`true` adds the property to the `required` of its object; `false`, and either in a schema that is no property, has no effect",
        schemas::own_required,
    ),
    reading(
        "wrong-type",
        "null for a text, such as `description`",
        "the key is left out; a scope has an empty description",
        texts::drop_null_text,
    ),
    reading(
        "wrong-type",
        "null for an array, an object or a schema",
        "the key is left out; in a security requirement, null is an empty list of scopes; a schema, property or media type with a name is an empty object",
        texts::drop_null,
    ),
    reading(
        "wrong-type",
        "an empty list for an object or a schema, or an empty object for a list, unless nothing would be accepted, or no credential needed",
        "it is empty, in the right shape",
        shapes::empty_shape,
    ),
    reading(
        "wrong-type",
        "one text for the list `tags`, one name of a property for `required`, or one requirement for the list `security`",
        "the list has this item",
        shapes::one_item,
    ),
    reading(
        "wrong-type",
        "the name of a security scheme for a requirement of it",
        "the scheme is required, without scopes",
        shapes::named_scheme,
    ),
    reading(
        "wrong-type",
        "`examples` that are a list for a map, or a map for a list",
        "the examples are dropped",
        shapes::drop_examples,
    ),
    reading(
        "wrong-type",
        "`discriminator` as in Swagger 2.0, the name of the property",
        "the property has this name",
        shapes::named_discriminator,
    ),
    reading(
        "impossible-bounds",
        "a lower bound above its upper bound, or a `multipleOf` that is not above zero",
        "both bounds are dropped, or the `multipleOf`",
        schemas::drop_bounds,
    ),
    accepted(
        "yaml-indentation",
        "a line inside of brackets or quotes that is indented too little (YAML)",
        "the line belongs to what the brackets or quotes belong to",
    ),
];
