// The client of `canzona lsp` in VS Code.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("canzona").get("path");
  client = new LanguageClient(
    "canzona",
    "Canzona",
    { command, args: ["lsp"] },
    { documentSelector: [{ language: "canzona" }] }
  );
  return client.start();
};

exports.deactivate = () => client && client.stop();
