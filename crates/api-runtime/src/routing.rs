//! Finds the operation of a request by the path templates of a contract, without a server around it:
//! a generated server routes by this, and so can a tool that asks which operation would get a request.
//!
//! The templates are a tree of segments. Literal segments are matched first, then mixed ones such
//! as `{x}.json`, then parameters. The names of parameters do not matter.
//!
//! The router of axum does not support `/a/{x}` beside `/a/{y}/b`, nor `/a/{x}.json`; contracts
//! have both.
//!
//! A template may end in a label, as in `/a?kind=new` or `/a#new`. The query of a label chooses
//! between the routes of one path; a fragment is never sent, so it chooses nothing.

use percent_encoding::percent_decode_str;

use crate::pairs::Pairs;

/// The start and end of each parameter in the path of a request, in bytes, in the order of the
/// template.
pub type Captures = Vec<(usize, usize)>;

/// The path templates of a contract and the methods of each.
#[derive(Debug, Default)]
pub struct Paths {
    nodes: Vec<Node>,
}

/// A path of a contract, with any query.
#[derive(Debug, Default)]
pub struct Node {
    literals: Vec<(Box<str>, usize)>,
    patterns: Vec<(Vec<Part>, usize)>,
    parameter: Option<usize>,
    methods: Vec<Served>,
}

/// A route of a path.
#[derive(Debug)]
struct Served {
    method: Box<str>,
    /// The names and values that the query of a request must have.
    query: Vec<(Box<str>, Box<str>)>,
    route: usize,
}

/// A literal or a parameter in a segment of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(Box<str>),
    Parameter,
}

/// The result of a search for a path and a method.
#[derive(Debug)]
pub enum Found<'p> {
    /// A route, by the index that it was added with.
    Route(usize, Captures),
    /// A path that exists with other methods only.
    OtherMethods(&'p Node),
    /// A path that does not exist.
    Nothing,
}

impl Paths {
    /// Adds a route. Of two with the same path, query and method the first one stays.
    pub fn add(&mut self, template: &str, method: &str, route: usize) {
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let (template, label) = split_label(template);
        let mut at = 0;
        for segment in template.strip_prefix('/').unwrap_or(template).split('/') {
            at = self.child(at, segment);
        }
        let node = &mut self.nodes[at];
        let query = label_query(label);
        let is_new = |known: &Served| *known.method != *method || known.query != query;
        if node.methods.iter().all(is_new) {
            node.methods.push(Served {
                method: method.into(),
                query,
                route,
            });
            // A route that asks for more is tried before one that any request fits.
            node.methods
                .sort_by_key(|served| std::cmp::Reverse(served.query.len()));
        }
    }

    fn child(&mut self, parent: usize, segment: &str) -> usize {
        let new = self.nodes.len();
        let node = &mut self.nodes[parent];
        let parts = parts(segment);
        let child = match parts.as_slice() {
            [Part::Parameter] => *node.parameter.get_or_insert(new),
            [] | [Part::Literal(_)] => match node
                .literals
                .binary_search_by(|(literal, _)| (**literal).cmp(segment))
            {
                Ok(found) => node.literals[found].1,
                Err(place) => {
                    // Kept sorted for the binary search of each request.
                    node.literals.insert(place, (segment.into(), new));
                    new
                }
            },
            _ => {
                let known = node
                    .patterns
                    .iter()
                    .find(|(known, _)| *known == parts)
                    .map(|(_, found)| *found);
                known.unwrap_or_else(|| {
                    node.patterns.push((parts, new));
                    // The pattern with the most literal text is tried first.
                    node.patterns
                        .sort_by_key(|(parts, _)| std::cmp::Reverse(written_out(parts)));
                    new
                })
            }
        };
        if child == new {
            self.nodes.push(Node::default());
        }
        child
    }

