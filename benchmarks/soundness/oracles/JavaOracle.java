// Outlines Java files by javac's tree API: java JavaOracle.java ROOT < paths, one JSON object a file (README.md).

import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.io.*;
import java.net.URI;
import java.nio.file.*;
import java.util.*;
import java.util.stream.Collectors;
import javax.lang.model.element.Modifier;
import javax.tools.*;

public class JavaOracle {
    final String text;
    final CompilationUnitTree unit;
    final SourcePositions positions;
    final List<Object> definitions = new ArrayList<>(), values = new ArrayList<>();
    final Map<String, Integer> bound = new HashMap<>();

    JavaOracle(String text, CompilationUnitTree unit, SourcePositions positions) {
        this.text = text;
        this.unit = unit;
        this.positions = positions;
    }

    String source(Tree node) {
        if (node == null || positions.getEndPosition(unit, node) < 0) return null;
        String found = text.substring((int) positions.getStartPosition(unit, node), (int) positions.getEndPosition(unit, node));
        return found.contains("\n") ? null : found;
    }

    List<Long> lines(Tree node) {
        LineMap map = unit.getLineMap();
        return List.of(map.getLineNumber(positions.getStartPosition(unit, node)), map.getLineNumber(positions.getEndPosition(unit, node)));
    }

    static Object literal(Tree node) {
        if (!(node instanceof LiteralTree)) return null;
        Object value = ((LiteralTree) node).getValue();
        if (value instanceof Integer || value instanceof Boolean) return value;
        return value instanceof String && ((String) value).length() < 60 ? value : null;
    }

