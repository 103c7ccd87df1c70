; Ruby. The captures are those of README.md.

; ---------------------------------------------------------------- methods

(method name: (_) @name) @function
(method body: (_) @body) @function
(singleton_method body: (_) @body) @function
((singleton_method object: (self) name: (_) @name) @function (#set! "kind" "static"))
((singleton_method object: (constant) @owner name: (_) @name) @function (#set! "kind" "static"))
(singleton_method) @function ; of another object it has no name here
(singleton_class value: (self)) @space
((singleton_class value: (self)) @space (#set! "static"))
((singleton_class value: (_) @_of) @type (#not-eq? @_of "self"))
(alias name: [(identifier) (simple_symbol)] @name) @function
(alias alias: (identifier) @alias)
((call !receiver method: (identifier) @_define arguments: (argument_list . (simple_symbol) @name) block: (_) @body) @function
  (#eq? @_define "define_method") (#set! "open"))

(method_parameters (identifier) @name @parameter)
(method_parameters (optional_parameter name: (identifier) @name value: (_) @content) @parameter)
(method_parameters (keyword_parameter name: (identifier) @name) @parameter)
(method_parameters (keyword_parameter name: (identifier) @name value: (_) @content) @parameter)
(method_parameters (block_parameter name: (identifier) @name) @parameter)
((method_parameters [
  (splat_parameter name: (identifier) @name) @parameter
  (hash_splat_parameter name: (identifier) @name) @parameter]) (#set! "variadic"))
((method parameters: (method_parameters [
  (splat_parameter !name) (hash_splat_parameter !name) (forward_parameter) (destructured_parameter)])) @function
  (#set! "open"))
((singleton_method parameters: (method_parameters [
  (splat_parameter !name) (hash_splat_parameter !name) (forward_parameter) (destructured_parameter)])) @function
  (#set! "open"))

; A block is run where it stands only by methods that are known to do that. Any other one is a function without a name.
((call method: (identifier) @header block: (_) @loop)
  (#match? @header "^(all[?]|any[?]|collect|collect!|count|cycle|delete_if|detect|downto|drop_while|each|each_byte|each_char|each_cons|each_entry|each_index|each_key|each_line|each_pair|each_slice|each_value|each_with_index|each_with_object|filter|filter_map|find|find_all|find_index|flat_map|group_by|inject|keep_if|loop|map|map!|max_by|min_by|none[?]|partition|reduce|reject|reject!|reverse_each|select|select!|sort|sort_by|step|sum|take_while|tap|times|upto)$"))
((call method: (identifier) @_run block: (_) @function)
  (#set! "block")
  (#not-match? @_run "^(all[?]|any[?]|collect|collect!|count|cycle|delete_if|detect|downto|drop_while|each|each_byte|each_char|each_cons|each_entry|each_index|each_key|each_line|each_pair|each_slice|each_value|each_with_index|each_with_object|filter|filter_map|find|find_all|find_index|flat_map|group_by|inject|keep_if|loop|map|map!|max_by|min_by|none[?]|partition|reduce|reject|reject!|reverse_each|select|select!|sort|sort_by|step|sum|take_while|tap|times|upto)$"))
(call method: (constant) block: (_) @function)
(call !method block: (_) @function)
(call method: (super) block: (_) @function)
(lambda) @function
[(begin_block) (end_block)] @function
; `loop` catches StopIteration.
((call method: (identifier) @_run block: (_ body: (_) @with)) (#eq? @_run "loop"))

; ---------------------------------------------------------------- types

(class name: (constant) @name) @type
(class name: (scope_resolution scope: (_) @owner name: (constant) @name)) @type
(class body: (_) @body) @type
(class superclass: (superclass (_) @base)) @type
; Without a base it may be open again here, and have one elsewhere.
((class !superclass) @type (#set! "open"))
((class body: (body_statement (call !receiver method: (identifier) @_mix))) @type
  (#any-of? @_mix "include" "extend" "prepend" "using") (#set! "open"))
(module name: (constant) @name) @space
(module name: (scope_resolution scope: (_) @owner name: (constant) @name)) @space
(module body: (_) @body) @space
((module) @space (#set! "kind" "mixin"))
((assignment left: (constant) @name right: (call receiver: (constant) @_of method: (identifier) @_new)) @type
  (#any-of? @_of "Struct" "Class" "Data") (#any-of? @_new "new" "define") (#set! "open") (#set! "kind" "constant"))
((assignment left: (constant) right: (call receiver: (constant) @_of block: (_) @body)) @type
  (#any-of? @_of "Struct" "Class" "Data") (#set! "open"))

; ---------------------------------------------------------------- values

((assignment left: (constant) @name right: (_) @content) @value
  (#not-match? @content "^(Struct|Class|Data)\\.(new|define)\\b") (#set! "kind" "constant"))
((assignment left: (scope_resolution scope: (_) @owner name: (constant) @name) right: (_) @content) @value
  (#set! "kind" "constant"))
((assignment left: (constant) @name right: (lambda)) @value (#set! "kind" "function"))
((operator_assignment left: (constant) @name @write) @value (#set! "kind" "constant"))
((left_assignment_list (constant) @name @value) (#set! "kind" "constant"))
((assignment left: [(class_variable) (global_variable)] @name @write right: (_)) @value (#set! "kind" "variable"))
(assignment left: (constant) @owner right: [
  (hash) @table
  (call receiver: (hash) @table method: (identifier) @_freeze)] (#eq? @_freeze "freeze"))
(pair key: [(hash_key_symbol) (simple_symbol) (string)] @name value: (_) @content) @key
((assignment left: (instance_variable) @name @write right: (_) @content) @attribute (#set! "own"))
((operator_assignment left: (instance_variable) @name @write) @attribute (#set! "own"))
((left_assignment_list (instance_variable) @name @write @attribute) (#set! "own"))
((call !receiver method: (identifier) @_attr arguments: (argument_list (simple_symbol) @name @value))
  (#any-of? @_attr "attr_reader" "attr_accessor") (#set! "kind" "method"))

; ---------------------------------------------------------------- other bindings and writes

(assignment left: (identifier) @bind)
(operator_assignment left: (identifier) @bind)
(left_assignment_list [(identifier) @bind (call method: (identifier) @write) (global_variable) @write
  (class_variable) @write (constant) @write (scope_resolution name: (constant) @write)])
(left_assignment_list (element_reference object: [
  (constant) @write (instance_variable) @write (call method: (identifier) @write)]))
(destructured_left_assignment [(identifier) @bind (instance_variable) @write (constant) @write
  (global_variable) @write (class_variable) @write (call method: (identifier) @write)])
(rest_assignment [(identifier) @bind (instance_variable) @write (constant) @write (global_variable) @write])
(operator_assignment left: [(global_variable) @write (class_variable) @write (call method: (identifier) @write)
  (scope_resolution name: (constant) @write)
  (element_reference object: [(constant) @write (instance_variable) @write (call method: (identifier) @write)])])
(assignment left: [(call method: (identifier) @write)
  (element_reference object: [(constant) @write (instance_variable) @write (call method: (identifier) @write)])])
(for pattern: [(identifier) @bind (instance_variable) @write (constant) @write (global_variable) @write])
(exception_variable [(identifier) @bind (instance_variable) @write (constant) @write (global_variable) @write
  (call method: (identifier) @write)])
(undef (identifier) @write)
[(array_pattern (identifier) @bind) (find_pattern (identifier) @bind) (as_pattern name: (identifier) @bind)
  (parenthesized_pattern (identifier) @bind) (keyword_pattern key: (hash_key_symbol) @bind)]
(in_clause pattern: (identifier) @bind)
(keyword_pattern value: (identifier) @bind)
[(test_pattern pattern: (identifier) @bind) (match_pattern pattern: (identifier) @bind)]
(block_parameters (identifier) @bind)
(block_parameters locals: (identifier) @bind)
(lambda_parameters (identifier) @bind)
(destructured_parameter (identifier) @bind)
[(splat_parameter name: (identifier) @bind) (hash_splat_parameter name: (identifier) @bind)
  (block_parameter name: (identifier) @bind) (optional_parameter name: (identifier) @bind)
  (keyword_parameter name: (identifier) @bind)]
(binary left: [(constant) @write (instance_variable) @write] operator: "<<")

; ---------------------------------------------------------------- calls and imports

(call !receiver method: [(identifier) (constant)] @name) @call
(call receiver: (_) @from method: [(identifier) (constant)] @name) @call
(call method: [(identifier) (constant)] arguments: (argument_list) @arguments) @call
((super) @call @from (#set! "same"))

; A plain name is a call, unless it is bound: then it is a variable.
(identifier) @name @call
(unary "defined?" operand: (_) @lambda)

((call !receiver method: (identifier) @_require arguments: (argument_list . (string) @module .)) @import
  (#any-of? @_require "require" "require_relative" "load"))
((call !receiver method: (identifier) @_require arguments: (argument_list . (simple_symbol) . (string) @module .)) @import
  (#eq? @_require "autoload"))
((call method: (identifier) @_require arguments: (argument_list . (_) . (_) @_module)) @import
  (#eq? @_require "autoload") (#not-match? @_module "^('[^']*'|\"[^\"#]*\")$") (#set! "relative"))
((call method: (identifier) @_require arguments: (argument_list . (_) @_module)) @import
  (#any-of? @_require "require" "require_relative" "load")
  (#not-match? @_module "^('[^']*'|\"[^\"#]*\")$") (#set! "relative"))

; ---------------------------------------------------------------- conditions and flow

(if condition: (_) @condition consequence: (then) @then) @branch
(if alternative: (_) @else) @branch
(elsif condition: (_) @condition consequence: (then) @then) @branch
(elsif alternative: (_) @else) @branch
((unless condition: (_) @condition consequence: (then) @then) @branch (#set! "turned"))
(unless alternative: (_) @else) @branch
(if_modifier body: (_) @then condition: (_) @condition) @branch
((unless_modifier body: (_) @then condition: (_) @condition) @branch (#set! "turned"))
(conditional condition: (_) @condition consequence: (_) @then alternative: (_) @else) @branch
((binary left: (_) @condition operator: _ @_and right: (_) @then) @branch (#match? @_and "^(&&|and)$"))
((binary left: (_) @condition operator: _ @_or right: (_) @then) @branch (#match? @_or "^([|][|]|or)$") (#set! "turned"))
((operator_assignment left: (_) @header operator: ["||=" "&&="] @header right: (_) @case))
(while condition: (_) @header body: (do) @loop)
(until "until" @header condition: (_) @header body: (do) @loop)
(while_modifier body: (_) @loop condition: (_) @header)
(until_modifier body: (_) @loop "until" @header condition: (_) @header)
(for pattern: (_) @header value: (_) @header body: (do) @loop)
(when pattern: (_) @header body: (then) @case)
(case (else) @case)
(in_clause pattern: (_) @header body: (then) @case)
(case_match (else) @case)
(rescue body: (then) @handler)
(rescue exceptions: (_) @header body: (then) @handler)
(rescue_modifier body: (_) @try handler: (_) @handler)
(body_statement (rescue)) @try
(begin (rescue)) @try
(body_statement (ensure (return))) @try
(begin (ensure (return))) @try
(ensure) @defer
; The value of the body is that of `else`, where there is one.
(body_statement (rescue) (else) @yield)
(if condition: [(false) (nil)] consequence: (then) @dead)
(if_modifier body: (_) @dead condition: [(false) (nil)])
(unless condition: (true) consequence: (then) @dead)
(unless_modifier body: (_) @dead condition: (true))
(while condition: [(false) (nil)] body: (do) @dead)

(return) @return
(return (argument_list) @content) @return
((method body: (body_statement (_) @tail .)) (#not-match? @tail "^(return|raise|fail|throw|rescue|else|ensure)\\b"))
((method body: (body_statement (_) @tail . [(rescue) (ensure)]))
  (#not-match? @tail "^(return|raise|fail|throw|rescue|else|ensure)\\b"))
((singleton_method body: (body_statement (_) @tail .))
  (#not-match? @tail "^(return|raise|fail|throw|rescue|else|ensure)\\b"))
((singleton_method body: (body_statement (_) @tail . [(rescue) (ensure)]))
  (#not-match? @tail "^(return|raise|fail|throw|rescue|else|ensure)\\b"))
(method body: (body_statement (rescue body: (then (_) @tail .))))
(singleton_method body: (body_statement (rescue body: (then (_) @tail .))))
(method "=" body: (_) @tail)
(singleton_method "=" body: (_) @tail)

((call !receiver method: (identifier) @_raise) @raise (#any-of? @_raise "raise" "fail" "throw" "exit" "abort"))
((call !receiver method: (identifier) @_raise arguments: (argument_list . [(constant) (scope_resolution)] @error)) @raise
  (#any-of? @_raise "raise" "fail"))
((call !receiver method: (identifier) @_raise arguments: (argument_list .
  (call receiver: [(constant) (scope_resolution)] @error method: (identifier) @_new))) @raise
  (#any-of? @_raise "raise" "fail") (#any-of? @_new "new" "exception"))
((body_statement (identifier) @raise) (#any-of? @raise "raise" "fail" "exit" "abort"))
((then (identifier) @raise) (#any-of? @raise "raise" "fail" "exit" "abort"))
((else (identifier) @raise) (#any-of? @raise "raise" "fail" "exit" "abort"))
[(break) (next) (redo) (retry)] @leave
[(program) (body_statement) (then) (else) (ensure) (begin) (do) (block_body) (parenthesized_statements)] @block

; ---------------------------------------------------------------- text

[(comment) (uninterpreted)] @comment
[(string) (string_array) (heredoc_body) (character)] @string

; ---------------------------------------------------------------- names that are provably only read

; What changes them is captured above, and counts for more.
[(constant) (instance_variable) (class_variable) (global_variable)] @read
(hash_key_symbol) @keyword
((binary [(constant) (instance_variable)] @look operator: _ @_operator)
  (#match? @_operator "^([=!]=|[<>]=?|===|=~|!~|<=>|[*/%-])$"))
((binary (element_reference object: (constant) @look) operator: _ @_operator)
  (#match? @_operator "^([=!]=|[<>]=?|===|=~|!~|<=>|[*/%+-])$"))
(interpolation [(constant) @look (instance_variable) @look (element_reference object: (constant) @look)])
(pattern [(constant) @look (splat_argument (constant) @look)])
((call receiver: [(constant) @look (instance_variable) @look] method: (identifier) @_look !block)
  (#match? @_look "^(include|member|key|has_key|value|empty|any|frozen|nil|is_a|match|start_with|end_with)[?]$|^(size|length|count|index|join|inspect|to_s|to_sym|to_i|hash|upcase|downcase|freeze|class|bytesize)$"))
; A symbol may name anything. Where a call that is not known takes it, it may change what it names.
((simple_symbol) @alias (#not-match? @alias "^:[A-Z]"))
((call method: (identifier) @_with arguments: (argument_list (simple_symbol) @write))
  (#not-match? @_with "^(private|public|protected|(private|public)_class_method|module_function|attr_reader|attr_accessor|send|public_send|__send__|method|instance_method|public_method|raise|fetch|dig|delete|new|puts|p|throw|catch|try|(private|public)_constant)$|[?]$"))
((call method: (identifier) @_with arguments: (argument_list (simple_symbol) @read))
  (#any-of? @_with "private_constant" "public_constant"))