    /// Finds the route of a request. `HEAD` is served by `GET` unless it has a route of its own.
    #[must_use]
    pub fn find(&self, method: &str, path: &str, query: Option<&str>) -> Found<'_> {
        let mut captures = Captures::new();
        let start = usize::from(path.starts_with('/'));
        if self.nodes.is_empty() {
            return Found::Nothing;
        }
        // A path that asks for another query is none of this request, which another template may
        // match, as `/a/{x}` does beside `/a/b?c`.
        let is_for = |node: &Node| {
            node.route(method, query).is_some() || !node.has_method(method) && node.takes(query)
        };
        let node = self
            .walk(0, path, start, &mut captures, &is_for)
            // Any template will do now: it says which methods the path has.
            .or_else(|| self.walk(0, path, start, &mut captures, &|_| true));
        let Some(node) = node else {
            return Found::Nothing;
        };
        match node.route(method, query) {
            Some(served) => Found::Route(served.route, captures),
            // Otherwise the method is there, but only with another query.
            None if !node.has_method(method) => Found::OtherMethods(node),
            None => Found::Nothing,
        }
    }

    /// Returns the node with methods that a path leads to and that `fits` holds for, or `None`. The
    /// search starts at the node `at` with the segment that begins at the byte `start`, and adds
    /// the parameters to `captures`.
    ///
    /// Each node is entered at most once per way through the tree, so the contract bounds the work.
    fn walk(
        &self,
        at: usize,
        path: &str,
        start: usize,
        captures: &mut Captures,
        fits: &impl Fn(&Node) -> bool,
    ) -> Option<&Node> {
        let node = &self.nodes[at];
        // Segments are short: a search that steps by words would take longer to begin.
        let mut bytes = path.as_bytes()[start..].iter();
        let end = bytes
            .position(|byte| *byte == b'/')
            .map_or(path.len(), |slash| start + slash);
        let segment = &path[start..end];
        if let Some(child) = node.literal(segment)
            && let Some(found) = self.step(child, path, end, captures, fits)
        {
            return Some(found);
        }
        for (parts, child) in &node.patterns {
            let before = captures.len();
            if capture(parts, path, start, end, captures)
                && let Some(found) = self.step(*child, path, end, captures, fits)
            {
                return Some(found);
            }
            // The pattern may have matched and led nowhere. The next one starts without its
            // captures.
            captures.truncate(before);
        }
        // An empty segment is no value of a parameter, so `/a/` does not match `/a/{x}`.
        let child = node.parameter.filter(|_| start < end)?;
        captures.push((start, end));
        let found = self.step(child, path, end, captures, fits);
        if found.is_none() {
            captures.pop();
        }
        found
    }

    fn step(
        &self,
        at: usize,
        path: &str,
        end: usize,
        captures: &mut Captures,
        fits: &impl Fn(&Node) -> bool,
    ) -> Option<&Node> {
        if end == path.len() {
            Some(&self.nodes[at]).filter(|node| !node.methods.is_empty() && fits(node))
        } else {
            self.walk(at, path, end + 1, captures, fits)
        }
    }
}

