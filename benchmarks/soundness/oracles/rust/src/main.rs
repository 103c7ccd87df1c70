//! Outlines Rust files by syn: `oracle ROOT < paths`, one JSON object a file (README.md).

use serde_json::{json, Value};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::BufRead;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Item, Lit, Pat, Signature, Stmt, Type};

struct File<'a> {
    lines: Vec<&'a str>,
    functions: HashSet<String>,
    methods: HashSet<String>,
    bound: HashMap<String, usize>,
}

impl File<'_> {
    fn lines<T: Spanned>(&self, node: &T) -> [usize; 2] {
        [node.span().start().line, node.span().end().line]
    }

    /// The text of a node on one line, else null.
    fn source<T: Spanned>(&self, node: &T) -> Option<String> {
        let (start, end) = (node.span().start(), node.span().end());
        if start.line != end.line || start.line == 0 {
            return None;
        }
        let line: Vec<char> = self.lines[start.line - 1].chars().collect();
        Some(line[start.column..end.column].iter().collect())
    }

    fn function(&self, signature: &Signature, block: &Block, span: [usize; 2], owner: Option<&str>) -> Value {
        let name = signature.ident.to_string();
        let mut body = Body { file: self, owner, local: Names::default(), ..Body::default_for(self) };
        body.local.visit_signature(signature);
        body.local.visit_block(block);
        body.visit_block(block);
        if let Some(Stmt::Expr(last, None)) = block.stmts.last() {
            body.raises.extend(error(last));
        }
        let parameters: Vec<Value> = signature.inputs.iter().filter_map(|one| match one {
            syn::FnArg::Typed(typed) => match &*typed.pat {
                Pat::Ident(named) => Some(json!({"name": named.ident.to_string(), "type": self.source(&typed.ty)})),
                _ => None,
            },
            syn::FnArg::Receiver(_) => None,
        }).collect();
        let result = match &signature.output {
            syn::ReturnType::Type(_, kind) => self.source(kind),
            syn::ReturnType::Default => None,
        };
        let (mut steps, mut branches) = (vec![], vec![]);
        for statement in &block.stmts {
            match statement {
                Stmt::Expr(Expr::If(one), _) if one.else_branch.is_none() && one.then_branch.stmts.len() == 1 => {
                    let simple = match &*one.cond {
                        Expr::Binary(two) => !matches!(two.op, syn::BinOp::And(_) | syn::BinOp::Or(_)),
                        condition => matches!(condition, Expr::Path(_) | Expr::MethodCall(_) | Expr::Call(_) | Expr::Field(_)),
                    };
                    if let (true, Stmt::Expr(effect @ (Expr::Call(_) | Expr::MethodCall(_)), Some(_))) = (simple, &one.then_branch.stmts[0]) {
                        if let (Some(condition), Some(effect)) = (self.source(&one.cond), self.source(effect)) {
                            branches.push([condition, effect]);
                        }
                    }
                }
                Stmt::Expr(one @ (Expr::Call(_) | Expr::MethodCall(_)), Some(_)) => steps.extend(self.source(one)),
                _ => {}
            }
        }
        let returns = match block.stmts.last() {
            Some(Stmt::Expr(one, None)) if body.returns == 0 && !matches!(one, Expr::If(_) | Expr::Match(_) | Expr::Block(_) | Expr::Unsafe(_) | Expr::Loop(_) | Expr::While(_) | Expr::ForLoop(_)) => self.source(one),
            _ => None,
        };
        json!({
            "symbol": owner.map_or(name.clone(), |one| format!("{one}.{name}")), "kind": if owner.is_some() { "method" } else { "function" },
            "lines": span, "parameters": parameters, "result": result, "calls": body.calls, "uses": body.uses,
            "returns": returns, "raises": body.raises, "steps": steps, "branches": branches,
        })
    }
}

/// The names that patterns and nested items bind.
#[derive(Default)]
struct Names(HashSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, node: &'ast syn::PatIdent) {
        self.0.insert(node.ident.to_string());
        visit::visit_pat_ident(self, node);
    }
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.0.insert(node.sig.ident.to_string());
    }
    fn visit_use_name(&mut self, node: &'ast syn::UseName) {
        self.0.insert(node.ident.to_string());
    }
    fn visit_use_rename(&mut self, node: &'ast syn::UseRename) {
        self.0.insert(node.rename.to_string());
    }
}

struct Body<'a> {
    file: &'a File<'a>,
    owner: Option<&'a str>,
    local: Names,
    calls: BTreeSet<String>,
    uses: BTreeSet<String>,
    raises: BTreeSet<String>,
    returns: usize,
}

impl<'a> Body<'a> {
    fn default_for(file: &'a File<'a>) -> Self {
        Body { file, owner: None, local: Names::default(), calls: BTreeSet::new(), uses: BTreeSet::new(), raises: BTreeSet::new(), returns: 0 }
    }
}

impl<'ast> Visit<'ast> for Body<'_> {
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_item(&mut self, _: &'ast Item) {}
    fn visit_expr_return(&mut self, node: &'ast syn::ExprReturn) {
        self.returns += 1;
        self.raises.extend(node.expr.as_deref().and_then(error));
        visit::visit_expr_return(self, node);
    }
    fn visit_expr_try(&mut self, node: &'ast syn::ExprTry) {
        self.returns += 1;
        visit::visit_expr_try(self, node);
    }
    fn visit_expr_call(&mut self, node: &'ast syn::ExprCall) {
        if let Expr::Path(path) = &*node.func {
            if let Some(name) = path.path.get_ident().map(|one| one.to_string()) {
                if self.file.functions.contains(&name) && !self.local.0.contains(&name) {
                    self.calls.insert(name.clone());
                    self.uses.insert(name);
                }
            }
        }
        visit::visit_expr_call(self, node);
    }
    fn visit_expr_method_call(&mut self, node: &'ast syn::ExprMethodCall) {
        if let (Expr::Path(path), Some(owner)) = (&*node.receiver, self.owner) {
            let symbol = format!("{owner}.{}", node.method);
            if path.path.is_ident("self") && self.file.methods.contains(&symbol) {
                self.calls.insert(symbol);
            }
        }
        visit::visit_expr_method_call(self, node);
    }
}

