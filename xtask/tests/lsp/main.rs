//! Edits documents through `cargo xtask lsp`, as an editor does: every test speaks the protocol to
//! the real process.

mod bounds;
mod client;
mod completing;
mod editing;
mod extension;
#[path = "../support/git.rs"]
mod git;
mod hovering;
mod listed;
mod navigating;
mod random;
mod renaming;
mod session;
mod verdict;

use std::fs;

use client::Client;
use tempfile::TempDir;

/// A contract of one file, without any diagnostic.
const PETS: &str = "\
openapi: 3.1.0
info: {title: Pets, version: 1.0.0}
servers: [{url: https://pets.example}]
security:
  - token: []
tags:
  - name: pet
    description: Animals that live with people.
paths:
  /pets/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string, maxLength: 40}}
    get:
      operationId: pet_view
      summary: View a pet.
      tags: [pet]
      responses:
        '200':
          description: The pet.
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Pet'
          links:
            again:
              operationId: pet_view
              parameters: {id: $request.path.id}
    put:
      operationId: pet_put
      summary: Write a pet.
      tags: [pet]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Pet'}
      responses:
        '204': {description: Done.}
components:
  securitySchemes:
    token: {type: http, scheme: bearer}
  schemas:
    Pet:
      description: An animal.
      type: object
      required: [name]
      properties:
        name: {type: string, maxLength: 100}
        kind: {$ref: '#/components/schemas/Kind'}
    Kind:
      type: string
      enum: [cat, dog]
";

/// Starts a server with a document open.
fn editing(text: &str) -> (TempDir, Client) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("api.yaml"), text).expect("the document can be written");
    let mut client = Client::start(folder.path());
    client.open("api.yaml", text);
    (folder, client)
}
