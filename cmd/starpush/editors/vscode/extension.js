// Starts `starpush lsp` when a script is opened, and stops it with the window.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const command = workspace.getConfiguration("starpush").get("path") || "starpush";
  client = new LanguageClient(
    "starpush",
    "starpush",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ language: "starpush" }],
      synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.spu") },
    },
  );
  return client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
