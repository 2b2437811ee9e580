// Checks the collections that Bruno and Postman make of the contract: each has every operation, and
// its requests for lists, sent as they are with the project of `STRATUS_PROJECT`, are answered. A list
// within a resource is not sent: the resource of its example is not there.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import newman from "newman";

const [url, token, project] = ["STRATUS_URL", "STRATUS_TOKEN", "STRATUS_PROJECT"].map((name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
});
const METHODS = ["get", "put", "post", "delete", "patch"];

// Every operation as `GET /project/:project_id/vm`, and the ids of those that return a list.
function operations() {
  const contract = load(readFileSync("../../openapi.yaml", "utf8"));
  const all = Object.entries(contract.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({
      name: `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
      isList: item[method].operationId.endsWith("_list") && !path.includes("_reference}"),
    })),
  );
  return { all: all.map(({ name }) => name), lists: all.filter(({ isList }) => isList).map(({ name }) => name) };
}

function compare(collection, found, expected) {
  const missing = expected.filter((name) => !found.includes(name));
  const more = found.filter((name) => !expected.includes(name));
  if (missing.length > 0 || more.length > 0) {
    throw new Error(`${collection} lacks ${missing.join(", ")}, and has ${more.join(", ")} of no operation`);
  }
}

// The files of a Bruno collection that are requests, with what each is a request for.
function bruno() {
  const files = readdirSync("bruno", { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile() && file.name.endsWith(".bru"))
    .map((file) => join(file.parentPath, file.name))
    .flatMap((file) => {
      const text = readFileSync(file, "utf8");
      const written = /^(get|put|post|delete|patch) \{\n {2}url: \{\{baseUrl\}\}(\S*)/m.exec(text);
      return written ? [{ file, text, name: `${written[1].toUpperCase()} ${written[2]}` }] : [];
    });
}

function runBruno(requests) {
  for (const { file, text } of requests) {
    writeFileSync(file, text.replace(/^( {2}project_id: ).*$/m, `$1${project}`));
  }
  const files = requests.map(({ file }) => file.slice("bruno/".length));
  const variables = ["--env-var", `baseUrl=${url}`, "--env-var", `token=${token}`];
  const run = spawnSync("../node_modules/.bin/bru", ["run", ...files, ...variables, "--output", "results.json"], {
    cwd: "bruno",
    encoding: "utf8",
  });
  if (run.status !== 0) throw new Error(run.stdout + run.stderr);
  const [{ results }] = JSON.parse(readFileSync("bruno/results.json", "utf8"));
  return results.map(({ response }) => response.status);
}

// The requests of a Postman collection, with what each is a request for.
function postman(items) {
  return items.flatMap((item) =>
    item.item ? postman(item.item) : [{ item, name: `${item.request.method} /${item.request.url.path.join("/")}` }],
  );
}

function runPostman(collection, requests) {
  for (const { item } of requests) {
    item.request.url.variable.find(({ key }) => key === "project_id").value = project;
  }
  const envVar = [
    { key: "baseUrl", value: url },
    { key: "bearerToken", value: token },
  ];
  const { auth, info } = collection;
  const chosen = { auth, info, item: requests.map(({ item }) => item) };
  return new Promise((resolve, reject) => {
    newman.run({ collection: chosen, envVar }, (error, summary) => {
      if (error) return reject(error);
      resolve(summary.run.executions.map(({ response }) => response?.code));
    });
  });
}

function judge(collection, statuses, count) {
  if (statuses.length !== count || statuses.some((status) => status !== 200)) {
    throw new Error(`${collection}: ${statuses.join(", ")} for ${count} lists`);
  }
  console.log(`${collection}: every operation, and ${count} of ${count} lists answered`);
}

const { all, lists } = operations();
const isList = ({ name }) => lists.includes(name);
const inBruno = bruno();
compare("Bruno", inBruno.map(({ name }) => name), all);
judge("Bruno", runBruno(inBruno.filter(isList)), lists.length);
const collection = JSON.parse(readFileSync("postman.json", "utf8"));
const inPostman = postman(collection.item);
compare("Postman", inPostman.map(({ name }) => name), all);
judge("Postman", await runPostman(collection, inPostman.filter(isList)), lists.length);
