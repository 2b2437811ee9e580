//! `--all`: every item of a list, page by page.

use http::StatusCode;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use serde_json::Value;

use super::call;
use super::description::{Input, Paging};
use super::failure::Failure;
use super::input::Arguments;
use super::output;
use super::settings::Settings;
use crate::client::Transport;

/// The maximum number of bytes of pages whose items are collected to be printed together. `jsonl`
/// prints each page at once, and has no bound.
const MOST_BYTES: usize = 256 << 20;
/// The progress of a list whose pages say how many items there are.
const BAR: &str = "{bar:40} {human_pos} of {human_len} items";
/// The progress of any other list.
const COUNT: &str = "{spinner} {human_pos} items";

/// Prints every item of a list.
pub(super) async fn all(
    settings: &Settings<'_>,
    transport: &Transport,
    arguments: Arguments,
) -> Result<(), Failure> {
    let Some(paging) = &settings.operation.paging else {
        return Ok(());
    };
    let mut walk = Walk::new(settings, paging, arguments)?;
    let prints_at_once =
        output::format(settings)? == "jsonl" && settings.sources.flag("query").is_none();
    let mut collected = Vec::new();
    let mut status = StatusCode::OK;
    let (mut bytes, mut items) = (0, 0);
    while !walk.ended {
        let reply = call::send(settings, transport, &walk.arguments).await?;
        status = reply.status();
        let page = call::body(reply).await?;
        bytes += page.len();
        let page = walk.turn(&page)?;
        items += page.len();
        walk.report(items);
        if prints_at_once {
            let printed = || output::value(settings, status, Value::Array(page));
            walk.progress.suspend(printed)?;
        } else if bytes > MOST_BYTES {
            return Err(Failure::other(format!(
                "the list has more than {MOST_BYTES} bytes; print it page by page with --output jsonl"
            )));
        } else {
            collected.extend(page);
        }
    }
    walk.progress.finish_and_clear();
    if prints_at_once {
        return Ok(());
    }
    output::value(settings, status, Value::Array(collected))
}

/// A walk over the pages of a list.
struct Walk {
    paging: &'static Paging,
    /// The parameter that takes the key of the last item.
    cursor: &'static Input,
    arguments: Arguments,
    /// The property that is the key.
    key: String,
    total: Option<u64>,
    ended: bool,
    /// Shown on a terminal alone.
    progress: ProgressBar,
}

impl Walk {
    fn new(
        settings: &Settings<'_>,
        paging: &'static Paging,
        arguments: Arguments,
    ) -> Result<Self, Failure> {
        let inputs = &settings.operation.parameters;
        let cursor = inputs.iter().find(|input| input.name == paging.cursor);
        let cursor = cursor.ok_or_else(|| Failure::other("the list has no cursor"))?;
        let is_cursor = |(input, _): &(&'static Input, Value)| std::ptr::eq(*input, cursor);
        if arguments.parameters.iter().any(is_cursor) {
            let problem = format!("--{} and --all contradict each other", cursor.flag);
            return Err(Failure::usage(problem));
        }
        let mut given = arguments.parameters.iter();
        let order = given.find(|(input, _)| Some(&input.name) == paging.order.as_ref());
        let order = order.and_then(|(_, value)| value.as_str());
        Ok(Self {
            paging,
            cursor,
            key: order.unwrap_or(&paging.key).to_owned(),
            arguments,
            total: None,
            ended: false,
            progress: ProgressBar::no_length()
                .with_style(style(COUNT))
                .with_finish(ProgressFinish::AndClear),
        })
    }

    /// Returns the items of a page, and sets the cursor to the last of them.
    ///
    /// The list ends with a page without items, or with a first page that has all of them: as in the
    /// generated client, a short page is not the end.
    fn turn(&mut self, page: &[u8]) -> Result<Vec<Value>, Failure> {
        let mut page: Value = serde_json::from_slice(page)
            .map_err(|error| Failure::other(format!("a page is not JSON ({error})")))?;
        let count = self.paging.count.as_ref();
        let count = count.and_then(|name| page.get(name)?.as_u64());
        self.total = count.or(self.total);
        let Some(Value::Array(items)) = page.get_mut(&self.paging.items).map(Value::take) else {
            let name = &self.paging.items;
            return Err(Failure::other(format!("a page has no list `{name}`")));
        };
        let Some(last) = items.last() else {
            self.ended = true;
            return Ok(items);
        };
        let before = self.arguments.parameters.last();
        let before = before.filter(|(input, _)| std::ptr::eq(*input, self.cursor));
        if before.is_none() && count.is_some_and(|count| items.len() as u64 >= count) {
            self.ended = true;
            return Ok(items);
        }
        let key = last.get(&self.key).filter(|key| !key.is_null()).cloned();
        let Some(key) = key else {
            let key = &self.key;
            return Err(Failure::other(format!(
                "the last item of a page has no `{key}`, after which the next page starts"
            )));
        };
        if before.is_some_and(|(_, before)| *before == key) {
            return Err(Failure::other(
                "the list has no end: the API repeats a page",
            ));
        }
        if before.is_some() {
            // The cursor of the page before, which is the last parameter.
            self.arguments.parameters.pop();
        }
        self.arguments.parameters.push((self.cursor, key));
        Ok(items)
    }

    /// Shows how far the walk is.
    fn report(&self, items: usize) {
        if let Some(total) = self.total {
            self.progress.set_length(total);
            self.progress.set_style(style(BAR));
        }
        self.progress.set_position(items as u64);
    }
}

/// Returns a style of progress. The templates are constants, so that the usual style is only for the
/// compiler.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
