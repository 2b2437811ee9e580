// Shows the reference of the document, and beside it each judgement that the server sends. Texts of
// the document become text of the page, never markup.

const byId = (id) => document.getElementById(id);
let reference;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const place = (at) => (at ? `${at.file}:${at.line}:${at.column}` : "");

function finding({ severity, message, help, rule, ...at }) {
  const item = element("li", undefined, severity);
  item.append(element("p", message));
  if (help) item.append(element("p", help, "rule"));
  item.append(element("div", `${place(at)} ${rule}`, "place"));
  return item;
}

function change({ gates, kind, message, revision, base, operations, witness }) {
  const level = gates ? "error" : kind === "compatible" ? "compatible" : "warning";
  const item = element("li", undefined, level);
  item.append(element("p", message));
  item.append(element("div", `${kind.replaceAll("_", " ")} · ${operations.length} operations`, "rule"));
  item.append(element("div", place(revision ?? base), "place"));
  if (witness) item.append(element("pre", witness.text));
  return item;
}

function more(count) {
  return count > 0 ? [element("li", `${count} more are not shown`)] : [];
}

function showFindings(findings) {
  const list = findings?.findings ?? [];
  byId("findings").replaceChildren(...list.map(finding), ...more(findings?.more));
  byId("findings-count").textContent = findings
    ? `${findings.errors} errors, ${findings.warnings} warnings`
    : "";
}

function showChanges(changes) {
  const list = changes?.findings ?? [];
  byId("changes").replaceChildren(...list.map(change), ...more(changes?.more));
  byId("changes-count").textContent = changes ? `against ${changes.base}` : "";
  let note = "";
  if (!changes) note = "The revisions are being compared.";
  else if (changes.unknown) note = changes.unknown;
  else if (list.length === 0) note = "No change reaches anybody.";
  else if (changes.refused) note = "diff refuses this change.";
  byId("changes-note").textContent = note;
}

function showStatus({ revision, isCurrent, problem, millis }) {
  const status = byId("status");
  status.className = isCurrent ? "current" : "old";
  const time = millis ? `, judged in ${millis} ms` : "";
  status.textContent = isCurrent
    ? `Revision ${revision} is shown${time}`
    : `Revision ${revision} has errors${time}. The page and the mock show the last one without.`;
  const problems = byId("problems");
  problems.hidden = !problem;
  problems.querySelector("p").textContent = problem ?? "";
}

function load(name, attributes) {
  return new Promise((resolve, reject) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.onload = resolve;
    made.onerror = () => reject(new Error("the files of the page could not be loaded"));
    document.head.append(made);
  });
}

// Calls go to the mock, wherever the document says that the API is.
function withoutServers(contract) {
  contract.servers = [{ url: location.origin }];
  for (const path of Object.values(contract.paths ?? {})) {
    delete path.servers;
    for (const operation of Object.values(path)) delete operation?.servers;
  }
  return contract;
}

async function showReference() {
  const response = await fetch("../openapi.json", { cache: "no-store" });
  if (!response.ok) throw new Error(`the document could not be loaded: ${response.status}`);
  const spec = withoutServers(await response.json());
  document.title = `${spec.info.title} ${spec.info.version}`;
  if (reference) {
    reference.specActions.updateJsonSpec(spec);
    return;
  }
  await load("link", { rel: "stylesheet", href: "../docs/swagger-ui.css" });
  await load("script", { src: "../docs/swagger-ui-bundle.js" });
  const domNode = byId("reference");
  domNode.replaceChildren();
  // Otherwise the page sends the address of the document to a validator of others.
  reference = SwaggerUIBundle({ spec, domNode, filter: true, deepLinking: true, validatorUrl: null });
}

let shown = 0;
let showing = Promise.resolve();

function show(judgement) {
  if (!judgement) return;
  showStatus(judgement);
  showFindings(judgement.findings);
  showChanges(judgement.changes);
  if (!judgement.isCurrent || judgement.revision === shown) return;
  shown = judgement.revision;
  // One after the other, so that the last one stays.
  showing = showing.then(showReference).catch((error) => {
    byId("reference").textContent = error;
    reference = undefined;
  });
}

const judgements = new EventSource("judgements");
judgements.onmessage = ({ data }) => show(JSON.parse(data));
judgements.onerror = () => {
  byId("status").className = "old";
  byId("status").textContent = "The preview has ended, or cannot be reached.";
};
