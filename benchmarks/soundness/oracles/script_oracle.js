// Outlines JavaScript and TypeScript files by TypeScript's compiler: node script_oracle.js ROOT COMPILER < paths,
// one JSON object a file (README.md).
"use strict";
const fs = require("fs");
const path = require("path");
const [root, compiler] = process.argv.slice(2);
const ts = require(compiler);
const K = ts.SyntaxKind;

function outline(name) {
  const text = fs.readFileSync(path.join(root, name), "utf8");
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  if (file.parseDiagnostics.length) return null;
  const made = { path: name, imports: [], definitions: [], values: [] };
  const bound = new Map();
  const count = (key) => bound.set(key, (bound.get(key) || 0) + 1);
  const stored = new Set();
  const assigns = (node) =>
    ts.isBinaryExpression(node) && node.operatorToken.kind >= K.FirstAssignment && node.operatorToken.kind <= K.LastAssignment;
  const walk = (node, visit) => {
    visit(node);
    ts.forEachChild(node, (child) => walk(child, visit));
  };
  const target = (node) => {
    if (ts.isIdentifier(node)) count(node.text);
    else if (ts.isPropertyAccessExpression(node)) stored.add(node.name.text);
    else walk(node, (one) => ts.isIdentifier(one) && count(one.text));
  };
  walk(file, (node) => {
    const named = ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isFunctionExpression(node) ||
      ts.isClassExpression(node) || ts.isEnumDeclaration(node) || ts.isImportSpecifier(node) || ts.isImportClause(node) ||
      ts.isNamespaceImport(node) || ts.isModuleDeclaration(node);
    if (named && node.name && ts.isIdentifier(node.name)) count(node.name.text);
    if (assigns(node)) target(node.left);
    if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
      if ([K.PlusPlusToken, K.MinusMinusToken].includes(node.operator)) target(node.operand);
    }
  });
  const top = new Set();
  const source = (node) => {
    const found = node ? node.getText(file) : "";
    return found.includes("\n") ? "" : found;
  };
  const lines = (node) =>
    [node.getStart(file), node.end].map((at) => file.getLineAndCharacterOfPosition(at).line + 1);
  const literal = (node) => {
    if (!node) return undefined;
    if (ts.isStringLiteral(node) && node.text.length < 60) return node.text;
    if (ts.isNumericLiteral(node) && /^\d{1,15}$/.test(node.getText(file)) && !/^0\d/.test(node.getText(file)))
      return Number(node.text);
    if (node.kind === K.TrueKeyword) return true;
    if (node.kind === K.FalseKeyword) return false;
    return undefined;
  };
  const own = (body, visit) => {
    const each = (node) => {
      if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
      visit(node);
      ts.forEachChild(node, each);
    };
    ts.forEachChild(body, each);
  };
  const parameters = (node) =>
    node.parameters.filter((one) => ts.isIdentifier(one.name) && !one.dotDotDotToken && one.name.text !== "this").map((one) => {
      const entry = { name: one.name.text, type: one.type && !one.questionToken ? source(one.type) : null };
      const value = literal(one.initializer);
      if (value !== undefined) entry.default = value;
      return entry;
    });
  const caught = (node, body) => {
    for (let one = node; one !== body; one = one.parent) if (ts.isTryStatement(one)) return true;
    return false;
  };
  const define = (node, symbol, kind, methods) => {
    const entry = { symbol, kind, lines: lines(node), parameters: parameters(node), result: node.type ? source(node.type) : null };
    made.definitions.push(entry);
    if (!node.body) return;
    const owner = kind === "method" ? symbol.split(".")[0] : null;
    const [calls, uses, raises, returned] = [new Set(), new Set(), new Set(), []];
    own(node.body, (one) => {
      if (ts.isCallExpression(one) && ts.isIdentifier(one.expression) && top.has(one.expression.text)) calls.add(one.expression.text);
      if (ts.isCallExpression(one) && ts.isPropertyAccessExpression(one.expression) && !one.questionDotToken) {
        const called = one.expression.name.text;
        if (one.expression.expression.kind === K.ThisKeyword && methods && methods.has(called) && !stored.has(called))
          calls.add(`${owner}.${called}`);
      }
      if (ts.isIdentifier(one) && top.has(one.text) && !(ts.isPropertyAccessExpression(one.parent) && one.parent.name === one) &&
        !ts.isPropertyAssignment(one.parent)) uses.add(one.text);
      if (ts.isReturnStatement(one)) returned.push(one);
      if (ts.isThrowStatement(one) && ts.isNewExpression(one.expression) && ts.isIdentifier(one.expression.expression) &&
        !caught(one, node.body)) raises.add(one.expression.expression.text);
    });
    const statements = node.body.statements || [];
    const last = statements[statements.length - 1];
    if (returned.length === 1 && returned[0] === last && last.expression && !node.asteriskToken) entry.returns = source(last.expression);
    entry.steps = statements.filter((one) => ts.isExpressionStatement(one) && source(one)).map((one) => source(one.expression));
    entry.branches = [];
    for (const one of statements) {
      if (!ts.isIfStatement(one) || one.elseStatement) continue;
      const inner = ts.isBlock(one.thenStatement) ? one.thenStatement.statements : [one.thenStatement];
      const compared = ts.isBinaryExpression(one.expression) &&
        ![K.AmpersandAmpersandToken, K.BarBarToken, K.QuestionQuestionToken].includes(one.expression.operatorToken.kind) && !assigns(one.expression);
      const simple = compared || ts.isIdentifier(one.expression) || ts.isPropertyAccessExpression(one.expression) || ts.isCallExpression(one.expression);
      if (inner.length === 1 && simple && ts.isExpressionStatement(inner[0]) && source(one.expression) && source(inner[0]))
        entry.branches.push([source(one.expression), source(inner[0].expression)]);
    }
    Object.assign(entry, { calls: [...calls], uses: [...uses], raises: [...raises] });
  };
  const type = (node) => {
    const heritage = (node.heritageClauses || []).flatMap((one) => [...one.types]);
    const bases = heritage.filter((one) => ts.isIdentifier(one.expression)).map((one) => one.expression.text);
    const fields = node.members.filter((one) => (ts.isPropertyDeclaration(one) || ts.isPropertySignature(one)) && ts.isIdentifier(one.name))
      .map((one) => ({ name: one.name.text, type: one.type && !one.questionToken ? source(one.type) : null }));
    made.definitions.push({ symbol: node.name.text, kind: "type", lines: lines(node), bases, whole: bases.length === heritage.length, fields });
    if (!ts.isClassDeclaration(node)) return;
    const plain = node.members.filter((one) => ts.isMethodDeclaration(one) && ts.isIdentifier(one.name));
    const methods = new Set(plain.filter((one) => one.body).map((one) => one.name.text));
    for (const one of plain.filter((one) => one.body)) define(one, `${node.name.text}.${one.name.text}`, "method", methods);
  };
  for (const node of file.statements) {
    if ((ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) && node.name && bound.get(node.name.text) === 1) top.add(node.name.text);
    if (ts.isImportDeclaration(node) && node.importClause && node.importClause.namedBindings && ts.isNamedImports(node.importClause.namedBindings))
      for (const one of node.importClause.namedBindings.elements)
        if (!one.propertyName && !one.isTypeOnly && !node.importClause.isTypeOnly && bound.get(one.name.text) === 1) top.add(one.name.text);
  }
  for (const node of file.statements) {
    if (ts.isImportDeclaration(node)) made.imports.push(node.moduleSpecifier.text);
    else if (ts.isFunctionDeclaration(node) && node.name && node.body) define(node, node.name.text, "function", null);
    else if ((ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) && node.name) type(node);
    else if (ts.isEnumDeclaration(node)) {
      made.definitions.push({ symbol: node.name.text, kind: "type", lines: lines(node) });
      const items = node.members.map((one) => one.name.getText(file));
      if (bound.get(node.name.text) === 1 && items.length) made.values.push({ symbol: node.name.text, members: items });
    } else if (ts.isVariableStatement(node) && node.declarationList.flags & ts.NodeFlags.Const) {
      for (const one of node.declarationList.declarations) {
        if (one.initializer && ts.isCallExpression(one.initializer) && one.initializer.expression.getText(file) === "require" &&
          ts.isStringLiteral(one.initializer.arguments[0])) made.imports.push(one.initializer.arguments[0].text);
        if (!ts.isIdentifier(one.name) || bound.get(one.name.text) !== 1) continue;
        const value = literal(one.initializer);
        if (value !== undefined) made.values.push({ symbol: one.name.text, value });
        if (one.initializer && ts.isArrayLiteralExpression(one.initializer) && !stored.size) {
          const items = one.initializer.elements.map(literal);
          if (items.length && new Set(items).size === items.length && items.every((item) => item !== undefined) && items.length <= 12)
            made.values.push({ symbol: one.name.text, members: items });
        }
      }
    }
  }
  return made;
}

for (const name of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const made = outline(name);
  if (made) console.log(JSON.stringify(made));
}
