// Runs the extension of VS Code in an editor that has only what the extension uses, and prints the
// arguments of each server that the extension starts: in a folder that is not trusted, and once it is.

"use strict";

const Module = require("node:module");

const [extension, program] = process.argv.slice(2);
const started = [];
let grant;

const nothing = () => ({ dispose() {} });
const vscode = {
  LanguageStatusSeverity: {},
  commands: { registerCommand: nothing },
  languages: { createLanguageStatusItem: () => ({}) },
  window: {
    createOutputChannel: () => ({ appendLine() {} }),
    showErrorMessage: async (message) => void started.push(message),
  },
  workspace: {
    isTrusted: false,
    getConfiguration: () => ({ get: (key) => ({ path: program, arguments: ["lsp", "--base", "main"] })[key] }),
    onDidChangeConfiguration: nothing,
    onDidGrantWorkspaceTrust(listener) {
      grant = listener;
      return nothing();
    },
  },
};

class LanguageClient {
  constructor(id, name, run) {
    started.push(run.args.join(" "));
  }
  onDidChangeState() {}
  async start() {}
  async dispose() {}
}

const load = Module._load;
Module._load = (name, ...rest) => {
  if (name === "vscode") return vscode;
  if (name === "vscode-languageclient/node") return { LanguageClient, State: {} };
  return load(name, ...rest);
};

(async () => {
  await require(extension).activate({ subscriptions: [] });
  vscode.workspace.isTrusted = true;
  await grant();
  console.log(started.join("\n"));
})();
