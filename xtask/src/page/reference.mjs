// Clicks through the reference page in a headless Chromium: signs in, opens an operation by its
// link, calls it, and reads the response. `cargo xtask page` runs it.

import assert from "node:assert/strict";
import puppeteer from "puppeteer-core";

const [base, token, project, picture, program] = process.argv.slice(2);
const TIMEOUT = 20_000;

const browser = await puppeteer.launch({
  executablePath: program,
  // Chromium has no sandbox for the administrator, as whom containers often run.
  args: process.getuid() === 0 ? ["--no-sandbox"] : [],
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(TIMEOUT);
  await page.setViewport({ width: 1100, height: 900 });
  const problems = [];
  const sent = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  // A file that the policy of the page forbids is reported here too.
  page.on("console", (line) => {
    if (line.type() === "error") problems.push(`console: ${line.text()}`);
  });
  page.on("request", (request) => {
    sent.push(request);
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.origin !== base) {
      problems.push(`a request elsewhere: ${request.url()}`);
    }
  });

  await page.goto(`${base}/`);
  await Promise.all([page.waitForNavigation(), page.click('a[href="docs/"]')]);
  await page.waitForSelector(".opblock");
  const contract = await (await fetch(`${base}/openapi.json`)).json();
  const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
  const operations = Object.values(contract.paths)
    .flatMap((path) => methods.map((method) => path[method]))
    .filter((operation) => operation !== undefined);
  const shown = await page.$$eval(".opblock", (blocks) => blocks.length);
  assert.equal(shown, operations.length, "the page shows every operation");
  assert.equal(await page.title(), `${contract.info.title} ${contract.info.version}`);

  await page.click("button.authorize");
  await page.type(".auth-container input", token);
  await page.click(".auth-btn-wrapper button.authorize");
  await page.click(".auth-btn-wrapper button.btn-done");

  // A link to an operation opens it. The page is loaded by now, so only the fragment changes, and a
  // page that is loaded anew has forgotten the token.
  const { tags, operationId } = contract.paths["/project/{project_id}/location/{location}/vm"].get;
  const block = `#operations-${tags[0].replaceAll(" ", "_")}-${operationId}`;
  const link = await page.$eval(`${block} a.nostyle`, (anchor) => anchor.getAttribute("href"));
  assert.equal(link, `#/${encodeURIComponent(tags[0])}/${operationId}`);
  const visitor = await browser.newPage();
  await visitor.goto(`${base}/docs/${link}`);
  await visitor.waitForSelector(`${block}.is-open`, { timeout: TIMEOUT });
  await visitor.close();

  await page.bringToFront();
  await page.click(`${block} .opblock-summary-control`);
  await page.waitForSelector(`${block}.is-open .try-out__btn`);
  await page.click(`${block} .try-out__btn`);
  const fields = { project_id: project, location: "eu-central-h1" };
  for (const [name, value] of Object.entries(fields)) {
    const field = `${block} tr[data-param-name="${name}"] input`;
    await page.waitForSelector(field);
    await page.click(field, { clickCount: 3 });
    await page.type(field, value);
  }
  await page.click(`${block} .execute`);
  const responses = `${block} .live-responses-table`;
  await page.waitForSelector(`${responses} .response-col_status`);
  const status = await page.$eval(
    `${responses} tbody .response-col_status`,
    (cell) => cell.textContent.trim(),
  );
  const call = sent.findLast((request) => new URL(request.url()).pathname.endsWith("/vm"));
  assert.ok(call, "the page has called the operation");
  assert.match(status, /^200/, `${call.url()} returned ${status}`);
  assert.equal(call.headers().authorization, `Bearer ${token}`);
  const body = await call.response().json();
  assert.ok(body.count > 0 && body.items.length > 0, "the page of the demo's machines");
  const read = await page.$eval(`${responses} .microlight, ${responses} pre`, (text) => text.textContent);
  assert.ok(read.includes(body.items[0].id), "the response is shown");

  const head = await page.$(block);
  await head.evaluate((element) => element.scrollIntoView());
  if (picture !== "") await page.screenshot({ path: picture });
  assert.deepEqual(problems, []);
  console.log(`${shown} operations shown, ${operationId} called: ${status}`);
} finally {
  await browser.close();
}
