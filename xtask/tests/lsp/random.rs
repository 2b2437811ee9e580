//! Thousands of random edits: the server never fails, and in the end it says what a fresh one says.

use std::env;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::PETS;
use crate::client::Client;

/// What is typed.
const PIECES: [&str; 22] = [
    "a",
    "\n",
    "\r\n",
    "\r",
    "  ",
    "- ",
    ":",
    ": ",
    "{",
    "}",
    "[",
    "]",
    "'",
    "\"",
    "#",
    "|\n",
    "é",
    "🐈",
    "$ref: '#/components/schemas/Pet'",
    "type: string\n",
    "\t",
    "&a *a",
];

/// The requests that are sent between edits.
const QUESTIONS: [&str; 6] = [
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/rename",
    "textDocument/documentSymbol",
];

#[test]
fn after_random_edits_the_diagnostics_are_those_of_a_fresh_start() {
    let seed = env::var("STRATUS_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let rounds = env::var("STRATUS_CASES")
        .ok()
        .and_then(|count| count.parse().ok());
    println!("STRATUS_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut client = Client::start(folder.path());
    client.open("api.yaml", PETS);
    for _ in 0..rounds.unwrap_or(12) {
        for _ in 0..250 {
            edit(&mut client, &mut random);
        }
        let seen = client.settled("api.yaml");
        let text = client.text("api.yaml").to_owned();
        let mut fresh = Client::start(folder.path());
        fresh.open("api.yaml", &text);
        // A text that is no document any longer has no diagnostics, and the server says nothing.
        let expected = fresh.settled("api.yaml");
        assert_eq!(seen, expected, "of {text:?}");
        assert_eq!(fresh.end(), Some(0));
        // Whole again, so that later edits meet more than one broken text.
        let end = text.len();
        client.edit("api.yaml", 0, end, PETS);
        assert_eq!(client.settled("api.yaml"), Vec::<Value>::new());
    }
    assert_eq!(client.end(), Some(0));
}

/// Makes a random edit, and sometimes asks something whose answer must not be a fault.
fn edit(client: &mut Client, random: &mut StdRng) {
    let text = client.text("api.yaml");
    let mut place = |text: &str| {
        let mut at = random.random_range(0..=text.len());
        while !text.is_char_boundary(at)
            || text[at..].starts_with('\n') && text[..at].ends_with('\r')
        {
            at -= 1;
        }
        at
    };
    // Not in the first line, so that the text mostly stays a document.
    let head = text.find(['\n', '\r']).map_or(0, |end| end + 1);
    let start = place(text).max(head.min(text.len()));
    let end = place(text).max(start);
    let end = if end - start > 30 { start } else { end };
    let piece = PIECES[random.random_range(0..PIECES.len())];
    let piece = if random.random_range(0..3) == 0 {
        ""
    } else {
        piece
    };
    client.edit("api.yaml", start, end, piece);
    if random.random_range(0..10) == 0 {
        let mut asked = client.at("api.yaml", start);
        asked["newName"] = json!("Another");
        let method = QUESTIONS[random.random_range(0..QUESTIONS.len())];
        if method == "textDocument/references" {
            asked["context"] = json!({"includeDeclaration": true});
        }
        if let Err(error) = client.request(method, &asked) {
            let code = error["code"].as_i64().expect("a code");
            // Refused with words, or too late for its text; never an internal error.
            assert!([-32803, -32801].contains(&code), "{method}: {error}");
        }
    }
}
