; C alone: what C++ writes in another way.

(if_statement condition: (parenthesized_expression (_) @condition)) @branch
((if_statement condition: (parenthesized_expression (number_literal) @_zero) consequence: (_) @dead) (#eq? @_zero "0"))
((if_statement condition: (parenthesized_expression (false)) consequence: (_) @dead))
((while_statement condition: (parenthesized_expression [(number_literal) (false)] @_zero) body: (_) @dead)
  (#any-of? @_zero "0" "false"))
((function_definition !type declarator: (function_declarator declarator: (identifier) @makes)) @function (#set! "declared"))
(type_definition declarator: (function_declarator declarator: (type_identifier) @name @type))
(macro_type_specifier) @error
(parameter_list (identifier) @bind)
((function_definition declarator: (function_declarator parameters: (parameter_list [(identifier) (variadic_parameter)])))
  @function (#set! "open"))
((function_definition declarator: (pointer_declarator declarator: (function_declarator
    parameters: (parameter_list [(identifier) (variadic_parameter)])))) @function (#set! "open"))
