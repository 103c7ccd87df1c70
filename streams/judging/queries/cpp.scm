; C++, behind what it shares with C.

; ---------------------------------------------------------------- functions

; Without a type of its own it is a constructor, a destructor or a conversion in its class, and else what a macro makes.
((translation_unit (function_definition !type declarator: (function_declarator declarator: (identifier) @makes)) @function)
  (#set! "declared"))
((declaration_list (function_definition !type declarator: (function_declarator declarator: (identifier) @makes)) @function)
  (#set! "declared"))
((compound_statement (function_definition) @function) (#set! "declared"))
((friend_declaration [(function_definition) (declaration)] @function) (#set! "unnamed"))
((function_definition [(delete_method_clause) (default_method_clause)]) @function (#set! "bodiless"))
(function_definition body: (try_statement) @body) @function
(function_definition declarator: [
  (function_declarator declarator: [(field_identifier) (destructor_name) (operator_name)] @name)
  (pointer_declarator "*" @result
    declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name))
  (reference_declarator ["&" "&&"] @result
    (function_declarator declarator: [(identifier) (field_identifier) (operator_name)] @name))
]) @function
(function_definition declarator: (operator_cast "operator" @name)) @function
(function_definition declarator: [
  (function_declarator declarator: (qualified_identifier
    scope: (_) @owner name: [(identifier) (destructor_name) (operator_name)] @name))
  (pointer_declarator "*" @result declarator: (function_declarator declarator: (qualified_identifier
    scope: (_) @owner name: [(identifier) (operator_name)] @name)))
  (reference_declarator ["&" "&&"] @result (function_declarator declarator: (qualified_identifier
    scope: (_) @owner name: [(identifier) (operator_name)] @name)))
  (function_declarator declarator: (qualified_identifier name: (qualified_identifier
    scope: (_) @owner name: [(identifier) (destructor_name) (operator_name)] @name)))
  (pointer_declarator "*" @result declarator: (function_declarator declarator: (qualified_identifier
    name: (qualified_identifier scope: (_) @owner name: (identifier) @name))))
]) @function
((field_declaration declarator: [
    (function_declarator declarator: [(field_identifier) (operator_name)] @name)
    (pointer_declarator "*" @result declarator: (function_declarator declarator: (field_identifier) @name))
    (reference_declarator ["&" "&&"] @result (function_declarator declarator: (field_identifier) @name))
  ]) @function (#set! "declared") (#set! "open"))
(field_declaration (type_qualifier) @result declarator: [(function_declarator) (pointer_declarator (function_declarator)) (reference_declarator (function_declarator))]) @function
(field_declaration type: (_) @result declarator: [(function_declarator) (pointer_declarator (function_declarator)) (reference_declarator (function_declarator))]) @function
((declaration declarator: (function_declarator declarator: (destructor_name) @name)) @function (#set! "declared") (#set! "open"))
((function_definition declarator: (function_declarator parameters: (parameter_list
  ["..." (variadic_parameter_declaration) (optional_parameter_declaration !declarator)]))) @function (#set! "open"))

(function_declarator declarator: [(field_identifier) (qualified_identifier) (operator_name)]
  parameters: (parameter_list (parameter_declaration declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
    (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
    (array_declarator declarator: (identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
    (function_declarator declarator: (identifier) @name)
  ]) @parameter))
(function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)]
  parameters: (parameter_list (parameter_declaration declarator: (reference_declarator (identifier) @name)) @parameter))
(function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)]
  parameters: (parameter_list (optional_parameter_declaration declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (reference_declarator (identifier) @name)
  ] default_value: (_) @content) @parameter))
(optional_parameter_declaration (type_qualifier) @annotation type: (_)) @parameter
(optional_parameter_declaration type: (_) @annotation) @parameter
(optional_parameter_declaration type: (_) @annotation declarator: (pointer_declarator "*" @annotation)) @parameter
(optional_parameter_declaration type: (_) @annotation declarator: (reference_declarator ["&" "&&"] @annotation)) @parameter
(parameter_declaration (type_qualifier) @annotation type: (_) declarator: (reference_declarator (identifier))) @parameter
(parameter_declaration type: (_) @annotation declarator: (reference_declarator ["&" "&&"] @annotation (identifier))) @parameter
(lambda_expression declarator: (_ parameters: (parameter_list [
  (parameter_declaration declarator: (identifier) @bind)
  (parameter_declaration declarator: (_ (identifier) @bind))
  (optional_parameter_declaration declarator: (identifier) @bind)])))
(lambda_expression body: (_) @lambda)

; ---------------------------------------------------------------- types and spaces

(namespace_definition name: (namespace_identifier) @name body: (_) @body) @space
(namespace_definition name: (nested_namespace_specifier
  (namespace_identifier) @owner . (namespace_identifier) @name .) body: (_) @body) @space
(namespace_definition name: (nested_namespace_specifier
  (namespace_identifier) @owner . (nested_namespace_specifier (namespace_identifier) @name .)) body: (_) @body) @space
(class_specifier name: (type_identifier) @name body: (field_declaration_list) @body) @type
(class_specifier name: (template_type name: (type_identifier) @name) body: (field_declaration_list) @body) @type
(struct_specifier name: (template_type name: (type_identifier) @name) body: (field_declaration_list) @body) @type
(class_specifier (base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)) @type
(struct_specifier (base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)) @type
((class_specifier body: (field_declaration_list [
  (ERROR) (preproc_call) (field_declaration type: (type_identifier) !declarator) (using_declaration)])) @type (#set! "open"))
((struct_specifier body: (field_declaration_list (using_declaration))) @type (#set! "open"))
((class_specifier name: (type_identifier) @_type body: (field_declaration_list (declaration
  declarator: (function_declarator declarator: (identifier) @_name)))) @type (#not-eq? @_type @_name) (#set! "open"))
((struct_specifier name: (type_identifier) @_type body: (field_declaration_list (declaration
  declarator: (function_declarator declarator: (identifier) @_name)))) @type (#not-eq? @_type @_name) (#set! "open"))
((struct_specifier (base_class_clause "...")) @type (#set! "open"))
((class_specifier (base_class_clause "...")) @type (#set! "open"))
(declaration type: (class_specifier !name body: (_)) @type)
(field_declaration type: (class_specifier !name body: (_)) @type)
(type_definition type: (class_specifier !name body: (_)) @type)
((alias_declaration name: (type_identifier) @name) @type (#set! "open"))
(type_parameter_declaration (type_identifier) @bind)
(optional_type_parameter_declaration name: (type_identifier) @bind)
(variadic_type_parameter_declaration (type_identifier) @bind)
(template_parameter_list (parameter_declaration declarator: (identifier) @bind))
(template_parameter_list (optional_parameter_declaration declarator: (identifier) @bind))

; ---------------------------------------------------------------- values

(declaration type: (_) @annotation declarator: (init_declarator
  declarator: (qualified_identifier scope: (_) @owner name: (identifier) @name) value: (_) @content) @value)
((init_declarator declarator: (reference_declarator (identifier) @name) value: (identifier) @write) @value)
(init_declarator declarator: (reference_declarator (identifier) @name)) @value
((field_declaration declarator: (reference_declarator (field_identifier) @name @value)) (#set! "kind" "variable"))
(field_declaration declarator: (field_identifier) @value . default_value: (_) @content)
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @value) . default_value: (_) @content)
((field_declaration (type_qualifier) @_const declarator: (field_identifier) @value)
  (#eq? @_const "constexpr") (#set! "kind" "constant") (#set! "fixed"))
((field_declaration (storage_class_specifier) @_static (type_qualifier) @_const declarator: (field_identifier) @value)
  (#eq? @_static "static") (#eq? @_const "const") (#set! "kind" "constant") (#set! "fixed"))
(field_initializer (field_identifier) @write)
(structured_binding_declarator (identifier) @bind)
(for_range_loop declarator: [(identifier) @bind (_ (identifier) @bind)])
(for_range_loop right: (identifier) @read body: (_) @loop)
(for_range_loop declarator: (_) @header right: (_) @header body: (_) @loop)
(catch_clause parameters: (parameter_list (parameter_declaration declarator: [(identifier) @bind (_ (identifier) @bind)])))
(condition_clause value: (declaration declarator: [(identifier) @bind (_ (identifier) @bind)]))
(lambda_capture_specifier (identifier) @write)
(lambda_capture_initializer left: (identifier) @bind)
(using_declaration (qualified_identifier name: (identifier) @bind))
(namespace_alias_definition name: (namespace_identifier) @bind)

; ---------------------------------------------------------------- calls

(call_expression function: (field_expression
  argument: (_) @from field: (template_method name: (field_identifier) @name)) arguments: (argument_list) @arguments) @call
(call_expression function: (template_function name: (identifier) @name) arguments: (argument_list) @arguments) @call
(call_expression function: (qualified_identifier scope: (_) @from name: [
  (identifier) @name (template_function name: (identifier) @name)]) arguments: (argument_list) @arguments) @call
(new_expression type: (type_identifier) @name arguments: (_)? @arguments) @call
(new_expression type: (qualified_identifier scope: (_) @from name: (type_identifier) @name)) @call
(decltype) @lambda
(requires_clause) @lambda
(requires_expression) @lambda

; ---------------------------------------------------------------- conditions and flow

(if_statement condition: (condition_clause !initializer value: (_) @condition)) @branch
(if_statement condition: (condition_clause initializer: (_)) @condition) @branch
((if_statement condition: (condition_clause value: [(number_literal) (false)] @_zero) consequence: (_) @dead)
  (#any-of? @_zero "0" "false"))
((while_statement condition: (condition_clause value: [(number_literal) (false)] @_zero) body: (_) @dead)
  (#any-of? @_zero "0" "false"))
(try_statement body: (_) @try)
(catch_clause parameters: (_) @header body: (_) @handler)
(throw_statement) @raise
(throw_statement [
  (call_expression function: [(identifier) (qualified_identifier)] @error)
  (compound_literal_expression type: [(type_identifier) (qualified_identifier)] @error)]) @raise
[(co_yield_statement) (co_return_statement)] @yield

; ---------------------------------------------------------------- text and names

(raw_string_literal) @string
(namespace_identifier) @read
(qualified_identifier name: (identifier) @read)
(template_argument_list (_ (identifier) @read))
(condition_clause value: (identifier) @look)
(this) @read