impl Node {
    /// Returns the methods of the path, sorted, each once.
    #[must_use]
    pub fn methods(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.methods.iter().map(|served| &*served.method).collect();
        if names.contains(&"GET") && !names.contains(&"HEAD") {
            // `find` serves `HEAD` by `GET`.
            names.push("HEAD");
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the routes of the path, by the indices that they were added with.
    pub fn routes(&self) -> impl Iterator<Item = usize> {
        self.methods.iter().map(|served| served.route)
    }

    /// Returns the route of a request, which for `HEAD` may be that of `GET`.
    fn route(&self, method: &str, query: Option<&str>) -> Option<&Served> {
        let route = |wanted: &str| {
            let mut served = self.methods.iter();
            served.find(|served| *served.method == *wanted && served.takes(query))
        };
        route(method).or_else(|| if method == "HEAD" { route("GET") } else { None })
    }

    /// Returns whether a route with the method exists, with any query.
    fn has_method(&self, method: &str) -> bool {
        self.methods
            .iter()
            .any(|served| *served.method == *method || method == "HEAD" && &*served.method == "GET")
    }

    /// Returns whether a request with this query is for a route of any method.
    fn takes(&self, query: Option<&str>) -> bool {
        // From the end, where those are that ask for nothing.
        self.methods.iter().rev().any(|served| served.takes(query))
    }

    fn literal(&self, segment: &str) -> Option<usize> {
        let find = |text: &str| {
            let found = self
                .literals
                .binary_search_by(|(literal, _)| (**literal).cmp(text))
                .ok()?;
            Some(self.literals[found].1)
        };
        // Hardly any request escapes a literal segment, so it is decoded only where the plain text
        // is not found.
        find(segment).or_else(|| {
            segment.contains('%').then(|| {
                percent_decode_str(segment)
                    .decode_utf8()
                    .ok()
                    .and_then(|text| find(&text))
            })?
        })
    }
}

impl Served {
    /// Returns whether a request with this query is for the route.
    fn takes(&self, query: Option<&str>) -> bool {
        if self.query.is_empty() {
            return true;
        }
        let pairs = Pairs::of_query(query.unwrap_or_default());
        self.query
            .iter()
            .all(|(name, value)| pairs.values(name).any(|given| pairs.is_name(given, value)))
    }
}

/// Splits a template into what is a path and its label, which begins with `?` or `#`.
fn split_label(template: &str) -> (&str, &str) {
    let mut open = false;
    let end = template.find(|character| {
        match character {
            '{' => open = true,
            '}' => open = false,
            _ => {}
        }
        !open && matches!(character, '?' | '#')
    });
    template.split_at(end.unwrap_or(template.len()))
}

/// Returns the names and values of the query in a label, decoded. Leaves out pairs with a brace, such
/// as `kind={kind}`: they do not restrict the query.
fn label_query(label: &str) -> Vec<(Box<str>, Box<str>)> {
    let Some(query) = label.strip_prefix('?') else {
        return Vec::new();
    };
    let query = query.split('#').next().unwrap_or_default();
    query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(['{', '}']))
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

/// Returns a name or value of a query without its encoding, in which a plus is a blank.
fn decoded(text: &str) -> Box<str> {
    // Compared with pairs of queries, in which a plus is a blank.
    let text = text.replace('+', " ");
    let text = percent_decode_str(&text).decode_utf8_lossy();
    text.into_owned().into_boxed_str()
}

/// Returns the names of a template's parameters, in order.
pub fn names(template: &str) -> impl Iterator<Item = &str> {
    split_label(template)
        .0
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

/// Splits a segment of a template into pieces; braces that do not pair are text.
fn parts(segment: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = segment;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((_, behind)) = after.split_once('}') else {
            break;
        };
        if !before.is_empty() {
            parts.push(Part::Literal(before.into()));
        }
        parts.push(Part::Parameter);
        rest = behind;
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest.into()));
    }
    parts
}

/// Returns the length of the literal text in a pattern.
fn written_out(parts: &[Part]) -> usize {
    parts
        .iter()
        .map(|part| match part {
            Part::Literal(text) => text.len(),
            Part::Parameter => 0,
        })
        .sum()
}

