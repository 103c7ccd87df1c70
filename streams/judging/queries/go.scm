; Go. The captures are those of README.md.

; ---------------------------------------------------------------- functions

(function_declaration name: (identifier) @name) @function
(function_declaration body: (block) @body) @function
(function_declaration result: (_) @result) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner)) name: (field_identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier) @receiver))) @function
(method_declaration body: (block) @body) @function
(method_declaration result: (_) @result) @function
(method_elem name: (field_identifier) @name) @function
(method_elem result: (_) @result) @function
(func_literal) @function

; Parameters: what results and types of functions name is none of them.
(function_declaration parameters: (parameter_list
  (parameter_declaration name: (identifier) @name @parameter type: (_) @annotation)))
(method_declaration parameters: (parameter_list
  (parameter_declaration name: (identifier) @name @parameter type: (_) @annotation)))
(method_elem parameters: (parameter_list
  (parameter_declaration name: (identifier) @name @parameter type: (_) @annotation)))
((function_declaration parameters: (parameter_list
  (variadic_parameter_declaration name: (identifier) @name) @parameter)) (#set! "variadic"))
((method_declaration parameters: (parameter_list
  (variadic_parameter_declaration name: (identifier) @name) @parameter)) (#set! "variadic"))
((method_elem parameters: (parameter_list
  (variadic_parameter_declaration name: (identifier) @name) @parameter)) (#set! "variadic"))

; ---------------------------------------------------------------- types

(type_spec name: (type_identifier) @name type: (_) @body) @type
(type_alias name: (type_identifier) @name type: (_) @body) @type
((type_alias) @type (#set! "open"))
((type_spec type: (_) @_body) @type (#not-match? @_body "^struct\\b") (#set! "open"))
; What is embedded is a base. It may have more than is written here, and the shallowest name wins, not the first.
((type_spec type: (struct_type (field_declaration_list (field_declaration !name type: (_) @base)))) @type (#set! "open"))
((type_spec type: (interface_type (type_elem . [(type_identifier) (qualified_type) (generic_type)] @base .))) @type)

((type_spec type: (struct_type (field_declaration_list
  (field_declaration name: (field_identifier) @name @value)))) (#set! "kind" "field"))
; The type of the first three of several names: to wait for it at each of many would take long.
(type_spec type: (struct_type (field_declaration_list
  (field_declaration . (field_identifier) @name @value type: (_) @annotation))))
(type_spec type: (struct_type (field_declaration_list
  (field_declaration . (field_identifier) . (field_identifier) @name @value type: (_) @annotation))))
(type_spec type: (struct_type (field_declaration_list (field_declaration
  . (field_identifier) . (field_identifier) . (field_identifier) @name @value type: (_) @annotation))))
((type_spec type: (struct_type (field_declaration_list
  (field_declaration !name type: [
    (type_identifier) @name @value
    (qualified_type name: (type_identifier) @name @value)
    (generic_type type: (type_identifier) @name @value)])))) (#set! "kind" "field"))
; The fields of a structure without a name are not those of the type that it stands in.
([
  (field_declaration type: (struct_type (field_declaration_list (field_declaration name: (field_identifier) @bind))))
  (slice_type element: (struct_type (field_declaration_list (field_declaration name: (field_identifier) @bind))))
  (array_type element: (struct_type (field_declaration_list (field_declaration name: (field_identifier) @bind))))
  (map_type value: (struct_type (field_declaration_list (field_declaration name: (field_identifier) @bind))))
  (pointer_type (struct_type (field_declaration_list (field_declaration name: (field_identifier) @bind))))
  (composite_literal type: (struct_type (field_declaration_list (field_declaration name: (field_identifier) @bind))))
  (var_spec type: (struct_type (field_declaration_list (field_declaration name: (field_identifier) @bind))))
  (channel_type value: (struct_type (field_declaration_list (field_declaration name: (field_identifier) @bind))))
])

; ---------------------------------------------------------------- values

((const_spec (identifier) @name @value) (#set! "kind" "constant"))
((var_spec name: (identifier) @name @value) (#set! "kind" "variable"))
((var_spec . (identifier) @name @value value: (expression_list . (func_literal))) (#set! "kind" "function"))
(const_spec . (identifier) @name @value value: (expression_list . (_) @content))
(var_spec . name: (identifier) @name @value value: (expression_list . (_) @content))
(const_spec . (identifier) . (identifier) @name @value value: (expression_list . (_) . (_) @content))
(var_spec . (identifier) . (identifier) @name @value value: (expression_list . (_) . (_) @content))
(var_spec . (identifier) @name @value type: (_) @annotation)
(var_spec . (identifier) . (identifier) @name @value type: (_) @annotation)
; A constant is what is written, whatever a type of its own makes of it later; one of the language's own may round it.
((const_spec . (identifier) @name @value type: (_) @annotation) (#match? @annotation "^[a-z0-9]+$"))
((const_spec . (identifier) . (identifier) @name @value type: (_) @annotation) (#match? @annotation "^[a-z0-9]+$"))
(const_spec . (identifier) @name @value type: (_) @annotation value: (expression_list . (float_literal)))
(const_spec . (identifier) . (identifier) @name @value type: (_) @annotation value: (expression_list (float_literal) .))
(var_spec . name: (identifier) @owner value: (expression_list . (composite_literal type: (map_type) body: (literal_value) @table) .))
(keyed_element
  key: (literal_element [(interpreted_string_literal) (raw_string_literal)] @name) value: (literal_element (_) @content)) @key

; ---------------------------------------------------------------- other bindings and writes

(parameter_declaration name: (identifier) @bind)
(variadic_parameter_declaration name: (identifier) @bind)
(type_parameter_declaration name: (identifier) @bind)
(short_var_declaration left: (expression_list (identifier) @bind))
(type_switch_statement alias: (expression_list (identifier) @bind))
((range_clause left: (expression_list (identifier) @bind)) @_range (#match? @_range ":="))
((range_clause left: (expression_list (identifier) @write)) @_range (#not-match? @_range ":="))
((receive_statement left: (expression_list (identifier) @bind)) @_receive (#match? @_receive ":="))
((receive_statement left: (expression_list (identifier) @write)) @_receive (#not-match? @_receive ":="))
(range_clause left: (expression_list [
  (selector_expression field: (field_identifier) @write)
  (index_expression operand: [(identifier) @write (selector_expression field: (field_identifier) @write)])]))
(assignment_statement left: (expression_list [
  (identifier) @write
  (parenthesized_expression (identifier) @write)
  (selector_expression field: (field_identifier) @write)
  (index_expression operand: [(identifier) @write (selector_expression field: (field_identifier) @write)])]))
([(inc_statement (identifier) @write) (dec_statement (identifier) @write)])
([(inc_statement (selector_expression field: (field_identifier) @write))
  (dec_statement (selector_expression field: (field_identifier) @write))])
([(inc_statement (parenthesized_expression (identifier) @write))
  (dec_statement (parenthesized_expression (identifier) @write))])
([(inc_statement (index_expression operand: (identifier) @write))
  (dec_statement (index_expression operand: (identifier) @write))])
(unary_expression operator: "&" operand: [
  (identifier) @write
  (parenthesized_expression (identifier) @write)
  (selector_expression field: (field_identifier) @write)
  (index_expression operand: [(identifier) @write (selector_expression field: (field_identifier) @write)])])
(slice_expression operand: [(identifier) @write (selector_expression field: (field_identifier) @write)])

; ---------------------------------------------------------------- calls and imports

(call_expression function: (identifier) @name) @call
(call_expression function: (selector_expression operand: (_) @from field: (field_identifier) @name)) @call
(call_expression arguments: (argument_list) @arguments) @call

(import_spec !name path: (_) @module) @import
(import_spec name: (package_identifier) @alias path: (_) @module) @import
(import_spec name: [(dot) (blank_identifier)] @name path: (_) @module) @import

; ---------------------------------------------------------------- conditions and flow

(if_statement condition: (_) @condition consequence: (block) @then) @branch
(if_statement alternative: (_) @else) @branch
(if_statement condition: (false) consequence: (block) @dead)
(for_statement body: (block) @loop)
(for_statement . (_) @header body: (block) @loop)
(for_statement . (false) body: (block) @dead)
(expression_case value: (_) @header) @case
(type_case type: (_) @header) @case
(communication_case communication: (_) @header) @case
(default_case) @case
(defer_statement (_) @defer)
(go_statement (_) @defer)
(return_statement) @return
(return_statement (expression_list) @content) @return
(return_statement (expression_list [
  (identifier) @error
  (selector_expression) @error
  (composite_literal type: (_) @error)
  (unary_expression operator: "&" operand: (composite_literal type: (_) @error))] .)) @raise
[(break_statement) (continue_statement) (goto_statement)] @leave
(labeled_statement) @label
[(source_file) (block) (statement_list)] @block
; A build constraint holds for the whole file.
((comment) @compiled @header (#match? @header "^//(go:build|\\s*\\+build) ") (#set! "rest"))

; ---------------------------------------------------------------- text

(package_clause (package_identifier) @package)
(comment) @comment
[(interpreted_string_literal) (raw_string_literal) (rune_literal)] @string

; ---------------------------------------------------------------- names that are provably only read

; The forms that bind or change a name are all above, so that every other one reads it.
[(identifier) (field_identifier) (type_identifier) (package_identifier)] @read
(label_name) @keyword
(import_spec name: (package_identifier) @keyword)
(keyed_element key: (literal_element (identifier) @keyword))
(binary_expression [(identifier) @look (index_expression operand: (identifier) @look)])
(if_statement condition: (identifier) @look)
(range_clause right: (identifier) @look)
((call_expression function: (identifier) @_len arguments: (argument_list (identifier) @look)) (#eq? @_len "len"))
