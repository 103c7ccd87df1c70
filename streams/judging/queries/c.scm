; C, and what C++ shares with it. The captures are those of README.md. What a macro may change is left out, or `@error`.

; ---------------------------------------------------------------- preprocessor

((preproc_def name: (identifier) @name @macro) @value (#set! "kind" "macro") (#set! "fixed"))
((preproc_def value: (preproc_arg) @content) @value (#set! "kind" "constant"))
((preproc_function_def name: (identifier) @name @macro) @value (#set! "kind" "macro"))
(preproc_call argument: (preproc_arg) @write)
((preproc_def name: (identifier) @_a value: (preproc_arg) @_b) @error (#eq? @_a @_b))

((preproc_include path: [(string_literal) (system_lib_string)] @module) @import (#set! "everything"))
(preproc_include "#include" @macro)
((preproc_include path: [(identifier) (call_expression)]) @import (#set! "everything") (#set! "relative"))

(preproc_ifdef ["#ifdef" "#ifndef"] @header name: (identifier) @header) @compiled
(preproc_if "#if" @header condition: (_) @header) @compiled
(preproc_elif "#elif" @header condition: (_) @header) @compiled
(preproc_elifdef ["#elifdef" "#elifndef"] @header name: (identifier) @header) @compiled
(preproc_else "#else" @header) @compiled
; The guard of a header, and `extern "C" {` for C++, are no conditions.
((translation_unit . (comment)* . (preproc_ifdef "#ifndef" name: (identifier) @_a
    . (preproc_def name: (identifier) @_b !value) !alternative) @compiled)
  (#eq? @_a @_b) (#set! "always"))
((preproc_ifdef name: (identifier) @_name (linkage_specification
    body: (declaration_list . (preproc_call directive: (preproc_directive) @_end)))) @compiled
  (#eq? @_name "__cplusplus") (#match? @_end "endif") (#set! "always"))
((linkage_specification body: (declaration_list
  (preproc_ifdef name: (identifier) @_name (MISSING "#endif") @unbroken))) (#eq? @_name "__cplusplus"))
((preproc_if condition: (number_literal) @_zero (_) @dead) (#match? @_zero "^0+$") (#not-match? @dead "^#\\s*el"))
((preproc_elif condition: (number_literal) @_zero (_) @dead) (#match? @_zero "^0+$") (#not-match? @dead "^#\\s*el"))
((preproc_if condition: (number_literal) @_one alternative: (_) @dead) (#not-match? @_one "^0+$"))

; Names in capitals that are called or stand alone may be macros: their arguments may vanish, and they may return.
((call_expression function: (identifier) @unsure) (#match? @unsure "^_*[A-Z][A-Z0-9_]+$"))
(expression_statement . (identifier) @unsure)
((call_expression function: (identifier) @_name arguments: (argument_list) @lambda)
  (#any-of? @_name "assert" "static_assert" "typeof" "__typeof__" "typeid" "offsetof" "noexcept" "defined"))
(sizeof_expression value: (_) @lambda)
(alignof_expression type: (_) @lambda)
(offsetof_expression member: (_) @lambda)
(generic_expression) @lambda
; A call that stands in no function is a macro's, which may define any name.
(translation_unit (expression_statement (call_expression) @makes))
(translation_unit (preproc_ifdef (expression_statement (call_expression) @makes)))
(translation_unit (preproc_if (expression_statement (call_expression) @makes)))
(declaration_list (expression_statement (call_expression) @makes))
(declaration declarator: (parenthesized_declarator (identifier) @makes))
(function_definition declarator: [(identifier) (pointer_declarator declarator: (identifier))]) @error

; ---------------------------------------------------------------- functions

(function_definition body: (compound_statement) @body) @function
(function_definition (type_qualifier) @result) @function
(function_definition type: (_) @result) @function
(function_definition declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator "*" @result declarator: (function_declarator declarator: (identifier) @name))
  (pointer_declarator "*" @result declarator: (pointer_declarator "*" @result
    declarator: (function_declarator declarator: (identifier) @name)))
]) @function
((function_definition declarator: (function_declarator declarator: (parenthesized_declarator
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))))) @function
  (#set! "open"))
((function_definition declarator: (function_declarator
    parameters: (parameter_list (parameter_declaration type: (type_identifier) !declarator))))
  @function (#set! "open"))
((function_definition declarator: (pointer_declarator declarator: (function_declarator
    parameters: (parameter_list (parameter_declaration type: (type_identifier) !declarator)))))
  @function (#set! "open"))

((declaration declarator: [
    (function_declarator declarator: (identifier) @name)
    (pointer_declarator "*" @result declarator: (function_declarator declarator: (identifier) @name))
  ]) @function (#set! "declared") (#set! "open"))
(declaration (type_qualifier) @result declarator: [(function_declarator) (pointer_declarator declarator: (function_declarator))]) @function
(declaration type: (_) @result declarator: [(function_declarator) (pointer_declarator declarator: (function_declarator))]) @function
(compound_statement (declaration declarator: (function_declarator declarator: (identifier) @bind)))
(compound_statement (declaration
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @bind))))

(function_declarator declarator: (identifier) parameters: (parameter_list (parameter_declaration declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
  (array_declarator declarator: (identifier) @name)
  (array_declarator declarator: (array_declarator declarator: (identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
  (function_declarator declarator: (identifier) @name)
]) @parameter))
(parameter_declaration (type_qualifier) @annotation type: (_) declarator: [(identifier) (pointer_declarator declarator: (identifier))]) @parameter
(parameter_declaration type: (_) @annotation declarator: (identifier)) @parameter
(parameter_declaration type: (_) @annotation declarator: (pointer_declarator "*" @annotation declarator: (identifier))) @parameter
(parameter_declaration declarator: (pointer_declarator (type_qualifier) @annotation declarator: (identifier))) @parameter

; ---------------------------------------------------------------- types

(struct_specifier name: (type_identifier) @name body: (field_declaration_list) @body) @type
(union_specifier name: (type_identifier) @name body: (field_declaration_list) @body) @type
((enum_specifier name: (type_identifier) @name body: (enumerator_list) @body) @type (#set! "kind" "enumeration"))
(type_definition type: [
  (struct_specifier !name body: (field_declaration_list) @body)
  (union_specifier !name body: (field_declaration_list) @body)
] declarator: (type_identifier) @name) @type
((type_definition type: (enum_specifier !name body: (enumerator_list) @body) declarator: (type_identifier) @name) @type
  (#set! "kind" "enumeration"))
; What a type without a name holds belongs to the variable or field that has it.
(declaration type: [(struct_specifier !name body: (_)) (union_specifier !name body: (_))] @type)
(field_declaration type: [(struct_specifier !name body: (_)) (union_specifier !name body: (_))] @type declarator: (_))
(field_declaration type: (enum_specifier !name body: (_)) @type)
(type_definition type: [(struct_specifier !name body: (_)) (union_specifier !name body: (_))] @type
  declarator: [(pointer_declarator) (array_declarator) (function_declarator)])
((type_definition type: [(primitive_type) (sized_type_specifier) (type_identifier)]
  declarator: (type_identifier) @name @type) (#set! "open"))
((type_definition type: [(struct_specifier name: (_) @_tag) (union_specifier name: (_) @_tag) (enum_specifier name: (_) @_tag)]
  declarator: (type_identifier) @name @type) (#not-eq? @_tag @name) (#set! "open"))
((type_definition declarator: (pointer_declarator declarator: (type_identifier) @name @type)) (#set! "open"))
((parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name @type)) (#set! "open"))
((struct_specifier body: (field_declaration_list (ERROR))) @type (#set! "open"))
((struct_specifier body: (field_declaration_list [
    (preproc_call) (field_declaration !declarator type: (type_identifier))
    (field_declaration type: (struct_specifier !body) !declarator)])) @type (#set! "open"))
((union_specifier body: (field_declaration_list [(preproc_call) (field_declaration !declarator type: (type_identifier))])) @type (#set! "open"))
((enum_specifier body: (enumerator_list (preproc_call))) @type (#set! "open"))

; ---------------------------------------------------------------- values

((declaration declarator: [(identifier) @name @value (pointer_declarator declarator: (identifier) @name @value)])
  (#set! "kind" "variable"))
((declaration declarator: [
    (array_declarator declarator: (identifier) @name @value)
    (array_declarator declarator: (array_declarator declarator: (identifier) @name @value))
    (pointer_declarator declarator: (array_declarator declarator: (identifier) @name @value))
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name @value))
  ]) (#set! "kind" "variable"))
((declaration (storage_class_specifier) @_extern declarator: [
    (identifier) @name @value
    (pointer_declarator declarator: (identifier) @name @value)
    (array_declarator declarator: (identifier) @name @value)
  ]) (#eq? @_extern "extern") (#set! "declared") (#set! "open"))
((parenthesized_declarator (pointer_declarator declarator: [(identifier) (field_identifier)] @name @value))
  (#set! "kind" "variable"))
((init_declarator declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
    (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
    (array_declarator declarator: (identifier) @name)
    (array_declarator declarator: (array_declarator declarator: (identifier) @name))
  ]) @value (#set! "kind" "variable"))
(declaration (type_qualifier) @annotation declarator: (init_declarator) @value)
(declaration type: (_) @annotation declarator: (init_declarator declarator: (identifier) value: (_) @content) @value)
(declaration type: (_) @annotation
  declarator: (init_declarator declarator: (pointer_declarator "*" @annotation declarator: (identifier)) value: (_) @content) @value)
(declaration type: (_) @annotation
  declarator: (init_declarator declarator: (array_declarator declarator: (identifier) "[" @annotation . "]" @annotation) value: (_) @content) @value)
(declaration type: (_) @annotation declarator: (init_declarator declarator: (pointer_declarator "*" @annotation
  declarator: (array_declarator declarator: (identifier) "[" @annotation . "]" @annotation)) value: (_) @content) @value)
((declaration (type_qualifier) @_const
    declarator: (init_declarator declarator: [(identifier) (array_declarator declarator: (identifier))]) @value)
  (#any-of? @_const "const" "constexpr") (#set! "kind" "constant") (#set! "fixed"))
((declaration (storage_class_specifier) @_static declarator: (init_declarator) @value)
  (#eq? @_static "static") (#set! "static"))
((enumerator name: (identifier) @name) @value (#set! "kind" "constant") (#set! "fixed"))
(enumerator value: (_) @content) @value

((field_declaration declarator: [
    (field_identifier) @name @value
    (pointer_declarator declarator: (field_identifier) @name @value)
    (pointer_declarator declarator: (pointer_declarator declarator: (field_identifier) @name @value))
    (pointer_declarator declarator: (array_declarator declarator: (field_identifier) @name @value))
    (array_declarator declarator: (field_identifier) @name @value)
    (array_declarator declarator: (array_declarator declarator: (field_identifier) @name @value))
  ]) (#set! "kind" "variable"))
(field_declaration (type_qualifier) @annotation declarator: (field_identifier) @value)
(field_declaration (type_qualifier) @annotation declarator: (pointer_declarator declarator: (field_identifier) @value))
(field_declaration type: (_) @annotation declarator: (field_identifier) @value)
(field_declaration type: (_) @annotation declarator: (pointer_declarator "*" @annotation declarator: (field_identifier) @value))

; ---------------------------------------------------------------- calls

(call_expression function: (identifier) @name arguments: (argument_list) @arguments) @call
(call_expression function: (field_expression argument: (_) @from field: (field_identifier) @name)
  arguments: (argument_list) @arguments) @call

; ---------------------------------------------------------------- conditions and flow

(if_statement consequence: (_) @then) @branch
(if_statement alternative: (else_clause (_) @else)) @branch
(conditional_expression condition: (_) @condition consequence: (_) @then alternative: (_) @else) @branch
(while_statement condition: (_) @header body: (_) @loop)
(do_statement body: (_) @loop)
(for_statement body: (_) @loop)
(for_statement condition: (_) @header body: (_) @loop)
(case_statement "case" @header value: (_) @header) @case
(case_statement "default" @header) @case
(return_statement) @return
(return_statement (_) @content) @return
((return_statement [(identifier) @error (unary_expression argument: (identifier) @error)]) @raise
  (#match? @error "^E[A-Z0-9]+$"))
[(break_statement) (continue_statement) (goto_statement)] @leave
[(labeled_statement) (case_statement)] @label
[(compound_statement) (case_statement)] @block

; ---------------------------------------------------------------- text

(comment) @comment
[(string_literal) (system_lib_string) (char_literal)] @string

; ---------------------------------------------------------------- names

(assignment_expression left: [
  (identifier) @write
  (field_expression field: (field_identifier) @write)
  (subscript_expression argument: [(identifier) @write (field_expression field: (field_identifier) @write)])
  (parenthesized_expression (identifier) @write)
])
(update_expression argument: [
  (identifier) @write
  (field_expression field: (field_identifier) @write)
  (subscript_expression argument: [(identifier) @write (field_expression field: (field_identifier) @write)])
  (parenthesized_expression (identifier) @write)
])

; Their value is taken and not handed on.
(binary_expression left: (_) operator: ["+" "-" "*" "/" "%" "<" ">" "<=" ">=" "==" "!=" "&&" "||"] right: (identifier) @look)
(binary_expression left: (identifier) @look operator: ["+" "-" "*" "/" "%" "<" ">" "<=" ">=" "==" "!=" "&&" "||"])
(binary_expression left: (subscript_expression argument: (identifier) @look) operator: ["<" ">" "<=" ">=" "==" "!="])
(binary_expression operator: ["<" ">" "<=" ">=" "==" "!="] right: (subscript_expression argument: (identifier) @look))
(unary_expression argument: (identifier) @look)

; They name what they name; what they mean may be changed there.
[(type_identifier) (field_identifier)] @read
(argument_list (identifier) @read)
(pointer_expression argument: (identifier) @read)
(init_declarator value: (identifier) @read)
(assignment_expression right: (identifier) @read)
(return_statement (identifier) @read)
(initializer_list (identifier) @read)
(initializer_pair value: (identifier) @read)
(field_expression argument: (identifier) @read)
(subscript_expression argument: (identifier) @read)
(cast_expression value: (identifier) @read)
(conditional_expression (identifier) @read)
(comma_expression (identifier) @read)
(parenthesized_expression (identifier) @read)
(binary_expression (identifier) @read)
(sizeof_expression value: (parenthesized_expression (identifier) @read))
(case_statement value: (identifier) @read)
(enumerator value: (identifier) @read)
(array_declarator size: (identifier) @read)
(for_statement condition: (identifier) @read)