/// Returns whether the segment `path[start..end]` matches a mixed segment of a template, and adds
/// the parameters to `captures`, even if a later part does not match.
///
/// A parameter has at least one character, and as few as possible. The literal after a parameter is
/// searched for once, since a later match would gain nothing; a literal at the end must end the
/// segment.
fn capture(parts: &[Part], path: &str, start: usize, end: usize, captures: &mut Captures) -> bool {
    let mut at = start;
    for (index, part) in parts.iter().enumerate() {
        let rest = &path[at..end];
        let next = match part {
            Part::Literal(text) => rest.starts_with(&**text).then_some(at + text.len()),
            Part::Parameter => {
                // A parameter takes a character at least: no value is empty.
                let least = rest.chars().next().map(|first| at + first.len_utf8());
                least.and_then(|least| match parts[index + 1..] {
                    [] => Some(end),
                    [Part::Parameter, ..] => Some(least),
                    // From the end, since the value may contain the literal too.
                    [Part::Literal(ref text)] => path[least..end]
                        .ends_with(&**text)
                        .then(|| end - text.len()),
                    [Part::Literal(ref text), ..] => {
                        path[least..end].find(&**text).map(|found| least + found)
                    }
                })
            }
        };
        let Some(next) = next else { return false };
        if *part == Part::Parameter {
            captures.push((at, next));
        }
        at = next;
    }
    at == end
}

