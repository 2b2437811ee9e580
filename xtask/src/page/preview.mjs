// Edits a document while a headless Chromium shows `cargo xtask preview`: the page must follow each
// save, also while the document is broken. `cargo xtask page` runs it.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import puppeteer from "puppeteer-core";

const [base, document, program] = process.argv.slice(2);

const browser = await puppeteer.launch({
  executablePath: program,
  // Chromium has no sandbox for the administrator, as whom containers often run.
  args: process.getuid() === 0 ? ["--no-sandbox"] : [],
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  await page.setViewport({ width: 1400, height: 900 });
  const problems = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (line) => {
    if (line.type() === "error") problems.push(`console: ${line.text()}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.origin !== base) {
      problems.push(`a request elsewhere: ${request.url()}`);
    }
  });

  // Replaces a text of the document, and returns the milliseconds until the page shows it.
  async function edit(from, to, selector, shown) {
    const text = readFileSync(document, "utf8");
    assert.ok(text.includes(from), from);
    const begun = performance.now();
    writeFileSync(document, text.replace(from, to));
    await page.waitForFunction(
      (selector, shown) => document.querySelector(selector)?.textContent.includes(shown),
      { polling: 10 },
      selector,
      shown,
    );
    return performance.now() - begun;
  }

  await page.goto(`${base}/preview/`);
  await page.waitForSelector(".opblock");
  const times = [
    await edit("summary: View a pet", "summary: Look at a pet", ".opblock-summary-description", "Look at a pet"),
    // An unknown keyword is an error, with its place; the last page stays.
    await edit("summary: Look", "sumary: Look", "#findings li.error", "summary"),
  ];
  assert.match(await page.$eval("#findings .place", (place) => place.textContent), /pets\.yaml:\d+:\d+/);
  const kept = await page.$eval(".opblock-summary-description", (text) => text.textContent);
  assert.equal(kept.trim(), "Look at a pet");
  times.push(await edit("sumary: Look", "summary: See", ".opblock-summary-description", "See at a pet"));
  assert.equal(await page.$eval("#findings", (list) => list.children.length), 0);

  // The mock behind the page answers.
  await page.click(".opblock-summary-control");
  await page.waitForSelector(".try-out__btn");
  await page.click(".try-out__btn");
  await page.type('tr[data-param-name="pet_id"] input', "rex");
  await page.click(".execute");
  await page.waitForSelector(".live-responses-table .response-col_status");
  const status = await page.$eval(".live-responses-table tbody .response-col_status", (cell) => cell.textContent.trim());
  assert.match(status, /^200/);

  // Text of the document is no markup.
  await edit("summary: See at a pet", "summary: <img src=x onerror=alert(1)>", ".opblock-summary-description", "<img");
  assert.deepEqual(problems, []);
  console.log(`the preview follows a save after ${times.map((time) => `${time.toFixed(0)} ms`).join(", ")}`);
} finally {
  await browser.close();
}