    static Map<String, Object> entry(Object... pairs) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (int at = 0; at < pairs.length; at += 2) made.put((String) pairs[at], pairs[at + 1]);
        return made;
    }

    void type(ClassTree node) {
        String name = node.getSimpleName().toString();
        List<Tree> heritage = new ArrayList<>(node.getImplementsClause());
        if (node.getExtendsClause() != null) heritage.add(node.getExtendsClause());
        List<String> bases = new ArrayList<>();
        for (Tree one : heritage) {
            Tree plain = one instanceof ParameterizedTypeTree ? ((ParameterizedTypeTree) one).getType() : one;
            if (plain instanceof IdentifierTree) bases.add(((IdentifierTree) plain).getName().toString());
        }
        Set<String> methods = new HashSet<>();
        List<Object> fields = new ArrayList<>();
        List<String> constants = new ArrayList<>();
        boolean isEnum = node.getKind() == Tree.Kind.ENUM;
        for (Tree one : node.getMembers()) {
            if (one instanceof MethodTree) methods.add(((MethodTree) one).getName().toString());
            if (!(one instanceof VariableTree)) continue;
            VariableTree field = (VariableTree) one;
            String kind = source(field.getType());
            if (isEnum && field.getInitializer() instanceof NewClassTree && name.equals(field.getType().toString())) {
                constants.add(field.getName().toString());
                continue;
            }
            fields.add(entry("name", field.getName().toString(), "type", kind));
            Object value = literal(field.getInitializer());
            if (value != null && field.getModifiers().getFlags().contains(Modifier.FINAL) && bound.get(field.getName().toString()) == 1
                    && Set.of("int", "boolean", "String").contains(String.valueOf(kind)))
                values.add(entry("symbol", name + "." + field.getName(), "value", value));
        }
        if (!constants.isEmpty()) values.add(entry("symbol", name, "members", constants));
        definitions.add(entry("symbol", name, "kind", "type", "lines", lines(node), "bases", bases, "whole", bases.size() == heritage.size(), "fields", fields));
        for (Tree one : node.getMembers())
            if (one instanceof MethodTree && !((MethodTree) one).getName().contentEquals("<init>")) method((MethodTree) one, name, methods);
    }

    void method(MethodTree node, String owner, Set<String> methods) {
        List<Object> parameters = new ArrayList<>();
        for (VariableTree one : node.getParameters())
            if (!String.valueOf(source(one)).contains("...")) parameters.add(entry("name", one.getName().toString(), "type", source(one.getType())));
        Map<String, Object> made = entry("symbol", owner + "." + node.getName(), "kind", "method", "lines", lines(node), "parameters", parameters,
                "result", source(node.getReturnType()));
        definitions.add(made);
        if (node.getBody() == null) return;
        Set<String> calls = new TreeSet<>(), raises = new TreeSet<>();
        List<ReturnTree> returned = new ArrayList<>();
        new TreeScanner<Void, Boolean>() {
            @Override public Void visitClass(ClassTree one, Boolean caught) { return null; }
            @Override public Void visitLambdaExpression(LambdaExpressionTree one, Boolean caught) { return null; }
            @Override public Void visitTry(TryTree one, Boolean caught) { return super.visitTry(one, true); }
            @Override public Void visitReturn(ReturnTree one, Boolean caught) {
                returned.add(one);
                return super.visitReturn(one, caught);
            }
            @Override public Void visitThrow(ThrowTree one, Boolean caught) {
                if (!caught && one.getExpression() instanceof NewClassTree) {
                    Tree error = ((NewClassTree) one.getExpression()).getIdentifier();
                    if (error instanceof IdentifierTree) raises.add(error.toString());
                }
                return super.visitThrow(one, caught);
            }
            @Override public Void visitMethodInvocation(MethodInvocationTree one, Boolean caught) {
                ExpressionTree called = one.getMethodSelect();
                String name = called instanceof IdentifierTree ? called.toString() : "";
                if (called instanceof MemberSelectTree && ((MemberSelectTree) called).getExpression().toString().equals("this"))
                    name = ((MemberSelectTree) called).getIdentifier().toString();
                if (methods.contains(name)) calls.add(owner + "." + name);
                return super.visitMethodInvocation(one, caught);
            }
        }.scan(node.getBody(), false);
        List<? extends StatementTree> body = node.getBody().getStatements();
        if (returned.size() == 1 && body.get(body.size() - 1) == returned.get(0)) made.put("returns", source(returned.get(0).getExpression()));
        List<Object> steps = new ArrayList<>(), branches = new ArrayList<>();
        for (StatementTree one : body) {
            if (one instanceof ExpressionStatementTree && source(one) != null) steps.add(source(((ExpressionStatementTree) one).getExpression()));
            if (!(one instanceof IfTree) || ((IfTree) one).getElseStatement() != null) continue;
            StatementTree then = ((IfTree) one).getThenStatement();
            if (then instanceof BlockTree && ((BlockTree) then).getStatements().size() == 1) then = ((BlockTree) then).getStatements().get(0);
            ExpressionTree condition = ((ParenthesizedTree) ((IfTree) one).getCondition()).getExpression();
            boolean compared = condition instanceof BinaryTree && condition.getKind() != Tree.Kind.CONDITIONAL_AND && condition.getKind() != Tree.Kind.CONDITIONAL_OR;
            boolean simple = compared || condition instanceof IdentifierTree || condition instanceof MethodInvocationTree || condition instanceof MemberSelectTree;
            if (simple && then instanceof ExpressionStatementTree && source(condition) != null && source(then) != null)
                branches.add(List.of(source(condition), source(((ExpressionStatementTree) then).getExpression())));
        }
        made.putAll(entry("calls", calls, "uses", List.of(), "raises", raises, "steps", steps, "branches", branches));
    }

    static String json(Object value) {
        if (value instanceof Map)
            return ((Map<?, ?>) value).entrySet().stream().map(one -> json(one.getKey()) + ":" + json(one.getValue())).collect(Collectors.joining(",", "{", "}"));
        if (value instanceof Collection) return ((Collection<?>) value).stream().map(JavaOracle::json).collect(Collectors.joining(",", "[", "]"));
        if (!(value instanceof String)) return String.valueOf(value);
        StringBuilder made = new StringBuilder("\"");
        for (char one : ((String) value).toCharArray())
            made.append(one == '"' || one == '\\' || one < 32 || one > 126 ? String.format("\\u%04x", (int) one) : String.valueOf(one));
        return made.append('"').toString();
    }

    public static void main(String[] arguments) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        BufferedReader paths = new BufferedReader(new InputStreamReader(System.in));
        for (String path = paths.readLine(); path != null; path = paths.readLine()) {
            String text = Files.readString(Path.of(arguments[0], path));
            JavaFileObject file = new SimpleJavaFileObject(URI.create("string:///" + path), JavaFileObject.Kind.SOURCE) {
                @Override public CharSequence getCharContent(boolean ignore) { return text; }
            };
            JavacTask task = (JavacTask) compiler.getTask(null, null, one -> {}, List.of(), null, List.of(file));
            CompilationUnitTree unit = task.parse().iterator().next();
            JavaOracle outline = new JavaOracle(text, unit, Trees.instance(task).getSourcePositions());
            List<String> imports = new ArrayList<>();
            for (ImportTree one : unit.getImports())
                if (!one.isStatic() && !one.getQualifiedIdentifier().toString().endsWith("*")) imports.add(one.getQualifiedIdentifier().toString());
            new TreeScanner<Void, Void>() {
                @Override public Void visitVariable(VariableTree one, Void nothing) {
                    outline.bound.merge(one.getName().toString(), 1, Integer::sum);
                    return super.visitVariable(one, nothing);
                }
            }.scan(unit, null);
            for (Tree one : unit.getTypeDecls()) if (one instanceof ClassTree) outline.type((ClassTree) one);
            System.out.println(json(entry("path", path, "imports", imports, "definitions", outline.definitions, "values", outline.values)));
        }
    }
}
