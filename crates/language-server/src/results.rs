//! The results of requests, by their methods.

use gen_lsp_types::{
    CodeActionParams, CodeLensParams, CompletionParams, CompletionResponse, DefinitionParams,
    DefinitionResponse, DocumentSymbolParams, DocumentSymbolResponse, HoverParams,
    PrepareRenameParams, ReferenceParams, RenameParams, TextDocumentPositionParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::texts::Texts;
use crate::world::{Request, World};
use crate::{actions, completion, hover, lens, navigate, rename, uri};

/// Why a request has no result.
pub(crate) enum Refusal {
    /// The server does not know the method.
    Method,
    /// The parameters are not those of the method.
    Parameters(String),
    /// What was asked for cannot be done, for this reason.
    Refused(String),
}

/// Returns the result of a request.
///
/// # Errors
///
/// Returns why there is none.
pub(crate) fn result(
    world: &World,
    texts: &Texts,
    method: &str,
    parameters: Value,
) -> Result<Value, Refusal> {
    let at = |at: &TextDocumentPositionParams| {
        let path = contract::identity(&uri::path(&at.text_document.uri));
        Request::new(world, texts, &path, at.position)
    };
    match method {
        "textDocument/definition" => {
            let asked: DefinitionParams = read(parameters)?;
            let request = at(&asked.text_document_position_params);
            let places = request.map(|request| navigate::definition(&request));
            let places = places.filter(|places| !places.is_empty());
            write(places.map(|places| DefinitionResponse::Definition(places.into())))
        }
        "textDocument/references" => {
            let asked: ReferenceParams = read(parameters)?;
            let with = asked.context.include_declaration;
            let request = at(&asked.text_document_position_params);
            write(request.map(|request| navigate::references(&request, with)))
        }
        "textDocument/hover" => {
            let asked: HoverParams = read(parameters)?;
            let request = at(&asked.text_document_position_params);
            write(request.and_then(|request| hover::hover(&request)))
        }
        "textDocument/completion" => {
            let asked: CompletionParams = read(parameters)?;
            let at = asked.text_document_position_params;
            let path = contract::identity(&uri::path(&at.text_document.uri));
            let request = Request::typing(world, texts, &path, at.position);
            let list = request.map(|request| completion::complete(&request));
            write(list.map(CompletionResponse::CompletionList))
        }
        "textDocument/prepareRename" => {
            let asked: PrepareRenameParams = read(parameters)?;
            match at(&asked.text_document_position_params) {
                None => Ok(Value::Null),
                Some(request) => write(rename::prepare(&request).map_err(Refusal::Refused)?),
            }
        }
        "textDocument/rename" => {
            let asked: RenameParams = read(parameters)?;
            match at(&asked.text_document_position_params) {
                None => Ok(Value::Null),
                Some(request) => {
                    let edit = rename::rename(&request, &asked.new_name);
                    write(edit.map_err(Refusal::Refused)?)
                }
            }
        }
        "textDocument/documentSymbol" => {
            let asked: DocumentSymbolParams = read(parameters)?;
            let path = contract::identity(&uri::path(&asked.text_document.uri));
            let parsed = world.parse(texts, &path);
            let outline = parsed.map(|parsed| navigate::outline(&parsed, world.encoding));
            write(outline.map(DocumentSymbolResponse::DocumentSymbolList))
        }
        "textDocument/codeAction" => {
            let asked: CodeActionParams = read(parameters)?;
            let path = contract::identity(&uri::path(&asked.text_document.uri));
            write(actions::actions(world, texts, &path, asked.range))
        }
        "textDocument/codeLens" => {
            let asked: CodeLensParams = read(parameters)?;
            let path = contract::identity(&uri::path(&asked.text_document.uri));
            write(lens::lenses(world, texts, &path))
        }
        _ => Err(Refusal::Method),
    }
}

fn read<P: DeserializeOwned>(parameters: Value) -> Result<P, Refusal> {
    serde_json::from_value(parameters).map_err(|error| Refusal::Parameters(error.to_string()))
}

fn write(result: impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(result).map_err(|error| Refusal::Refused(error.to_string()))
}
