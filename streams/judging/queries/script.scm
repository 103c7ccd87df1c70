; JavaScript and TypeScript: what their grammars have in common. The captures are those of README.md.

; ---------------------------------------------------------------- functions

; A function that gets no name from what stands around it is one without a name.
[(function_declaration) (generator_function_declaration) (arrow_function) (function_expression) (generator_function)] @function
[(method_definition) (class_static_block)] @function
(function_declaration name: (identifier) @name body: (_) @body) @function
(generator_function_declaration name: (identifier) @name body: (_) @body) @function
(arrow_function body: (_) @body) @function
(function_expression body: (_) @body) @function
(generator_function body: (_) @body) @function
(method_definition body: (_) @body) @function
(export_statement declaration: [(function_declaration) (generator_function_declaration)] @function) @whole
(function_expression name: (identifier) @bind)
(generator_function name: (identifier) @bind)

(class_body (method_definition name: [
  (property_identifier) (private_property_identifier) (string) (number)] @name) @function)
((object (method_definition name: [(property_identifier) (string)] @name) @function) (#set! "keyed"))
((method_definition "static") @function (#set! "kind" "static"))
((method_definition "static") @function (#set! "kind" "method"))
((object (pair key: [(property_identifier) (string)] @name
    value: [(arrow_function) (function_expression) (generator_function)] @function) @whole)
  (#set! "keyed") (#set! "kind" "function"))
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)] @function) @whole
((lexical_declaration kind: "const" (variable_declarator
  name: (identifier) value: [(arrow_function) (function_expression) (generator_function)] @function))
  (#set! "kind" "constant"))
((assignment_expression
    left: (member_expression
      object: (member_expression object: (identifier) @owner property: (property_identifier) @_prototype)
      property: (property_identifier) @name)
    right: [(arrow_function) (function_expression) (generator_function)] @function) @whole
  (#eq? @_prototype "prototype"))
((assignment_expression
    left: (member_expression object: (identifier) @owner property: (property_identifier) @name)
    right: [(arrow_function) (function_expression) (generator_function)] @function) @whole
  (#set! "kind" "static"))
((assignment_expression
    left: (member_expression
      object: (member_expression object: (identifier) @_module property: (property_identifier) @owner)
      property: (property_identifier) @name)
    right: [(arrow_function) (function_expression) (generator_function)] @function) @whole
  (#eq? @_module "module") (#set! "kind" "static"))

(arrow_function parameter: (identifier) @name @parameter)
(arrow_function body: (expression) @tail)

; ---------------------------------------------------------------- types

[(class_declaration) (class)] @type
(class_declaration body: (class_body) @body) @type
(class body: (class_body) @body) @type
(export_statement declaration: (class_declaration) @type) @whole
(class_declaration decorator: (decorator) @decorator) @type
(class decorator: (decorator) @decorator) @type
(export_statement decorator: (decorator) @decorator declaration: (class_declaration) @type)
(variable_declarator name: (identifier) @name value: (class) @type) @whole

; ---------------------------------------------------------------- values

(variable_declarator name: (identifier) @name value: (_)? @content) @value
((lexical_declaration kind: "const" (variable_declarator name: (identifier)) @value) (#set! "kind" "constant"))
((lexical_declaration kind: "let" (variable_declarator name: (identifier)) @value) (#set! "kind" "variable"))
((variable_declaration (variable_declarator name: (identifier)) @value) (#set! "kind" "variable"))
((variable_declarator name: (identifier) @name) @value
  (#match? @name "^_*[A-Z][A-Z0-9_]*$") (#set! "kind" "constant"))
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name @value))
(variable_declarator name: (object_pattern (pair_pattern value: (identifier) @name @value)))
(variable_declarator name: (object_pattern (object_assignment_pattern
  left: (shorthand_property_identifier_pattern) @name @value)))
(variable_declarator name: (array_pattern (identifier) @name @value))

(variable_declarator name: (identifier) @owner value: (object) @table)
((variable_declarator name: (identifier) @owner value: (call_expression
  function: (member_expression) @_freeze arguments: (arguments . (object) @table .)))
  (#eq? @_freeze "Object.freeze"))
(pair key: [(property_identifier) (string)] @name value: (_) @content) @key
(assignment_expression
  left: (member_expression object: (this) @from property: [(property_identifier) (private_property_identifier)] @name)
  right: (_) @content) @attribute

; ---------------------------------------------------------------- other bindings and writes

(for_in_statement kind: ["const" "let" "var"] left: (identifier) @bind)
(for_in_statement kind: ["const" "let" "var"] left: (array_pattern (identifier) @bind))
(for_in_statement kind: ["const" "let" "var"] left: (object_pattern (shorthand_property_identifier_pattern) @bind))
(catch_clause parameter: (identifier) @bind)
(catch_clause parameter: (object_pattern (shorthand_property_identifier_pattern) @bind))
(assignment_expression left: (identifier) @write)
(assignment_expression left: (member_expression property: (_) @write))
(assignment_expression left: (array_pattern [(identifier) @write (member_expression property: (_) @write)]))
(assignment_expression left: (object_pattern (shorthand_property_identifier_pattern) @write))
(augmented_assignment_expression left: [(identifier) @write (member_expression property: (_) @write)])
(update_expression argument: [(identifier) @write (member_expression property: (_) @write)])
(unary_expression operator: "delete" argument: (member_expression property: (_) @write))

; ---------------------------------------------------------------- calls and imports

(call_expression function: (identifier) @name) @call
(call_expression function: (member_expression
  object: (_) @from property: [(property_identifier) (private_property_identifier)] @name)) @call
(call_expression arguments: (arguments) @arguments) @call
((call_expression function: (subscript_expression "[" @name)) @call)
(new_expression constructor: (identifier) @name) @call
(new_expression constructor: (member_expression object: (_) @from property: (property_identifier) @name)) @call
(new_expression arguments: (arguments) @arguments) @call

(import_statement source: (string) @module) @import
((import_statement source: (string) @_module) @import (#match? @_module "^.\\.") (#set! "relative"))
(import_clause (identifier) @alias @import)
(namespace_import (identifier) @alias @import)
(import_specifier name: (identifier) @name @imported !alias) @import
(import_specifier alias: (identifier) @alias) @import
(export_statement source: (string) @module) @import
((export_statement source: (string) @_module) @import (#match? @_module "^.\\.") (#set! "relative"))
((call_expression function: [(identifier) @_require (import) @_require] arguments: (arguments . (string) @module)) @import
  (#any-of? @_require "require" "import"))
((call_expression function: [(identifier) @_require (import) @_require] arguments: (arguments . (string) @_module)) @import
  (#any-of? @_require "require" "import") (#match? @_module "^.\\.") (#set! "relative"))
((call_expression function: [(identifier) @_require (import) @_require] arguments: (arguments . [(identifier)
    (member_expression) (binary_expression) (template_string) (call_expression) (subscript_expression)])) @import
  (#any-of? @_require "require" "import") (#set! "relative") (#set! "module" "."))
((variable_declarator name: (identifier) @alias value: (call_expression function: (identifier) @_require) @import)
  (#eq? @_require "require"))
((variable_declarator name: (identifier) @alias
    value: (member_expression object: (call_expression function: (identifier) @_require) @import))
  (#eq? @_require "require"))
((variable_declarator name: (object_pattern) @names value: (call_expression function: (identifier) @_require) @import)
  (#eq? @_require "require"))

; ---------------------------------------------------------------- conditions and flow

(if_statement condition: (parenthesized_expression [(expression) (sequence_expression)] @condition)
  consequence: (_) @then) @branch
(if_statement alternative: (else_clause (statement) @else)) @branch
(ternary_expression condition: (_) @condition consequence: (_) @then alternative: (_) @else) @branch
; One pattern, since what waits for the operator costs as much as the operand in front of it is deep.
(binary_expression operator: ["&&" "||" "??"] right: (_) @case) @header
(augmented_assignment_expression left: (_) @header operator: ["&&=" "||=" "??="] right: (_) @case)
(while_statement condition: (_) @header body: (_) @loop)
(do_statement body: (_) @loop condition: (_) @header)
(for_statement body: (_) @loop)
(for_statement increment: (_) @loop)
(for_in_statement left: (_) @header right: (_) @header body: (_) @loop)
(switch_case value: (_) @header) @case
(switch_default) @case
(try_statement body: (_) @try handler: (catch_clause))
(try_statement body: (_) @with finalizer: (_))
(try_statement handler: (catch_clause body: (_) @with) finalizer: (_))
(catch_clause body: (_) @handler)
; What stands behind a `try` may change what it returns.
(finally_clause body: (statement_block [(return_statement) (throw_statement) (break_statement) (continue_statement)
  (if_statement) (try_statement) (switch_statement) (for_statement) (for_in_statement) (while_statement)] @yield))
(with_statement body: (_) @lambda)
(if_statement condition: (parenthesized_expression [(false) (null) (undefined)]) consequence: (_) @dead)
((if_statement condition: (parenthesized_expression (number) @_zero) consequence: (_) @dead) (#eq? @_zero "0"))
(while_statement condition: (parenthesized_expression (false)) body: (_) @dead)
(yield_expression) @yield
(return_statement) @return
(return_statement (_) @content) @return
(throw_statement) @raise
(throw_statement (new_expression constructor: [(identifier) (member_expression)] @error)) @raise
(throw_statement (call_expression function: [(identifier) (member_expression)] @error)) @raise
(throw_statement (identifier) @error) @raise
[(break_statement) (continue_statement)] @leave
[(function_declaration) (generator_function_declaration)] @hoisted
[(program) (statement_block) (switch_case) (switch_default)] @block

; ---------------------------------------------------------------- text

[(comment) (hash_bang_line)] @comment
[(string) (regex)] @string
(template_string (string_fragment) @string)

; ---------------------------------------------------------------- names that are provably only read

; Their value is taken and not handed on.
(unary_expression operator: ["!" "-" "+" "~" "typeof" "void"] argument: [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(if_statement condition: (parenthesized_expression [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)]))
(while_statement condition: (parenthesized_expression [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)]))
(switch_statement value: (parenthesized_expression [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)]))
(template_substitution [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(switch_case value: [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)])
(ternary_expression condition: [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)])
(for_in_statement right: [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)])
(subscript_expression index: [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)])
(expression_statement [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)])
(spread_element [(identifier) @look (member_expression object: (identifier)? @look property: (_) @look)])
((call_expression function: (member_expression
    object: [(identifier) @look (member_expression property: (_) @look)] property: (property_identifier) @_only))
  (#any-of? @_only "includes" "indexOf" "lastIndexOf" "has" "get" "join" "hasOwnProperty"))
((call_expression function: (member_expression object: (identifier) @_object property: (property_identifier) @_only)
    arguments: (arguments . [(identifier) @look (member_expression property: (_) @look)] .))
  (#eq? @_object "Object") (#any-of? @_only "keys" "freeze"))

; Their value may be handed on: what does not change itself stays what it is. What they are a member of is not.
(binary_expression [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(arguments [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(array [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(pair value: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(variable_declarator value: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(assignment_expression right: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(augmented_assignment_expression right: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(return_statement [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(arrow_function body: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)
  (subscript_expression object: [(identifier) @look (member_expression property: (_) @look)])])
(ternary_expression consequence: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(ternary_expression alternative: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(throw_statement [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(await_expression [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(yield_expression [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(assignment_pattern right: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(object_assignment_pattern right: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(computed_property_name [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(export_statement value: (identifier) @read)
(export_specifier name: (identifier) @read)
(member_expression object: [(identifier) @read (member_expression property: (_) @read)])
(subscript_expression object: [(identifier) @read (member_expression property: (_) @read)])
(shorthand_property_identifier) @read
(decorator (identifier) @read)
