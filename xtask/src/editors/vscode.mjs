// Opens a document with a known fault in VS Code in a headless Chromium, and reads what the editor
// shows. `cargo xtask editors` runs it.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import puppeteer from "puppeteer-core";

const [base, folder, settings, program] = process.argv.slice(2);
const authority = new URL(base).host;
const document = `vscode-remote://${authority}${folder}/openapi.yaml`;
const payload = JSON.stringify([["openFile", document]]);
const url = `${base}/?${new URLSearchParams({ folder, payload })}`;

/** What underlines a fault. */
const FAULT = ".view-overlays .squiggly-error";
/** The program that the settings of the folder name. */
const OF_FOLDER = "/nowhere/of-the-folder";

const ofFolder = `${folder}/.vscode/settings.json`;
mkdirSync(`${folder}/.vscode`);
writeFileSync(ofFolder, JSON.stringify({ "stratus.server.path": OF_FOLDER }));

const browser = await puppeteer.launch({
  executablePath: program,
  // Chromium has no sandbox for the administrator, as whom containers often run.
  args: process.getuid() === 0 ? ["--no-sandbox"] : [],
});
let page;
try {
  page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.setViewport({ width: 1400, height: 900 });
  await page.goto(url);

  // The settings of the folder name another program, which counts once the folder is trusted.
  await click(".monaco-dialog-box .monaco-button", "No, I don't trust the authors");
  await page.waitForSelector(FAULT);
  await run("Workspaces: Manage Workspace Trust");
  await click(".workspace-trust-editor .monaco-button", "Trust");
  await text(".notification-toast", OF_FOLDER);
  unlinkSync(ofFolder);
  await page.goto(url);

  // The fault is underlined, and the list of problems has the words of the language server.
  await page.waitForSelector(FAULT);
  await press("Control", "Shift", "KeyM");
  const problem = await text(".markers-panel .monaco-list-row", "requried");
  assert.match(problem, /stratus/, problem);

  // A hover on the misspelt keyword says the same, and one on a reference shows the schema.
  await hover("requried");
  await text(".monaco-hover-content", "required");
  await hover("'#/components/schemas/Pet'");
  await text(".monaco-hover-content", "An animal that lives with people.");

  // The correction of the fault takes the line and the problem away.
  await run("View: Toggle Problems");
  await click(".view-line span span", "requried");
  await press("Control", "Period");
  await text(".action-widget", "required");
  await page.keyboard.press("Enter");
  await text(".view-lines", "required:");
  await gone(FAULT);
  await press("Control", "KeyZ");
  await page.waitForSelector(FAULT);

  // Another server, by the command of the extension, finds the same.
  await run("Stratus: Restart Language Server");
  await gone(FAULT);
  await page.waitForSelector(FAULT);

  // A program that is not there is named, with what to do.
  const right = readFileSync(settings, "utf8");
  const wrong = { ...JSON.parse(right), "stratus.server.path": "/nowhere/xtask" };
  writeFileSync(settings, JSON.stringify(wrong));
  const message = await text(".notification-toast", "/nowhere/xtask");
  assert.match(message, /cargo build --release --package xtask/);
  await gone(FAULT);

  // Without a setting, it is the program that was built in the folder, which is trusted by now.
  mkdirSync(`${folder}/target/release`, { recursive: true });
  symlinkSync(JSON.parse(right)["stratus.server.path"], `${folder}/target/release/xtask`);
  writeFileSync(settings, "{}");
  await page.waitForSelector(FAULT);
} catch (error) {
  if (page !== undefined) {
    await page.screenshot({ path: "failed.png" });
    console.error("a picture of the editor is in target/page/failed.png");
    console.error(await page.evaluate(() => document.body.innerText));
  }
  throw error;
} finally {
  await browser.close();
}

// Waits until an element of the selector has a text, and returns all of its text.
async function text(selector, part) {
  const found = await page.waitForFunction(
    (selector, part) =>
      [...document.querySelectorAll(selector)]
        // The editor writes spaces as such that do not break.
        .map((element) => element.textContent.replaceAll("\u00a0", " "))
        .find((text) => text.includes(part)),
    { polling: 50 },
    selector,
    part,
  );
  return found.jsonValue();
}

// Waits until no element of the selector is there. Looks at each change of the page, since a restart may
// take it away for a moment only.
async function gone(selector) {
  await page.waitForFunction((selector) => document.querySelector(selector) === null, { polling: "mutation" }, selector);
}

// Returns the place of the smallest element of the selector with a text, once there is one.
async function place(selector, part) {
  const found = await page.waitForFunction(
    (selector, part) => {
      const elements = [...document.querySelectorAll(selector)];
      const element = elements.findLast((element) => element.textContent.replaceAll("\u00a0", " ").includes(part));
      if (element === undefined) return undefined;
      const { x, y, width, height } = element.getBoundingClientRect();
      return width === 0 ? undefined : { x: x + width / 2, y: y + height / 2 };
    },
    { polling: 50 },
    selector,
    part,
  );
  return found.jsonValue();
}

async function click(selector, part) {
  const { x, y } = await place(selector, part);
  await page.mouse.click(x, y);
}

// Rests with the mouse on a word of the document.
async function hover(word) {
  const { x, y } = await place(".view-line span span", word);
  // An earlier hover ends first.
  await page.mouse.move(700, 2);
  await gone(".monaco-hover:not(.hidden) .monaco-hover-content");
  await page.mouse.move(x - 1, y);
  await page.mouse.move(x, y);
}

async function press(...keys) {
  for (const key of keys) await page.keyboard.down(key);
  for (const key of keys.toReversed()) await page.keyboard.up(key);
}

// Runs a command as a person does who types its title.
async function run(title) {
  await page.keyboard.press("F1");
  await page.waitForSelector(".quick-input-widget input");
  await page.keyboard.type(title);
  await text(".quick-input-list .monaco-list-row", title);
  await page.keyboard.press("Enter");
}
