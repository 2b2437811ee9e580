// Lists the virtual machines of a project, creates a Postgres database and waits until it runs.
//
// Every call is checked by the types that openapi-typescript makes of the contract: a wrong path, a
// missing property or a misspelt state does not compile.

import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";

import createClient from "openapi-fetch";

import type { components, paths } from "./stratus.js";

type ApiError = components["schemas"]["Error"];
type Postgres = components["schemas"]["Postgres"];
type Vm = components["schemas"]["Vm"];

/** How long a database may take to run. */
const PATIENCE = 60_000;

const place = { project_id: setting("STRATUS_PROJECT"), location: "eu-central-h1" };
const api = createClient<paths>({
  baseUrl: setting("STRATUS_URL"),
  headers: { Authorization: `Bearer ${setting("STRATUS_TOKEN")}` },
});

for await (const vm of machines()) {
  console.log(`${vm.name} is ${vm.state}`);
}
const name = `orders-${Date.now()}`;
const created = await create(name);
console.log(`${created.name} is ${created.state}`);
const running = await until(name, "running");
console.log(`${running.name} is ${running.state}`);
await refuse(name);

/** Returns the value of an environment variable. */
function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) {
    throw new Error(`set ${name}: \`cargo xtask serve\` prints its value`);
  }
  return value;
}

/** Walks all pages of the machines of a location. */
async function* machines(): AsyncGenerator<Vm> {
  let start_after: string | undefined;
  for (;;) {
    const { data, error } = await api.GET("/project/{project_id}/location/{location}/vm", {
      params: {
        path: place,
        query: { page_size: 2, ...(start_after !== undefined && { start_after }) },
      },
    });
    if (error !== undefined) throw failure(error);
    yield* data.items;
    // A page may be short; only an empty one is the last.
    const last = data.items.at(-1);
    if (last === undefined) return;
    start_after = last.id;
  }
}

/** Creates the smallest database. Its key makes the request safe to repeat. */
async function create(name: string): Promise<Postgres> {
  const { data, error } = await api.POST(
    "/project/{project_id}/location/{location}/postgres/{postgres_database_reference}",
    {
      params: {
        path: { ...place, postgres_database_reference: name },
        header: { "Idempotency-Key": randomUUID() },
      },
      // Everything else has a default.
      body: { size: "standard-2", storage_size: 64 },
    },
  );
  if (error !== undefined) throw failure(error);
  return data;
}

/** Gets a database again and again until it has a state. */
async function until(name: string, state: Postgres["state"]): Promise<Postgres> {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const { data, error } = await api.GET(
      "/project/{project_id}/location/{location}/postgres/{postgres_database_reference}",
      { params: { path: { ...place, postgres_database_reference: name } } },
    );
    if (error !== undefined) throw failure(error);
    if (data.state === state) return data;
    if (Date.now() > end) throw new Error(`${name} is still ${data.state}`);
    await setTimeout(200);
  }
}

/** Shows how an error says what is wrong: the name is taken. */
async function refuse(name: string): Promise<void> {
  const { error, response } = await api.POST(
    "/project/{project_id}/location/{location}/postgres/{postgres_database_reference}",
    {
      params: { path: { ...place, postgres_database_reference: name } },
      body: { size: "standard-2", storage_size: 64 },
    },
  );
  if (error === undefined) throw new Error(`${name} was created twice`);
  console.log(`${response.status} ${error.error.type}: ${JSON.stringify(error.error.details)}`);
}

function failure({ error }: ApiError): Error {
  return new Error(`${error.type}: ${error.message}`);
}