/// The error of `Err(Path)`, by its last name.
fn error(value: &Expr) -> Option<String> {
    match value {
        Expr::Call(call) if matches!(&*call.func, Expr::Path(path) if path.path.is_ident("Err")) => match call.args.first() {
            Some(Expr::Path(path)) => path.path.segments.last().map(|one| one.ident.to_string()).filter(|one| one.starts_with(char::is_uppercase)),
            _ => None,
        },
        _ => None,
    }
}

fn name_of(kind: &Type) -> Option<String> {
    match kind {
        Type::Path(path) => path.path.segments.last().map(|one| one.ident.to_string()),
        _ => None,
    }
}

fn literal(value: &Expr) -> Option<Value> {
    match value {
        Expr::Lit(one) => match &one.lit {
            Lit::Int(number) if number.suffix().is_empty() => number.base10_parse::<i64>().ok().filter(|one| *one < 1 << 53).map(|one| json!(one)),
            Lit::Str(text) if text.value().len() < 60 => Some(json!(text.value())),
            Lit::Bool(truth) => Some(json!(truth.value)),
            _ => None,
        },
        _ => None,
    }
}

fn imported(tree: &syn::UseTree, before: &str, made: &mut Vec<String>) {
    let join = |name: String| if before.is_empty() { name } else { format!("{before}::{name}") };
    match tree {
        syn::UseTree::Path(path) => imported(&path.tree, &join(path.ident.to_string()), made),
        syn::UseTree::Name(name) if name.ident != "self" => made.push(join(name.ident.to_string())),
        syn::UseTree::Group(group) => group.items.iter().for_each(|one| imported(one, before, made)),
        _ => {}
    }
}

fn read(root: &str, path: &str) -> Option<Value> {
    let text = std::fs::read_to_string(format!("{root}/{path}")).ok()?;
    let tree = syn::parse_file(&text).ok()?;
    let mut file = File { lines: text.lines().collect(), functions: HashSet::new(), methods: HashSet::new(), bound: HashMap::new() };
    for item in &tree.items {
        match item {
            Item::Fn(one) => drop(file.functions.insert(one.sig.ident.to_string())),
            Item::Const(one) => *file.bound.entry(one.ident.to_string()).or_default() += 1,
            Item::Static(one) => *file.bound.entry(one.ident.to_string()).or_default() += 1,
            Item::Impl(one) if one.trait_.is_none() => {
                for member in &one.items {
                    if let (syn::ImplItem::Fn(method), Some(owner)) = (member, name_of(&one.self_ty)) {
                        file.methods.insert(format!("{owner}.{}", method.sig.ident));
                    }
                }
            }
            _ => {}
        }
    }
    let (mut imports, mut definitions, mut values) = (vec![], vec![], vec![]);
    let conditional = |attributes: &[syn::Attribute]| attributes.iter().any(|one| one.path().is_ident("cfg") || one.path().is_ident("cfg_attr"));
    for item in &tree.items {
        match item {
            Item::Use(one) if one.attrs.is_empty() && one.leading_colon.is_none() => imported(&one.tree, "", &mut imports),
            Item::Fn(one) if !conditional(&one.attrs) => definitions.push(file.function(&one.sig, &one.block, file.lines(one), None)),
            Item::Impl(one) if one.trait_.is_none() && !conditional(&one.attrs) => {
                for member in &one.items {
                    if let (syn::ImplItem::Fn(method), Some(owner)) = (member, name_of(&one.self_ty)) {
                        if !conditional(&method.attrs) {
                            definitions.push(file.function(&method.sig, &method.block, file.lines(method), Some(&owner)));
                        }
                    }
                }
            }
            Item::Struct(one) if !conditional(&one.attrs) => {
                let fields: Vec<Value> = one.fields.iter().filter(|one| !conditional(&one.attrs)).filter_map(|field| field.ident.as_ref().map(|name| json!({"name": name.to_string(), "type": file.source(&field.ty)}))).collect();
                definitions.push(json!({"symbol": one.ident.to_string(), "kind": "type", "lines": file.lines(one), "fields": fields}));
            }
            Item::Enum(one) if !conditional(&one.attrs) => {
                let symbol = one.ident.to_string();
                definitions.push(json!({"symbol": symbol, "kind": "type", "lines": file.lines(one)}));
                if !one.variants.iter().any(|one| conditional(&one.attrs)) && !one.variants.is_empty() {
                    values.push(json!({"symbol": symbol, "members": one.variants.iter().map(|one| one.ident.to_string()).collect::<Vec<_>>()}));
                }
            }
            Item::Const(one) if !conditional(&one.attrs) && file.bound[&one.ident.to_string()] == 1 => {
                values.extend(literal(&one.expr).map(|value| json!({"symbol": one.ident.to_string(), "value": value})));
            }
            _ => {}
        }
    }
    Some(json!({"path": path, "imports": imports, "definitions": definitions, "values": values}))
}

fn main() {
    let root = std::env::args().nth(1).expect("a folder");
    for path in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Some(made) = read(&root, &path) {
            println!("{made}");
        }
    }
}
