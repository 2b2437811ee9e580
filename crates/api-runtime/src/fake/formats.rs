//! Regular expressions of the formats of strings.

/// A format of strings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    name: &'static str,
    /// The strings that are made. Names and addresses are those that are reserved for documents (RFC
    /// 2606, RFC 5737, RFC 3849), so that nobody is called by mistake.
    pub(super) ours: &'static str,
    /// The strings that are made if none of those has the length or the pattern of its schema.
    pub(super) any: &'static str,
}

impl Format {
    /// Returns the format with a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        FORMATS.into_iter().find(|format| format.name == name)
    }
}

const fn format(name: &'static str, ours: &'static str, any: &'static str) -> Format {
    Format { name, ours, any }
}

const OUR_HOST: &str = r"[a-z][a-z0-9]{0,12}\.example\.com";
const HOST: &str =
    r"[a-z][a-z0-9]{0,40}(-[a-z0-9]{1,20})?(\.[a-z][a-z0-9]{0,40}(-[a-z0-9]{1,20})?)*";
const OUR_MAIL: &str = r"[a-z]{1,12}@example\.com";
const MAIL: &str =
    r"[a-zA-Z0-9_+-]{1,30}(\.[a-zA-Z0-9_+-]{1,30})?@[a-z][a-z0-9-]{0,40}(\.[a-z]{1,40})*";
const OUR_URI: &str = r"https://example\.com/[a-z0-9]{0,24}";
const URI: &str = r"[a-z][a-z0-9+.-]*:(//[a-z0-9.-]+(:[0-9]{1,4})?)?(/[a-zA-Z0-9._~-]*)*(\?[a-zA-Z0-9=&]*)?(#[a-zA-Z0-9]*)?";
const OUR_REFERENCE: &str = r"(https://example\.com)?/[a-z0-9]{0,24}";
const REFERENCE: &str =
    r"([a-z][a-z0-9+.-]*:)?(/[a-zA-Z0-9._~-]+)*/?(\?[a-zA-Z0-9=&]*)?(#[a-zA-Z0-9]*)?";

const FORMATS: [Format; 20] = [
    format(
        "byte",
        "([a-zA-Z0-9]{4}){0,6}",
        "([a-zA-Z0-9+/]{4})*([a-zA-Z0-9+/][AQgw]==|[a-zA-Z0-9+/]{2}[AEIMQUYcgkosw048]=)?",
    ),
    format(
        "date",
        "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
        "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
    ),
    format(
        "date-time",
        r"20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z",
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])",
    ),
    format(
        "duration",
        "P([1-9][0-9]{0,2}D|T[1-9][0-9]{0,2}[HMS])",
        "P([0-9]+W|[0-9]+[YMD](T[0-9]+[HMS])?|T[0-9]+[HMS])",
    ),
    format("email", OUR_MAIL, MAIL),
    format("hostname", OUR_HOST, HOST),
    format(
        "http-date",
        "Fri, 31 Dec 1999 23:[0-5][0-9]:[0-5][0-9] GMT",
        "Fri, 31 Dec 1999 ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9] GMT",
    ),
    format("idn-email", OUR_MAIL, MAIL),
    format("idn-hostname", OUR_HOST, HOST),
    format(
        "ipv4",
        r"192\.0\.2\.(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])",
        r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])",
    ),
    format(
        "ipv6",
        "2001:db8(:[1-9a-f][0-9a-f]{0,3}){6}",
        "([1-9a-f][0-9a-f]{0,3}(:[1-9a-f][0-9a-f]{0,3}){0,2})?::([1-9a-f][0-9a-f]{0,3}(:[1-9a-f][0-9a-f]{0,3}){0,2})?|([1-9a-f][0-9a-f]{0,3}:){7}[1-9a-f][0-9a-f]{0,3}",
    ),
    format("iri", OUR_URI, URI),
    format("iri-reference", OUR_REFERENCE, REFERENCE),
    format("json-pointer", "(/[a-z]{1,8}){0,3}", "(/[a-zA-Z0-9_.-]*)*"),
    format("regex", r"\^[a-z]{1,12}\$", r"\^?[a-zA-Z0-9_-]*\$?"),
    format(
        "relative-json-pointer",
        "[0-9](/[a-z]{1,8}){0,3}",
        "(0|[1-9][0-9]*)(/[a-zA-Z0-9_.-]*)*",
    ),
    format(
        "time",
        "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z",
        r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])",
    ),
    format("uri", OUR_URI, URI),
    format("uri-reference", OUR_REFERENCE, REFERENCE),
    format(
        "uuid",
        "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    ),
];
