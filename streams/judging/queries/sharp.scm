; C#. The captures are those of README.md. What stands where a type is wanted is a `@keyword`: a member of that name is
; another thing.

(file_scoped_namespace_declaration name: (_) @package)
(namespace_declaration name: (identifier) @name body: (_) @body) @space
(namespace_declaration name: (qualified_name qualifier: (_) @owner name: (identifier) @name) body: (_) @body) @space

; ---------------------------------------------------------------- functions

; A function that gets no name here is one without a name; one of an interface that is named has none.
[(method_declaration) (constructor_declaration) (destructor_declaration) (operator_declaration) (indexer_declaration)
  (conversion_operator_declaration) (accessor_declaration) (local_function_statement)] @function
(method_declaration returns: (_) @result . name: (identifier) @name) @function
(method_declaration body: (_) @body) @function
((method_declaration (modifier) @_partial !body) @function (#eq? @_partial "partial") (#set! "declared"))
(method_declaration (attribute_list) @decorator) @function
(constructor_declaration name: (identifier) @name body: (_) @body) @function
(local_function_statement type: (_) @result name: (identifier) @name body: (_) @body) @function

(method_declaration parameters: (parameter_list (parameter name: (identifier) @name) @parameter))
(method_declaration parameters: (parameter_list (parameter type: (_) @annotation) @parameter))
(method_declaration parameters: (parameter_list (parameter name: (identifier) . (_) @content) @parameter))
((method_declaration parameters: (parameter_list name: (identifier) @name @parameter)) (#set! "variadic"))
(constructor_declaration parameters: (parameter_list (parameter name: (identifier) @name) @parameter))
(constructor_declaration parameters: (parameter_list (parameter type: (_) @annotation) @parameter))
(constructor_declaration parameters: (parameter_list (parameter name: (identifier) . (_) @content) @parameter))
((constructor_declaration parameters: (parameter_list name: (identifier) @name @parameter)) (#set! "variadic"))
(local_function_statement parameters: (parameter_list (parameter name: (identifier) @name) @parameter))
(local_function_statement parameters: (parameter_list (parameter type: (_) @annotation) @parameter))
(local_function_statement parameters: (parameter_list (parameter name: (identifier) . (_) @content) @parameter))
((local_function_statement parameters: (parameter_list name: (identifier) @name @parameter)) (#set! "variadic"))

; ---------------------------------------------------------------- types

(class_declaration name: (identifier) @name body: (declaration_list) @body) @type
(struct_declaration name: (identifier) @name body: (declaration_list) @body) @type
(interface_declaration name: (identifier) @name body: (declaration_list) @body) @type
(record_declaration name: (identifier) @name) @type
(record_declaration body: (declaration_list) @body) @type
((enum_declaration name: (identifier) @name body: (_) @body) @type (#set! "kind" "enumeration"))
((delegate_declaration name: (identifier) @name) @type (#set! "open"))
([(class_declaration (base_list [(identifier) (generic_name) (qualified_name) (alias_qualified_name)] @base))
  (struct_declaration (base_list [(identifier) (generic_name) (qualified_name) (alias_qualified_name)] @base))
  (interface_declaration (base_list [(identifier) (generic_name) (qualified_name) (alias_qualified_name)] @base))
  (record_declaration (base_list [(identifier) (generic_name) (qualified_name) (alias_qualified_name)] @base))
  (record_declaration (base_list (primary_constructor_base_type type: (_) @base)))] @type)
([(class_declaration (modifier) @_partial) (struct_declaration (modifier) @_partial)
  (interface_declaration (modifier) @_partial) (record_declaration (modifier) @_partial)] @type
  (#eq? @_partial "partial") (#set! "open"))
[(class_declaration (attribute_list) @decorator) (struct_declaration (attribute_list) @decorator)
  (record_declaration (attribute_list) @decorator) (enum_declaration (attribute_list) @decorator)] @type

; ---------------------------------------------------------------- values

(field_declaration (variable_declaration (variable_declarator name: (identifier) @name) @value)) @whole
(field_declaration (variable_declaration type: (_) @annotation (variable_declarator) @value))
(field_declaration (variable_declaration (variable_declarator name: (identifier) . (_) @content) @value))
((field_declaration (modifier) @_const (variable_declaration (variable_declarator) @value))
  (#eq? @_const "const") (#set! "kind" "constant"))
((field_declaration (modifier) @_static . (modifier) @_readonly (variable_declaration (variable_declarator) @value))
  (#eq? @_static "static") (#eq? @_readonly "readonly") (#set! "kind" "constant"))
((field_declaration (variable_declaration (variable_declarator) @value)) (#set! "kind" "variable"))
((field_declaration (attribute_list) @decorator (variable_declaration (variable_declarator) @value))
  (#not-match? @decorator "^\\[Obsolete"))
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name) @value)) @whole
((property_declaration type: (_) @annotation . name: (identifier) @name) @value (#set! "kind" "variable"))
(property_declaration value: (_) @content) @value
((property_declaration (attribute_list) @decorator) @value (#not-match? @decorator "^\\[Obsolete"))
(property_declaration value: (arrow_expression_clause) @lambda)
((enum_member_declaration name: (identifier) @name) @value (#set! "kind" "constant"))
((record_declaration (parameter_list (parameter name: (identifier) @name) @value)) (#set! "kind" "variable"))
(record_declaration (parameter_list (parameter type: (_) @annotation) @value))

; ---------------------------------------------------------------- other bindings and writes

(local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @bind)))
(for_statement initializer: (variable_declaration (variable_declarator name: (identifier) @bind)))
(using_statement (variable_declaration (variable_declarator name: (identifier) @bind)))
(fixed_statement (variable_declaration (variable_declarator name: (identifier) @bind)))
(foreach_statement type: (_) left: (identifier) @bind)
(tuple_pattern name: (identifier) @bind)
(declaration_expression name: (identifier) @bind)
(declaration_pattern name: (identifier) @bind)
(recursive_pattern name: (identifier) @bind)
(list_pattern name: (identifier) @bind)
(var_pattern name: (identifier) @bind)
(parenthesized_variable_designation name: (identifier) @bind)
(catch_declaration name: (identifier) @bind)
(implicit_parameter) @bind
(lambda_expression parameters: (parameter_list (parameter name: (identifier) @bind)))
(anonymous_method_expression parameters: (parameter_list (parameter name: (identifier) @bind)))
(class_declaration (parameter_list (parameter name: (identifier) @bind)))
(struct_declaration (parameter_list (parameter name: (identifier) @bind)))
(delegate_declaration parameters: (parameter_list (parameter name: (identifier) @bind)))
(indexer_declaration parameters: (_ (parameter name: (identifier) @bind)))
(operator_declaration parameters: (_ (parameter name: (identifier) @bind)))
(conversion_operator_declaration parameters: (_ (parameter name: (identifier) @bind)))
(from_clause name: (identifier) @bind)
(let_clause . (identifier) @bind)
(join_clause (identifier) @bind)
(join_into_clause (identifier) @bind)
(query_expression (identifier) @bind)
(type_parameter name: (identifier) @bind)
(assignment_expression left: [
  (identifier) @write (member_access_expression name: (identifier) @write)
  (element_access_expression expression: [(identifier) @write (member_access_expression name: (identifier) @write)])])
(postfix_unary_expression [
  (identifier) @write (member_access_expression name: (identifier) @write)
  (element_access_expression expression: [(identifier) @write (member_access_expression name: (identifier) @write)])])
(prefix_unary_expression ["++" "--" "&"] [
  (identifier) @write (member_access_expression name: (identifier) @write)
  (element_access_expression expression: [(identifier) @write (member_access_expression name: (identifier) @write)])])
(argument ["ref" "out"] [
  (identifier) @write (member_access_expression name: (identifier) @write)
  (element_access_expression expression: [(identifier) @write (member_access_expression name: (identifier) @write)])])
(ref_expression [
  (identifier) @write (member_access_expression name: (identifier) @write)
  (element_access_expression expression: [(identifier) @write (member_access_expression name: (identifier) @write)])])
(tuple_expression (argument [(identifier) @write (member_access_expression name: (identifier) @write)]))
(parenthesized_expression (member_access_expression name: (identifier) @write))
(foreach_statement !type left: (_ (argument (identifier) @write)))

; ---------------------------------------------------------------- calls and imports

(invocation_expression function: [(identifier) @name (generic_name . (identifier) @name)]) @call
(invocation_expression function: (member_access_expression expression: _ @from
  name: [(identifier) @name (generic_name . (identifier) @name)])) @call
(invocation_expression function: (conditional_access_expression condition: _ @from
  (member_binding_expression name: [(identifier) @name (generic_name . (identifier) @name)]))) @call
(invocation_expression arguments: (argument_list) @arguments) @call
(object_creation_expression "new" @from type: [(identifier) @name (generic_name . (identifier) @name)]) @call
(object_creation_expression arguments: (argument_list) @arguments) @call

((using_directive !name [(qualified_name) (identifier)] @module .) @import (#set! "everything"))
(using_directive name: (identifier) @alias [(qualified_name) (identifier)] @module .) @import

; ---------------------------------------------------------------- conditions and flow

(preproc_if condition: (_) @header) @compiled
(preproc_elif condition: (_) @header) @compiled
(preproc_else) @compiled
((preproc_if condition: (boolean_literal) @_false) @dead (#eq? @_false "false"))

(if_statement condition: (_) @condition consequence: (_) @then) @branch
(if_statement alternative: (_) @else) @branch
(conditional_expression condition: (_) @condition consequence: (_) @then alternative: (_) @else) @branch
(binary_expression left: (_) @condition operator: "&&" right: (_) @then) @branch
((binary_expression left: (_) @condition operator: "||" right: (_) @then) @branch (#set! "turned"))
(binary_expression left: (_) @header operator: "??" right: (_) @case)
(assignment_expression left: (_) @header "??=" right: (_) @case)
(conditional_access_expression condition: (_) @header (_) @case .)
(while_statement condition: (_) @header body: (_) @loop)
(do_statement body: (_) @loop condition: (_) @header)
(for_statement body: (_) @loop)
(for_statement update: (_) @loop)
(foreach_statement left: (_) @header right: (_) @header body: (_) @loop)
(switch_section) @case
(switch_section (pattern) @header) @case
(switch_expression_arm . (_) @header) @case
(try_statement body: (_) @try (catch_clause))
(try_statement body: (_) @with (finally_clause))
(catch_clause body: (_) @handler)
(catch_clause (catch_declaration) @header body: (_) @handler)
(lambda_expression body: (_) @lambda)
(anonymous_method_expression (block) @lambda)
(query_expression) @lambda
(if_statement condition: (boolean_literal) @_false consequence: (_) @dead (#eq? @_false "false"))
(while_statement condition: (boolean_literal) @_false body: (_) @dead (#eq? @_false "false"))
(yield_statement) @yield
(return_statement) @return
(return_statement (_) @content) @return
(method_declaration returns: (_) @_none body: (arrow_expression_clause (_) @tail)
  (#not-match? @_none "^(void|Task|ValueTask)$"))
(local_function_statement type: (_) @_none body: (arrow_expression_clause (_) @tail)
  (#not-match? @_none "^(void|Task|ValueTask)$"))
[(throw_statement) (throw_expression)] @raise
(throw_statement (object_creation_expression type: (_) @error)) @raise
(throw_expression (object_creation_expression type: (_) @error)) @raise
[(break_statement) (continue_statement) (goto_statement)] @leave
[(labeled_statement) (local_function_statement)] @label
[(block) (switch_section)] @block

; ---------------------------------------------------------------- text

[(comment) (preproc_region) (preproc_endregion)] @comment
[(string_literal) (verbatim_string_literal) (raw_string_literal) (character_literal)] @string
(interpolated_string_expression (string_content) @string)
((identifier) @error (#match? @error "\\\\"))

; ---------------------------------------------------------------- names that are provably no write

(qualified_name (identifier) @keyword)
(variable_declaration type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(parameter type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(method_declaration returns: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(property_declaration type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(local_function_statement type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(nullable_type type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(array_type type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(type_argument_list [(identifier) @keyword (generic_name . (identifier) @keyword)])
(catch_declaration type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(cast_expression type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(typeof_expression type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(declaration_pattern type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(foreach_statement type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(base_list [(identifier) @keyword (generic_name . (identifier) @keyword)])
(primary_constructor_base_type type: [(identifier) @keyword (generic_name . (identifier) @keyword)])
(attribute name: (identifier) @keyword)
(using_directive (identifier) @keyword)
(file_scoped_namespace_declaration name: (identifier) @keyword)
(type_parameter_constraints_clause (identifier) @keyword)
(argument name: (identifier) @keyword)
(destructor_declaration name: (identifier) @keyword)
(labeled_statement (identifier) @keyword)
(goto_statement (identifier) @keyword)

; Their value is taken and not handed on.
((member_access_expression expression: [(identifier) @look (member_access_expression name: (identifier) @look)]
  name: (identifier) @_length) (#any-of? @_length "Length" "Count"))
(binary_expression [(identifier) @look (member_access_expression name: (identifier) @look)
  (element_access_expression expression: [(identifier) @look (member_access_expression name: (identifier) @look)])]
  operator: ["==" "!=" "<" "<=" ">" ">=" "+" "-" "*" "/" "%" "<<" ">>" "&" "|" "^"])
(binary_expression operator: ["==" "!=" "<" "<=" ">" ">=" "+" "-" "*" "/" "%" "<<" ">>" "&" "|" "^"]
  right: [(identifier) @look (member_access_expression name: (identifier) @look)
  (element_access_expression expression: [(identifier) @look (member_access_expression name: (identifier) @look)])])
(binary_expression operator: ["&&" "||"] [(identifier) @look (member_access_expression name: (identifier) @look)])
(binary_expression [(identifier) @look (member_access_expression name: (identifier) @look)] operator: ["&&" "||"])
(prefix_unary_expression ["!" "-" "+" "~"] [(identifier) @look (member_access_expression name: (identifier) @look)])
(foreach_statement right: [(identifier) @look (member_access_expression name: (identifier) @look)])
(if_statement condition: [(identifier) @look (member_access_expression name: (identifier) @look)])
(while_statement condition: [(identifier) @look (member_access_expression name: (identifier) @look)])
(conditional_expression condition: [(identifier) @look (member_access_expression name: (identifier) @look)])
(interpolation [(identifier) @look (member_access_expression name: (identifier) @look)])
(bracketed_argument_list (argument [(identifier) @look (member_access_expression name: (identifier) @look)]))
(is_pattern_expression expression: (identifier) @look)
(constant_pattern (identifier) @look)
(switch_statement value: (identifier) @look)

; Their value may be handed on: what does not change itself stays what it is.
(member_access_expression expression: (identifier) @read)
(member_access_expression name: (identifier) @read)
(conditional_access_expression condition: (identifier) @read)
(element_access_expression expression: (identifier) @read)
(argument_list (argument (identifier) @read))
(attribute_argument (identifier) @read)
(assignment_expression right: (identifier) @read)
(variable_declarator name: (identifier) . (identifier) @read)
(parameter name: (identifier) . (identifier) @read)
(property_declaration value: (identifier) @read)
(arrow_expression_clause (identifier) @read)
(return_statement (identifier) @read)
(await_expression (identifier) @read)
(throw_statement (identifier) @read)
(lock_statement . (identifier) @read)
(cast_expression value: (identifier) @read)
(as_expression left: (identifier) @read)
(conditional_expression consequence: (identifier) @read)
(conditional_expression alternative: (identifier) @read)
(binary_expression left: (identifier) @read operator: "??")
(binary_expression operator: "??" right: (identifier) @read)
(initializer_expression (identifier) @read)
(lambda_expression body: (identifier) @read)
(switch_expression . (identifier) @read)
