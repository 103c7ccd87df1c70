; Java. The captures are those of README.md.

(package_declaration [(identifier) (scoped_identifier)] @package)

; ---------------------------------------------------------------- functions

(method_declaration name: (identifier) @name) @function
(method_declaration body: (block) @body) @function
(method_declaration type: (_) @result !dimensions) @function
((method_declaration dimensions: (_)) @function (#set! "open"))
((method_declaration (modifiers [(marker_annotation) (annotation)] @decorator)) @function
  (#not-match? @decorator "^@(Override|Deprecated|SuppressWarnings|SafeVarargs|Nullable|NonNull|Nonnull|NotNull|Test)\\b[^.]*$"))
(constructor_declaration name: (identifier) @name body: (constructor_body) @body) @function
((compact_constructor_declaration name: (identifier) @name body: (block) @body) @function (#set! "open"))

(method_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @parameter))
(method_declaration parameters: (formal_parameters (formal_parameter type: (_) @annotation !dimensions) @parameter))
((method_declaration parameters: (formal_parameters (spread_parameter (variable_declarator name: (identifier) @name)) @parameter))
  (#set! "variadic"))
(constructor_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @parameter))
(constructor_declaration parameters: (formal_parameters (formal_parameter type: (_) @annotation !dimensions) @parameter))
((constructor_declaration parameters: (formal_parameters (spread_parameter (variable_declarator name: (identifier) @name)) @parameter))
  (#set! "variadic"))

; ---------------------------------------------------------------- types

(class_declaration name: (identifier) @name body: (class_body) @body) @type
(class_declaration superclass: (superclass (_) @base)) @type
(class_declaration interfaces: (super_interfaces (type_list) @bases)) @type
(interface_declaration name: (identifier) @name body: (interface_body) @body) @type
(interface_declaration (extends_interfaces (type_list) @bases)) @type
((enum_declaration name: (identifier) @name body: (enum_body) @body) @type (#set! "kind" "enumeration"))
(enum_declaration interfaces: (super_interfaces (type_list) @bases)) @type
(record_declaration name: (identifier) @name body: (class_body) @body) @type
(record_declaration interfaces: (super_interfaces (type_list) @bases)) @type
((record_declaration parameters: (formal_parameters (spread_parameter))) @type (#set! "open"))
(annotation_type_declaration name: (identifier) @name body: (annotation_type_body) @body) @type
; An annotation may add members, but for those that are known not to.
([(class_declaration (modifiers [(marker_annotation) (annotation)] @decorator))
  (enum_declaration (modifiers [(marker_annotation) (annotation)] @decorator))
  (record_declaration (modifiers [(marker_annotation) (annotation)] @decorator))
  (interface_declaration (modifiers [(marker_annotation) (annotation)] @decorator))] @type
  (#not-match? @decorator "^@(Deprecated|SuppressWarnings|FunctionalInterface)\\b[^.]*$") (#set! "open"))
; A class without a name.
(object_creation_expression (class_body) @type)
(enum_constant body: (class_body) @type)

; ---------------------------------------------------------------- values

((field_declaration declarator: (variable_declarator name: (identifier) @name) @value) @whole (#set! "kind" "field"))
(field_declaration type: (_) @annotation declarator: (variable_declarator !dimensions) @value)
((field_declaration (modifiers "static" "final") declarator: (variable_declarator) @value) (#set! "kind" "constant"))
((field_declaration (modifiers "final" "static") declarator: (variable_declarator) @value) (#set! "kind" "constant"))
((field_declaration declarator: (variable_declarator) @value) (#set! "kind" "variable"))
; An annotation of a field may give it another value, or add members to its type.
((field_declaration (modifiers [(marker_annotation) (annotation)] @decorator) declarator: (variable_declarator) @value)
  (#not-match? @decorator "^@(Deprecated|SuppressWarnings|Nullable|NonNull|Nonnull|NotNull)\\b[^.]*$"))
((constant_declaration declarator: (variable_declarator name: (identifier) @name) @value) @whole (#set! "kind" "field"))
(constant_declaration type: (_) @annotation declarator: (variable_declarator !dimensions) @value)
((constant_declaration declarator: (variable_declarator) @value) (#set! "kind" "constant"))
(variable_declarator value: (_) @content) @value
((enum_constant name: (identifier) @name) @value (#set! "kind" "constant"))
((record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @value)) (#set! "kind" "field"))
((record_declaration parameters: (formal_parameters (formal_parameter) @value)) (#set! "kind" "variable"))
(record_declaration parameters: (formal_parameters (formal_parameter type: (_) @annotation !dimensions) @value))
((annotation_type_element_declaration name: (identifier) @name) @value (#set! "kind" "method"))
(annotation_type_element_declaration value: (_) @content) @value
(annotation_type_element_declaration type: (_) @annotation !dimensions) @value

; ---------------------------------------------------------------- other bindings and writes

(local_variable_declaration declarator: (variable_declarator name: (identifier) @bind))
(enhanced_for_statement name: (identifier) @bind)
(catch_formal_parameter name: (identifier) @bind)
(resource name: (identifier) @bind)
(instanceof_expression name: (identifier) @bind)
(type_pattern (identifier) @bind)
(record_pattern_component (identifier) @bind)
(lambda_expression parameters: (identifier) @bind)
(inferred_parameters (identifier) @bind)
(lambda_expression parameters: (formal_parameters (formal_parameter name: (identifier) @bind)))
(type_parameter (type_identifier) @bind)
(assignment_expression left: [
  (identifier) @write (field_access field: (identifier) @write)
  (array_access array: [(identifier) @write (field_access field: (identifier) @write)])])
(update_expression [
  (identifier) @write (field_access field: (identifier) @write)
  (array_access array: [(identifier) @write (field_access field: (identifier) @write)])])

; ---------------------------------------------------------------- calls and imports

(method_invocation !object name: (identifier) @name) @call
(method_invocation object: (_) @from . name: (identifier) @name) @call
(method_invocation object: (_) @from . (type_arguments) . name: (identifier) @name) @call
(method_invocation arguments: (argument_list) @arguments) @call
(object_creation_expression "new" @from type: [(type_identifier) @name (generic_type . (type_identifier) @name)]) @call
(object_creation_expression arguments: (argument_list) @arguments) @call

(import_declaration [(scoped_identifier) (identifier)] @module .) @import
((import_declaration (scoped_identifier) @module (asterisk)) @import (#set! "everything"))
(import_declaration (scoped_identifier name: (identifier) @imported) .)

; ---------------------------------------------------------------- conditions and flow

(if_statement condition: (parenthesized_expression (_) @condition) consequence: (_) @then) @branch
(if_statement alternative: (_) @else) @branch
(ternary_expression condition: (_) @condition consequence: (_) @then alternative: (_) @else) @branch
(binary_expression left: (_) @condition operator: "&&" right: (_) @then) @branch
((binary_expression left: (_) @condition operator: "||" right: (_) @then) @branch (#set! "turned"))
(while_statement condition: (_) @header body: (_) @loop)
(do_statement body: (_) @loop condition: (_) @header)
(for_statement condition: (_) @header body: (_) @loop)
(for_statement !condition body: (_) @loop)
(for_statement update: (_) @loop)
(enhanced_for_statement name: (_) @header value: (_) @header body: (_) @loop)
(switch_block_statement_group (switch_label) @header) @case
(switch_rule (switch_label) @header) @case
(try_statement body: (_) @try (catch_clause))
(try_statement body: (_) @with (finally_clause))
(try_with_resources_statement resources: (_) @try (catch_clause))
(try_with_resources_statement body: (_) @try (catch_clause))
(try_with_resources_statement body: (_) @with (finally_clause))
(catch_clause (catch_formal_parameter) @header body: (_) @handler)
; What stands behind a `try` may change what it returns.
(finally_clause (block [(return_statement) (throw_statement) (break_statement) (continue_statement) (if_statement)
  (try_statement) (try_with_resources_statement) (switch_expression) (for_statement) (enhanced_for_statement)
  (while_statement) (do_statement) (labeled_statement) (synchronized_statement) (block)] @yield))
(lambda_expression body: (_) @lambda)
(if_statement condition: (parenthesized_expression (false)) consequence: (_) @dead)
(while_statement condition: (parenthesized_expression (false)) body: (_) @dead)
(return_statement) @return
(return_statement (_) @content) @return
(throw_statement) @raise
(throw_statement (object_creation_expression type: (_) @error !type_arguments)) @raise
[(break_statement) (continue_statement) (yield_statement)] @leave
(labeled_statement) @label
[(block) (constructor_body) (switch_block_statement_group)] @block

; ---------------------------------------------------------------- text

[(line_comment) (block_comment)] @comment
[(string_literal) (character_literal)] @string
; A character that is written by its number may end a comment or a text, or be part of a name.
([(line_comment) (block_comment) (string_literal) (character_literal)] @error 
  (#match? @error "\\\\u+00(0[aAdD]|2[27aAfF]|5[cC])"))
([(identifier) (type_identifier)] @error (#match? @error "\\\\"))

; ---------------------------------------------------------------- names that are provably only read

(type_identifier) @read
(scoped_identifier (identifier) @read)
(package_declaration (identifier) @read)
(record_pattern (identifier) @read)
(marker_annotation name: (identifier) @read)
(annotation name: (identifier) @read)
(element_value_pair key: (identifier) @keyword)
(labeled_statement (identifier) @keyword)
(break_statement (identifier) @keyword)
(continue_statement (identifier) @keyword)

; Their value is taken and not handed on.
(field_access object: (identifier) @look field: (identifier) @_length (#eq? @_length "length"))
(field_access object: (field_access field: (identifier) @look) field: (identifier) @_length (#eq? @_length "length"))
(array_access index: [(identifier) @look (field_access field: (identifier) @look)])
(binary_expression [(identifier) @look (field_access field: (identifier) @look)
  (array_access array: [(identifier) @look (field_access field: (identifier) @look)])])
(unary_expression operand: [(identifier) @look (field_access field: (identifier) @look)])
(enhanced_for_statement value: [(identifier) @look (field_access field: (identifier) @look)])
(if_statement condition: (parenthesized_expression [(identifier) @look (field_access field: (identifier) @look)]))
(while_statement condition: (parenthesized_expression [(identifier) @look (field_access field: (identifier) @look)]))
(do_statement condition: (parenthesized_expression [(identifier) @look (field_access field: (identifier) @look)]))
(ternary_expression condition: [(identifier) @look (field_access field: (identifier) @look)])
(switch_expression condition: (parenthesized_expression [(identifier) @look (field_access field: (identifier) @look)]))
(synchronized_statement (parenthesized_expression [(identifier) @look (field_access field: (identifier) @look)]))
(switch_label [(identifier) @look (field_access field: (identifier) @look)])
(instanceof_expression left: [(identifier) @look (field_access field: (identifier) @look)])
(assert_statement [(identifier) @look (field_access field: (identifier) @look)])
(dimensions_expr [(identifier) @look (field_access field: (identifier) @look)])
(string_interpolation [(identifier) @look (field_access field: (identifier) @look)])

; Their value may be handed on: what does not change itself stays what it is.
(field_access field: (identifier) @read)
(field_access object: (identifier) @read)
(method_invocation object: (identifier) @read)
(method_invocation (super) . name: (identifier) @read)
(method_reference (identifier) @read)
(array_access array: (identifier) @read)
(argument_list (identifier) @read)
(assignment_expression right: (identifier) @read)
(variable_declarator value: (identifier) @read)
(return_statement (identifier) @read)
(throw_statement (identifier) @read)
(yield_statement (identifier) @read)
(ternary_expression consequence: (identifier) @read)
(ternary_expression alternative: (identifier) @read)
(cast_expression value: (identifier) @read)
(array_initializer (identifier) @read)
(element_value_array_initializer (identifier) @read)
(element_value_pair value: (identifier) @read)
(annotation_argument_list (identifier) @read)
(annotation_type_element_declaration value: (identifier) @read)
(lambda_expression body: (identifier) @read)
(resource (identifier) @read .)
(object_creation_expression (identifier) @read)
(enum_constant arguments: (argument_list (identifier) @read))
(expression_statement (identifier) @read)
(guard (identifier) @look)
(for_statement condition: (identifier) @look)
(template_expression template_processor: (identifier) @read)
