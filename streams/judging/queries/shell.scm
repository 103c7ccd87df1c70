; Shell, read as bash. The captures are those of README.md.

; ---------------------------------------------------------------- functions

(function_definition name: (word) @name) @function
(function_definition body: (_) @body) @function
; What is set in a process of its own is not seen outside of it.
([(subshell) (command_substitution) (process_substitution) (pipeline)] @space (#set! "apart"))

; ---------------------------------------------------------------- values

(program (variable_assignment name: (variable_name) @name "=" value: (_) @content) @value)
(compound_statement (variable_assignment name: (variable_name) @name "=" value: (_) @content) @value)
(if_statement (variable_assignment name: (variable_name) @name "=" value: (_) @content) @value)
(elif_clause (variable_assignment name: (variable_name) @name "=" value: (_) @content) @value)
(else_clause (variable_assignment name: (variable_name) @name "=" value: (_) @content) @value)
(do_group (variable_assignment name: (variable_name) @name "=" value: (_) @content) @value)
(case_item (variable_assignment name: (variable_name) @name "=" value: (_) @content) @value)
(list (variable_assignment name: (variable_name) @name "=" value: (_) @content) @value)
(variable_assignments (variable_assignment name: (variable_name) @name "=" value: (_) @content) @value)
(declaration_command (variable_assignment name: (variable_name) @name "=" value: (_) @content) @value)
((declaration_command "readonly" (variable_assignment) @value) (#set! "kind" "constant"))
((declaration_command (word) @_flag (variable_assignment) @value) (#match? @_flag "^-[a-zA-Z]*r") (#set! "kind" "constant"))
; `-i`, `-l`, `-u`, `-n` and `-A` change what a value is worth.
((declaration_command (word) @annotation (variable_assignment) @value) (#not-match? @annotation "^-[rxg]+$"))
; Without a value it is one that nobody knows.
((variable_assignment name: (variable_name) @name "=" !value) @value)
((variable_assignment name: (variable_name) @write) (#set! "kind" "variable"))
(variable_assignment name: (subscript name: (variable_name) @write))

; ---------------------------------------------------------------- calls and imports

(command name: (command_name (word) @name)) @call
(command name: (command_name (word)) argument: (_) @argument) @call
; A word may be the name of a function, or of a variable that the command sets.
((command name: (command_name (word) @_command) argument: (word) @alias) (#not-match? @_command "^(un)?alias$|^eval$|^trap$"))
(case_item (word) @alias)
(for_statement value: (word) @alias)

((command name: (command_name (word) @_source) . argument: (_) @module) @import
  (#any-of? @_source "source" ".") (#set! "everything"))
; Names that are computed may be those of any variable.
((command name: (command_name (word) @_sets) argument: [(simple_expansion) (expansion) (string) (concatenation)]) @import
  (#any-of? @_sets "read" "mapfile" "readarray" "getopts" "let" "set" "shopt" "eval" "trap") (#set! "everything"))
((command name: (command_name (word) @_sets) argument: (word) @_to argument: (_)) @import
  (#eq? @_sets "printf") (#eq? @_to "-v") (#set! "everything"))
((declaration_command [(simple_expansion) (expansion) (string) (concatenation)]) @import (#set! "everything"))
((unset_command [(simple_expansion) (expansion) (string) (concatenation)]) @import (#set! "everything"))
((command name: (command_name [(simple_expansion) (expansion) (string) (concatenation)])) @import (#set! "everything"))

; ---------------------------------------------------------------- conditions and flow

; Of several commands the last one decides.
((if_statement (_) @condition . ";" . "then" . (_) @then) @branch (#set! "spread"))
((if_statement (_) @condition . "then" . (_) @then) @branch (#set! "spread"))
(elif_clause) @elif
(elif_clause (_) @condition . ";" . "then" . (_) @then) @elif
(elif_clause (_) @condition . "then" . (_) @then) @elif
(if_statement (else_clause) @else) @branch
(list . (_) @condition . "&&" . (_) @then .) @branch
((list . (_) @condition . "||" . (_) @then .) @branch (#set! "turned"))
(while_statement . "while" . condition: (_) @header body: (do_group) @loop)
(while_statement . "until" @header . condition: (_) @header body: (do_group) @loop)
(for_statement variable: (_) @header body: (_) @loop)
(c_style_for_statement body: (_) @loop)
(case_statement value: (_) (case_item value: (_) @header) @case)
((list . (command name: (command_name (word) @_never)) . "&&" . (_) @dead) (#eq? @_never "false"))

(command name: (command_name (word) @_return) (#eq? @_return "return")) @return
(command name: (command_name (word) @_return) . argument: (_) @content (#eq? @_return "return")) @return
(command name: (command_name (word) @_exit) (#eq? @_exit "exit")) @raise
((command name: (command_name (word) @_leave)) @leave (#any-of? @_leave "break" "continue" "exec"))
[(program) (compound_statement) (do_group) (else_clause)] @block

; ---------------------------------------------------------------- text

(comment) @comment
[(raw_string) (heredoc_redirect) (string) (ansi_c_string)] @string

; ---------------------------------------------------------------- names of which the value is taken

(simple_expansion (variable_name) @look)
(expansion . "${" . (variable_name) @look . "}")
((expansion (variable_name) @look operator: _ @_operator) (#not-match? @_operator "^:?=$|^!$"))
(expansion "${" . (subscript name: (variable_name) @look))
