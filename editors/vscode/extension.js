// Starts the language server of Stratus for OpenAPI documents, shows its state, and says what to do
// where it cannot be started.

"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient, State } = require("vscode-languageclient/node");

/** The texts that the server reads. Untitled ones have no file, and so no verdict. */
const DOCUMENTS = ["yaml", "json"].flatMap((language) => [
  { scheme: "file", language },
  { scheme: "untitled", language },
]);

/** The client of the server, or `undefined` if none was started. */
let client;
/** The last start or stop. Each waits for the one before, so that two servers never run. */
let turn = Promise.resolve();
/** The item of the status bar. */
let status;
/** What the extension and the server have to say. */
let log;

exports.activate = async function (context) {
  log = vscode.window.createOutputChannel("Stratus");
  status = vscode.languages.createLanguageStatusItem("stratus", DOCUMENTS);
  status.name = "Stratus";
  context.subscriptions.push(
    log,
    status,
    vscode.commands.registerCommand("stratus.restart", restart),
    vscode.commands.registerCommand("stratus.log", () => log.show()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("stratus.server")) return restart();
    }),
    // The program of a folder, and git, may be started from now on.
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  await restart();
};

exports.deactivate = () => {
  turn = turn.then(stop);
  return turn;
};

/** Stops the server if it runs, and starts it by the settings of now. */
function restart() {
  // A failure must not keep the next turn from its work.
  turn = turn
    .then(stop)
    .then(start)
    .catch((error) => fail(`Stratus could not start its language server: ${error.message}`));
  return turn;
}

async function stop() {
  const running = client;
  client = undefined;
  if (running === undefined) return;
  try {
    await running.dispose();
  } catch (error) {
    // A server that has crashed cannot be stopped again.
    log.appendLine(`the language server did not stop in order: ${error.message}`);
  }
}

async function start() {
  const settings = vscode.workspace.getConfiguration("stratus.server");
  const chosen = settings.get("path").trim();
  const command = chosen === "" ? installed() : absolute(chosen);
  if (command === undefined || !isProgram(command)) {
    const what = command === undefined ? "" : `: there is no program ${command}`;
    return fail(
      `Stratus found no language server${what}. Build it by \`cargo build --release --package xtask\`, ` +
        "and set stratus.server.path to target/release/xtask.",
    );
  }
  // The settings of a repository can name commands that git starts.
  const guard = vscode.workspace.isTrusted ? [] : ["--no-git"];
  const run = { command, args: [...settings.get("arguments"), ...guard] };
  log.appendLine(`starting ${[command, ...run.args].join(" ")}`);
  const options = { documentSelector: DOCUMENTS, outputChannel: log };
  client = new LanguageClient("stratus", "Stratus", run, options);
  client.onDidChangeState(({ newState }) => show(newState));
  await client.start();
}

/** Returns the program to start if the settings name none, or `undefined` if there is none. */
function installed() {
  const suffix = process.platform === "win32" ? ".exe" : "";
  const onPath = (process.env.PATH ?? "")
    .split(path.delimiter)
    // An empty entry, or a relative one, means the current folder, which anybody may have written.
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, `cargo-stratus${suffix}`));
  // A folder that is not trusted must not choose what is run.
  const folders = vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : [];
  const built = folders.map(({ uri }) => path.join(uri.fsPath, `target/release/xtask${suffix}`));
  return [...onPath, ...built].find(isProgram);
}

/**
 * Returns a path of the settings, of which a relative one is in the first folder of the window, or
 * `undefined` if that is not trusted or there is none.
 */
function absolute(file) {
  if (path.isAbsolute(file)) return file;
  const folder = vscode.workspace.isTrusted ? vscode.workspace.workspaceFolders?.[0] : undefined;
  return folder === undefined ? undefined : path.join(folder.uri.fsPath, file);
}

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Shows the state of the server in the status bar. */
function show(state) {
  const texts = { [State.Starting]: "starting", [State.Running]: "running", [State.Stopped]: "stopped" };
  status.busy = state === State.Starting;
  status.text = `Stratus: ${texts[state]}`;
  status.severity = vscode.LanguageStatusSeverity[state === State.Stopped ? "Warning" : "Information"];
  status.command = { command: "stratus.restart", title: "Restart" };
}

/** Says that there is no server, without waiting for what the person does about it. */
function fail(message) {
  log.appendLine(message);
  status.busy = false;
  status.text = "Stratus: no language server";
  status.severity = vscode.LanguageStatusSeverity.Error;
  status.command = { command: "stratus.log", title: "Show log" };
  vscode.window.showErrorMessage(message, "Open Settings", "Show Log").then((choice) => {
    if (choice === "Open Settings") {
      vscode.commands.executeCommand("workbench.action.openSettings", "stratus.server");
    } else if (choice === "Show Log") {
      log.show();
    }
  });
}
