// Outlines Go files by go/ast: oracle ROOT < paths, one JSON object a file (README.md).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type object = map[string]any

type outline struct {
	files   *token.FileSet
	text    []byte
	funcs   map[string]bool
	methods map[string]bool
	bound   map[string]int
}

func (o *outline) source(node ast.Node) string {
	text := string(o.text[o.files.Position(node.Pos()).Offset:o.files.Position(node.End()).Offset])
	if strings.Contains(text, "\n") {
		return ""
	}
	return text
}

func (o *outline) lines(node ast.Node) []int {
	return []int{o.files.Position(node.Pos()).Line, o.files.Position(node.End()).Line}
}

// own calls visit for the nodes of a body without those of function literals.
func own(body ast.Node, visit func(ast.Node)) {
	ast.Inspect(body, func(node ast.Node) bool {
		if _, nested := node.(*ast.FuncLit); nested {
			return false
		}
		if node != nil {
			visit(node)
		}
		return true
	})
}

// bindings counts how often each name is bound in a function, its parameters and function literals included.
func bindings(root ast.Node) map[string]int {
	made := map[string]int{}
	ast.Inspect(root, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name, plain := left.(*ast.Ident); plain {
					made[name.Name]++
				}
			}
		case *ast.RangeStmt:
			for _, left := range []ast.Expr{n.Key, n.Value} {
				if name, plain := left.(*ast.Ident); plain {
					made[name.Name]++
				}
			}
		case *ast.Field:
			for _, name := range n.Names {
				made[name.Name]++
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				made[name.Name]++
			}
		case *ast.TypeSpec:
			made[n.Name.Name]++
		case *ast.FuncDecl:
			if n.Recv == nil {
				made[n.Name.Name]++
			}
		}
		return true
	})
	return made
}

func (o *outline) fields(list *ast.FieldList) []object {
	made := []object{}
	if list == nil {
		return made
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			if _, variadic := field.Type.(*ast.Ellipsis); name.Name != "_" && !variadic {
				made = append(made, object{"name": name.Name, "type": o.source(field.Type)})
			}
		}
	}
	return made
}

func receiver(node *ast.FuncDecl) (variable, owner string) {
	if node.Recv == nil {
		return "", ""
	}
	field := node.Recv.List[0]
	kind := field.Type
	if star, pointer := kind.(*ast.StarExpr); pointer {
		kind = star.X
	}
	if name, plain := kind.(*ast.Ident); plain {
		owner = name.Name
	}
	if len(field.Names) == 1 {
		variable = field.Names[0].Name
	}
	return variable, owner
}

