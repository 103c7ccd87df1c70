; Rust. The captures are those of README.md. What a macro makes of its arguments is not known: names in them may be
; bound there, in the function that the macro stands in.

; ---------------------------------------------------------------- functions

(function_item name: (identifier) @name body: (block) @body) @function
(function_item return_type: (_) @result) @function
(function_signature_item name: (identifier) @name) @function
(function_signature_item return_type: (_) @result) @function
((foreign_mod_item body: (declaration_list (function_signature_item) @function)) (#set! "declared"))
((function_item parameters: (parameters) @_all) @function (#not-match? @_all "\\bself\\b") (#set! "kind" "function"))
((function_signature_item parameters: (parameters) @_all) @function
  (#not-match? @_all "\\bself\\b") (#set! "kind" "function"))
(closure_expression) @function
(async_block) @lambda
(const_block) @lambda

(function_item parameters: (parameters (parameter pattern: (identifier) @name type: (_) @annotation) @parameter))
(function_signature_item parameters: (parameters
  (parameter pattern: (identifier) @name type: (_) @annotation) @parameter))
(function_item parameters: (parameters (self_parameter (self) @name) @parameter))
(function_signature_item parameters: (parameters (self_parameter (self) @name) @parameter))
(function_item parameters: (parameters (parameter pattern: (self) @name type: (_) @annotation) @parameter))
((function_item parameters: (parameters (parameter pattern: (_) @_pattern))) @function
  (#not-match? @_pattern "^[a-z_A-Z0-9]+$") (#set! "open"))
((function_item parameters: (parameters [(attribute_item) (variadic_parameter) (macro_invocation)])) @function (#set! "open"))
((function_signature_item parameters: (parameters
  [(attribute_item) (variadic_parameter) (macro_invocation)])) @function (#set! "open"))

; An attribute may change what is declared; these do not.
((attribute_item) @decoration (#not-match? @decoration
  "^#\\[\\s*(cfg|cfg_attr|derive|doc|allow|warn|deny|expect|forbid|inline|must_use|test|deprecated|no_mangle|cold|track_caller|ignore|should_panic|rustfmt::skip|target_feature|repr|non_exhaustive|serde)\\b"))
[
  (source_file) (declaration_list) (field_declaration_list) (ordered_field_declaration_list) (enum_variant_list) (block)
  (parameters) (arguments) (array_expression) (tuple_expression)
] @row

; ---------------------------------------------------------------- types

(struct_item name: (type_identifier) @name) @type
(struct_item body: (_) @body) @type
(union_item name: (type_identifier) @name body: (_) @body) @type
((enum_item name: (type_identifier) @name body: (_) @body) @type (#set! "kind" "enumeration"))
((trait_item name: (type_identifier) @name body: (_) @body) @type (#set! "open"))
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @base)) @type
((type_item name: (type_identifier) @name) @type (#set! "open"))
((associated_type name: (type_identifier) @name) @type (#set! "open"))

([(struct_item body: (field_declaration_list (field_declaration name: (field_identifier) @name type: (_) @annotation) @value))
  (union_item body: (field_declaration_list (field_declaration name: (field_identifier) @name type: (_) @annotation) @value))
 ] (#set! "kind" "field"))
(enum_variant body: (field_declaration_list (field_declaration name: (field_identifier) @keyword)))
((enum_variant name: (identifier) @name) @value (#set! "kind" "member"))


; An implementation stands in the name of its type; of any other type it stands in its text, which no symbol has.
((impl_item type: [(type_identifier) (primitive_type)] @name) @space (#set! "kind" "impl"))
((impl_item type: (generic_type type: (type_identifier) @name)) @space (#set! "kind" "impl"))
((impl_item type: (_) @name) @space (#not-match? @name "^\\w+\\s*(<|$)") (#set! "kind" "impl"))
((impl_item
    type_parameters: (type_parameters (type_parameter name: (type_identifier) @_any)) type: (type_identifier) @_type) @space
  (#eq? @_any @_type) (#set! "open"))
((impl_item trait: (_) @base type: (type_identifier)) @space (#not-match? @space "^[^{]*\\s!"))
(impl_item body: (_) @body) @space
(mod_item name: (identifier) @name) @space
(mod_item body: (_) @body) @space

; ---------------------------------------------------------------- values

((const_item name: (identifier) @name) @value (#set! "kind" "constant"))
(const_item type: (_) @annotation value: (_) @content) @value
((static_item name: (identifier) @name value: (_)) @value (#set! "kind" "variable"))
((static_item type: (_) @annotation value: (_) @content) @value
  (#not-match? @value "\\bstatic\\s+(mut|/)") (#set! "kind" "constant"))
((macro_definition name: (identifier) @name) @value (#set! "kind" "macro"))

; ---------------------------------------------------------------- other bindings and writes

(let_declaration pattern: (identifier) @bind)
(let_condition pattern: (identifier) @bind)
(for_expression pattern: (identifier) @bind)
(parameter pattern: (identifier) @bind)
(const_parameter name: (identifier) @bind)
(closure_parameters (identifier) @bind)
(tuple_pattern (identifier) @bind)
(tuple_struct_pattern . (_) (identifier) @bind)
(slice_pattern (identifier) @bind)
(ref_pattern (identifier) @bind)
(mut_pattern (identifier) @bind)
(reference_pattern (identifier) @bind)
(captured_pattern (identifier) @bind)
(or_pattern (identifier) @bind)
(match_pattern . (identifier) @bind)
(field_pattern pattern: (identifier) @bind)
(field_pattern (shorthand_field_identifier) @bind)
(generic_pattern (identifier) @bind)
(type_parameter name: (type_identifier) @bind)
(token_tree [(identifier) (type_identifier)] @bind)
(token_tree_pattern [(identifier) (type_identifier)] @bind)
(token_repetition [(identifier) (type_identifier)] @bind)
(token_repetition_pattern [(identifier) (type_identifier)] @bind)
(assignment_expression left: [(identifier) @write (field_expression field: (field_identifier) @write)])
(compound_assignment_expr left: [(identifier) @write (field_expression field: (field_identifier) @write)])
(reference_expression (mutable_specifier) value: [(identifier) @write (field_expression field: (field_identifier) @write)])

; ---------------------------------------------------------------- calls and imports

(call_expression function: [
  (identifier) @name
  (generic_function function: (identifier) @name)]) @call
(call_expression function: [
  (field_expression value: (_) @from field: (field_identifier) @name)
  (generic_function function: (field_expression value: (_) @from field: (field_identifier) @name))]) @call
; `self::f` is of the module, not of the instance.
((call_expression function: [
  (scoped_identifier path: (_) @from name: (identifier) @name)
  (generic_function function: (scoped_identifier path: (_) @from name: (identifier) @name))]) @call
  (#not-eq? @from "self"))
(call_expression arguments: (arguments) @arguments) @call

(use_declaration argument: [
  (identifier) @module
  (scoped_identifier path: (_) @module name: (identifier) @name)
  (use_as_clause path: (identifier) @module alias: (identifier) @alias)
  (use_as_clause path: (scoped_identifier path: (_) @module name: (identifier) @name) alias: (identifier) @alias)
  (use_wildcard (_) @module "*" @name)]) @import
(use_declaration argument: (scoped_use_list path: (_) @module list: (use_list [
  (self)
  (identifier) @name
  (scoped_identifier path: (_) @module name: (identifier) @name)
  (use_as_clause path: (identifier) @name alias: (identifier) @alias)
  (use_as_clause path: (self) alias: (identifier) @alias)
  (use_as_clause path: (scoped_identifier path: (_) @module name: (identifier) @name) alias: (identifier) @alias)
  (use_wildcard (_) @module "*" @name)]))) @import
(use_declaration argument: (scoped_use_list path: (_) @module list: (use_list (use_wildcard . "*" @name)))) @import
(use_declaration argument: (scoped_use_list path: (_) @module list: (use_list
  (scoped_use_list path: (_) @module list: (use_list [
    (self)
    (identifier) @name
    (scoped_identifier path: (_) @module name: (identifier) @name)
    (use_as_clause path: (identifier) @name alias: (identifier) @alias)]))))) @import
(use_declaration argument: (use_list [
  (identifier) @module
  (scoped_identifier path: (_) @module name: (identifier) @name)])) @import
(extern_crate_declaration name: (identifier) @module) @import
(extern_crate_declaration name: (identifier) @module alias: (identifier) @alias) @import
(use_declaration argument: (identifier) @imported)
(use_declaration argument: (scoped_identifier name: (identifier) @imported))
(use_list (identifier) @imported)
(use_list (scoped_identifier name: (identifier) @imported))
(extern_crate_declaration name: (identifier) @imported)

; ---------------------------------------------------------------- conditions and flow

(if_expression condition: (_) @condition consequence: (block) @then) @branch
(if_expression alternative: (else_clause [(block) (if_expression)] @else)) @branch
((if_expression condition: (boolean_literal) @_false consequence: (block) @dead) (#eq? @_false "false"))
((while_expression condition: (boolean_literal) @_false body: (block) @dead) (#eq? @_false "false"))
(while_expression condition: (_) @header body: (block) @loop)
(for_expression pattern: (_) @header value: (_) @header body: (block) @loop)
(loop_expression body: (block) @loop)
(match_arm pattern: (_) @header value: (_) @case)
(let_declaration "else" @header alternative: (block) @case)
(try_block) @try
; `?` returns what is not written, and so may a macro.
(try_expression) @yield
((macro_invocation macro: (_) @_macro) @yield (#not-match? @_macro
  "^((debug_)?assert(_eq|_ne)?|dbg|e?print(ln)?|format|panic|unreachable|todo|unimplemented|write(ln)?|vec|matches|concat|stringify|env|include_str|include_bytes|line|file|cfg)$"))
(return_expression) @return
(return_expression (_) @content) @return
((function_item body: (block (_) @tail .)) (#not-match? @tail "^return\\b|;$"))
((return_expression (call_expression function: (identifier) @_err arguments: (arguments . [
  (identifier) @error
  (scoped_identifier) @error
  (struct_expression name: (_) @error)
  (call_expression function: [(identifier) (scoped_identifier)] @error)] .))) @raise
  (#eq? @_err "Err") (#match? @error "(^|::)[A-Z]\\w*$"))
((function_item body: (block (call_expression function: (identifier) @_err arguments: (arguments . [
  (identifier) @error
  (scoped_identifier) @error
  (struct_expression name: (_) @error)
  (call_expression function: [(identifier) (scoped_identifier)] @error)] .)) @raise .))
  (#eq? @_err "Err") (#match? @error "(^|::)[A-Z]\\w*$"))
[(break_expression) (continue_expression)] @leave
[(source_file) (block)] @block
((attribute_item) @compiled @header (#match? @header "\\bcfg\\s*\\(") (#set! "next"))
((attribute_item) @test @header (#match? @header "^#\\[\\s*(\\w+::)*(test|bench|rstest|test_case)\\b") (#set! "next"))
((match_arm (attribute_item) @header) @compiled (#match? @header "\\bcfg\\s*\\("))
((field_initializer (attribute_item) @header) @compiled (#match? @header "\\bcfg\\s*\\("))
((inner_attribute_item) @compiled @header (#match? @header "\\bcfg\\s*\\(") (#set! "rest"))

; ---------------------------------------------------------------- text

[(line_comment) (block_comment)] @comment
[(string_literal) (raw_string_literal) (char_literal)] @string

; ---------------------------------------------------------------- names that are provably only read

; The forms that bind or change a name are all above, so that every other one reads it.
[(identifier) (field_identifier) (type_identifier) (shorthand_field_identifier)] @read
(label (identifier) @keyword)
(lifetime (identifier) @keyword)
(attribute (identifier) @keyword)
(scoped_identifier path: (self) name: (identifier) @keyword)