/// Returns the texts of the parameters of a segment of a template, such as `{name}.json`, in the order of
/// the template, or `None` if the text of a request does not match the segment.
#[must_use]
pub fn segment<'t>(template: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut paths = Paths::default();
    paths.add(&template.replace('/', "%2F"), "", 0);
    match paths.find("", text, None) {
        Found::Route(_, captures) => {
            let texts = captures.into_iter().map(|(start, end)| &text[start..end]);
            Some(texts.collect())
        }
        Found::OtherMethods(_) | Found::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(templates: &[&str]) -> Paths {
        let mut paths = Paths::default();
        for (at, template) in templates.iter().enumerate() {
            paths.add(template, "GET", at);
        }
        paths
    }

    fn find<'p>(paths: &Paths, path: &'p str) -> Option<(usize, Vec<&'p str>)> {
        match paths.find("GET", path, None) {
            Found::Route(route, captures) => Some((
                route,
                captures
                    .iter()
                    .map(|(start, end)| &path[*start..*end])
                    .collect(),
            )),
            _ => None,
        }
    }

    #[test]
    fn concrete_segments_win_and_other_ways_are_tried_again() {
        let paths = paths(&["/a/{x}", "/a/mine", "/a/{y}/b", "/a/mine/c", "/"]);
        assert_eq!(find(&paths, "/a/1"), Some((0, vec!["1"])));
        assert_eq!(find(&paths, "/a/mine"), Some((1, vec![])));
        assert_eq!(find(&paths, "/a/mine/b"), Some((2, vec!["mine"])));
        assert_eq!(find(&paths, "/a/mine/c"), Some((3, vec![])));
        assert_eq!(find(&paths, "/a/1/c"), None);
        assert_eq!(find(&paths, "/a/"), None);
        assert_eq!(find(&paths, "/a"), None);
        assert_eq!(find(&paths, "/a/1/"), None);
        assert_eq!(find(&paths, "/"), Some((4, vec![])));
    }

    #[test]
    fn an_encoded_slash_stays_in_its_segment_and_literals_are_compared_decoded() {
        let paths = paths(&["/project/{id}"]);
        assert_eq!(find(&paths, "/project/a%2Fb"), Some((0, vec!["a%2Fb"])));
        assert_eq!(find(&paths, "/pr%6Fject/a"), Some((0, vec!["a"])));
    }

    #[test]
    fn a_label_asks_for_a_query_with_every_method() {
        let paths = paths(&["/a?kind=new", "/b?kind=new", "/b", "/c#old", "/d?q=a%20b"]);
        let found = |method: &str, path, query| match paths.find(method, path, query) {
            Found::Route(route, _) => Ok(route),
            Found::OtherMethods(_) => Err(405),
            Found::Nothing => Err(404),
        };
        for method in ["GET", "HEAD"] {
            assert_eq!(found(method, "/a", Some("kind=new&x=1")), Ok(0));
            assert_eq!(found(method, "/a", Some("kind=old")), Err(404));
            assert_eq!(found(method, "/a", None), Err(404));
            assert_eq!(found(method, "/b", Some("kind=new")), Ok(1));
            assert_eq!(found(method, "/b", None), Ok(2));
            assert_eq!(found(method, "/c", None), Ok(3));
            assert_eq!(found(method, "/d", Some("q=a+b")), Ok(4));
            assert_eq!(found(method, "/d", Some("q=a%20b")), Ok(4));
        }
        assert_eq!(found("POST", "/a", Some("kind=new")), Err(405));
    }

    #[test]
    fn a_literal_wins_unless_it_asks_for_another_query() {
        let mut paths = paths(&[
            "/f/latest?full",
            "/f/{id}",
            "/g/latest",
            "/g/{id}",
            "/h/a?b",
        ]);
        paths.add("/f/{id}", "DELETE", 7);
        paths.add("/f/latest", "PUT", 8);
        paths.add("/h/{id}", "PUT", 9);
        let found = |method: &str, path, query| match paths.find(method, path, query) {
            Found::Route(route, captures) => Ok((route, captures.len())),
            Found::OtherMethods(node) => Err(node.methods().join(", ")),
            Found::Nothing => Err("nothing".to_owned()),
        };
        assert_eq!(found("GET", "/f/latest", Some("full")), Ok((0, 0)));
        assert_eq!(found("GET", "/f/latest", None), Ok((1, 1)));
        assert_eq!(found("HEAD", "/f/latest", None), Ok((1, 1)));
        assert_eq!(found("PUT", "/f/latest", None), Ok((8, 0)));
        // As without labels, a literal path without the method is not passed over.
        let other = Err("GET, HEAD, PUT".to_owned());
        assert_eq!(found("DELETE", "/f/latest", None), other);
        assert_eq!(found("GET", "/g/latest", None), Ok((2, 0)));
        assert_eq!(found("PUT", "/h/a", None), Ok((9, 1)));
        assert_eq!(found("GET", "/h/a", None), Err("PUT".to_owned()));
        assert_eq!(found("PUT", "/h/a", Some("b")), Err("GET, HEAD".to_owned()));
    }

    #[test]
    fn segments_may_mix_text_and_parameters() {
        let paths = paths(&[
            "/a/{b}.json",
            "/a/{b}",
            "/r/{from}..{to}",
            "/n/v{major}",
            "/t/{a}{b}-{c}-d",
        ]);
        assert_eq!(find(&paths, "/a/x.json"), Some((0, vec!["x"])));
        assert_eq!(find(&paths, "/a/x.y.json"), Some((0, vec!["x.y"])));
        assert_eq!(find(&paths, "/a/x.xml"), Some((1, vec!["x.xml"])));
        assert_eq!(find(&paths, "/a/.json"), Some((1, vec![".json"])));
        assert_eq!(find(&paths, "/r/1..9"), Some((2, vec!["1", "9"])));
        assert_eq!(find(&paths, "/r/...."), Some((2, vec![".", "."])));
        assert_eq!(
            find(&paths, "/t/éx-y-z-d"),
            Some((4, vec!["é", "x", "y-z"]))
        );
        assert_eq!(find(&paths, "/t/x-y-d"), None);
        assert_eq!(find(&paths, "/t/xx--d"), None);
        assert_eq!(find(&paths, "/n/v"), None);
        assert_eq!(find(&paths, "/n/vé"), Some((3, vec!["é"])));
        assert!(names("/r/{from}..{to}/{x}").eq(["from", "to", "x"]));
    }

    #[test]
    fn other_methods_are_listed() {
        let mut paths = paths(&["/a"]);
        paths.add("/a", "PATCH", 7);
        let Found::OtherMethods(node) = paths.find("POST", "/a", None) else {
            panic!("POST is not there");
        };
        assert_eq!(node.methods(), ["GET", "HEAD", "PATCH"]);
        assert!(matches!(paths.find("HEAD", "/a", None), Found::Route(0, _)));
    }
}