func (o *outline) function(node *ast.FuncDecl) object {
	me, owner := receiver(node)
	symbol, kind := node.Name.Name, "function"
	if node.Recv != nil {
		symbol, kind = owner+"."+symbol, "method"
	}
	made := object{"symbol": symbol, "kind": kind, "lines": o.lines(node), "parameters": o.fields(node.Type.Params)}
	if results := node.Type.Results; results != nil && len(results.List) == 1 && len(results.List[0].Names) == 0 {
		made["result"] = o.source(results.List[0].Type)
	}
	if node.Body == nil {
		return made
	}
	local := bindings(node)
	calls, uses, raises, returned := []string{}, []string{}, []string{}, []*ast.ReturnStmt{}
	own(node.Body, func(inner ast.Node) {
		switch n := inner.(type) {
		case *ast.CallExpr:
			if name, plain := n.Fun.(*ast.Ident); plain && o.funcs[name.Name] && local[name.Name] == boolean(name.Name == symbol) {
				calls = append(calls, name.Name)
				uses = append(uses, name.Name)
			}
			if picked, plain := n.Fun.(*ast.SelectorExpr); plain {
				name, simple := picked.X.(*ast.Ident)
				if simple && name.Name == me && local[me] == 1 && o.methods[owner+"."+picked.Sel.Name] {
					calls = append(calls, owner+"."+picked.Sel.Name)
				}
			}
		case *ast.ReturnStmt:
			returned = append(returned, n)
			if len(n.Results) > 0 {
				name, plain := n.Results[len(n.Results)-1].(*ast.Ident)
				if plain && strings.HasPrefix(strings.ToLower(name.Name), "err") && len(name.Name) > 3 && o.bound[name.Name] == 1 && local[name.Name] == 0 {
					raises = append(raises, name.Name)
				}
			}
		}
	})
	made["calls"], made["uses"], made["raises"] = calls, uses, raises
	if body := node.Body.List; len(returned) == 1 && len(returned[0].Results) == 1 && body[len(body)-1] == ast.Stmt(returned[0]) {
		made["returns"] = o.source(returned[0].Results[0])
	}
	steps, branches := []string{}, [][]string{}
	for _, statement := range node.Body.List {
		if one, plain := statement.(*ast.ExprStmt); plain && o.source(one) != "" {
			steps = append(steps, o.source(one))
		}
		if one, plain := statement.(*ast.IfStmt); plain && one.Else == nil && one.Init == nil && len(one.Body.List) == 1 {
			effect, call := one.Body.List[0].(*ast.ExprStmt)
			_, not := one.Cond.(*ast.UnaryExpr)
			two, binary := one.Cond.(*ast.BinaryExpr)
			if call && !not && !(binary && (two.Op == token.LAND || two.Op == token.LOR)) && o.source(effect) != "" {
				branches = append(branches, []string{o.source(one.Cond), o.source(effect)})
			}
		}
	}
	made["steps"], made["branches"] = steps, branches
	return made
}

func boolean(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

func literal(value ast.Expr) any {
	if one, plain := value.(*ast.BasicLit); plain {
		switch one.Kind {
		case token.INT:
			if number, err := strconv.ParseInt(one.Value, 0, 53); err == nil {
				return number
			}
		case token.STRING:
			if text, err := strconv.Unquote(one.Value); err == nil && len(text) < 60 {
				return text
			}
		}
	}
	return nil
}

func read(root, path string) object {
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		panic(err)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		panic(err)
	}
	o := &outline{files, text, map[string]bool{}, map[string]bool{}, map[string]int{}}
	imports, definitions, values := []string{}, []object{}, []object{}
	for _, one := range file.Imports {
		name, _ := strconv.Unquote(one.Path.Value)
		imports = append(imports, name)
	}
	for _, declared := range file.Decls {
		if node, plain := declared.(*ast.FuncDecl); plain {
			if _, owner := receiver(node); node.Recv == nil {
				o.funcs[node.Name.Name] = true
			} else {
				o.methods[owner+"."+node.Name.Name] = true
			}
		}
		if node, plain := declared.(*ast.GenDecl); plain {
			for _, spec := range node.Specs {
				if one, plain := spec.(*ast.ValueSpec); plain {
					for _, name := range one.Names {
						o.bound[name.Name]++
					}
				}
			}
		}
	}
	everywhere := bindings(file)
	for _, declared := range file.Decls {
		switch node := declared.(type) {
		case *ast.FuncDecl:
			definitions = append(definitions, o.function(node))
		case *ast.GenDecl:
			for _, spec := range node.Specs {
				switch one := spec.(type) {
				case *ast.TypeSpec:
					made := object{"symbol": one.Name.Name, "kind": "type", "lines": o.lines(one)}
					if fields, plain := one.Type.(*ast.StructType); plain {
						made["fields"] = o.fields(fields.Fields)
					}
					definitions = append(definitions, made)
				case *ast.ValueSpec:
					if node.Tok == token.CONST && one.Type == nil && len(one.Names) == 1 && len(one.Values) == 1 {
						if value := literal(one.Values[0]); value != nil && everywhere[one.Names[0].Name] == 1 {
							values = append(values, object{"symbol": one.Names[0].Name, "value": value})
						}
					}
				}
			}
		}
	}
	return object{"path": path, "imports": imports, "definitions": definitions, "values": values}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		made, _ := json.Marshal(read(os.Args[1], lines.Text()))
		fmt.Println(string(made))
	}
}
