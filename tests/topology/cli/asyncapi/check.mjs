// Reads an AsyncAPI document from standard input and says what its official parser makes of it.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const { document, diagnostics } = await new Parser().parse(readFileSync(0, "utf8"));
const found = diagnostics.map(({ code, severity, path, message }) => ({ code: String(code), severity, path: path.join("."), message }));
const channels = document ? document.channels().all().map((channel) => channel.address()) : [];
const operations = document ? document.operations().all().map((operation) => operation.id()) : [];
console.log(JSON.stringify({ version: document?.version() ?? null, channels, operations, diagnostics: found }));
