; Python. The captures are those of README.md.

; ---------------------------------------------------------------- functions

(function_definition name: (identifier) @name body: (block) @body) @function
(function_definition return_type: (type) @result) @function
(function_definition parameters: (parameters . (identifier) @receiver)) @function
(function_definition parameters: (parameters . (typed_parameter . (identifier) @receiver))) @function
((function_definition body: (block (expression_statement (ellipsis)) .)) @function (#set! "bodiless"))
(decorated_definition definition: (function_definition) @function) @whole
(decorator) @decoration

(parameters (identifier) @name @parameter)
(parameters (default_parameter name: (identifier) @name value: (_) @content) @parameter)
(parameters (typed_parameter . (identifier) @name type: (type) @annotation) @parameter)
(parameters (typed_default_parameter
  name: (identifier) @name type: (type) @annotation value: (_) @content) @parameter)
((parameters [
    (list_splat_pattern (identifier) @name)
    (dictionary_splat_pattern (identifier) @name)
    (typed_parameter [
      (list_splat_pattern (identifier) @name)
      (dictionary_splat_pattern (identifier) @name)])
  ] @parameter) (#set! "variadic"))
(lambda_parameters [
  (identifier) @bind
  (default_parameter name: (identifier) @bind)
  (list_splat_pattern (identifier) @bind)
  (dictionary_splat_pattern (identifier) @bind)])

; ---------------------------------------------------------------- types

(class_definition name: (identifier) @name body: (block) @body) @type
(class_definition superclasses: (argument_list) @bases) @type
((class_definition superclasses: (argument_list [(identifier) @_base (attribute attribute: (identifier) @_base)])) @type
  (#match? @_base "(Enum|Flag)$") (#set! "kind" "enumeration"))
(decorated_definition definition: (class_definition) @type) @whole
((type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @type (#set! "open"))

; ---------------------------------------------------------------- values

((assignment left: (identifier) @name right: (_) @content) @value (#set! "kind" "variable"))
((assignment left: (identifier) @name type: (type) @annotation) @value (#set! "kind" "variable"))
((assignment left: (identifier) @name) @value (#match? @name "^_*[A-Z][A-Z0-9_]*$") (#set! "kind" "constant"))
((assignment left: (identifier) @name type: (type) @_type) @value
  (#match? @_type "(^|\\.)Final(\\[|$)") (#set! "kind" "constant"))
((assignment left: (identifier) @name right: (lambda)) @value (#set! "kind" "function"))
(assignment left: [(pattern_list (identifier) @name @value) (tuple_pattern (identifier) @name @value)
  (list_pattern (identifier) @name @value)])
(assignment left: (identifier) @owner right: (dictionary) @table)
(pair key: (string) @name value: (_) @content) @key
(assignment
  left: (attribute object: (identifier) @from attribute: (identifier) @name) right: (_)? @content) @attribute
(assignment
  left: (attribute object: (identifier) @from attribute: (identifier) @name) type: (type) @annotation) @attribute

; ---------------------------------------------------------------- other bindings and writes

(for_statement left: (identifier) @bind)
(for_in_clause left: (identifier) @bind)
(pattern_list [(identifier) @bind (list_splat_pattern (identifier) @bind) (attribute attribute: (identifier) @write)])
(tuple_pattern [(identifier) @bind (list_splat_pattern (identifier) @bind) (attribute attribute: (identifier) @write)])
(list_pattern [(identifier) @bind (list_splat_pattern (identifier) @bind) (attribute attribute: (identifier) @write)])
(as_pattern_target [(identifier) @bind (attribute attribute: (identifier) @write)])
(named_expression name: (identifier) @bind)
(global_statement (identifier) @write)
(nonlocal_statement (identifier) @write)
(delete_statement [(identifier) @write (attribute attribute: (identifier) @write)])
(delete_statement (expression_list [(identifier) @write (attribute attribute: (identifier) @write)]))
(augmented_assignment left: [(identifier) @write (attribute attribute: (identifier) @write)])
(assignment left: (attribute attribute: (identifier) @write))
(for_statement left: (attribute attribute: (identifier) @write))

; ---------------------------------------------------------------- calls and imports

(call function: (identifier) @name) @call
(call function: (attribute object: (_) @from attribute: (identifier) @name)) @call
(call arguments: (argument_list) @arguments) @call
(call arguments: (generator_expression) @argument) @call
(keyword_argument name: (identifier) @keyword)

(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @name) @import
(import_from_statement
  module_name: (_) @module name: (aliased_import name: (dotted_name) @name alias: (identifier) @alias)) @import
((import_from_statement module_name: (_) @module (wildcard_import)) @import (#set! "everything"))
((import_from_statement module_name: (relative_import)) @import (#set! "relative"))
((future_import_statement name: (dotted_name) @name) @import (#set! "module" "__future__"))
(import_statement name: (dotted_name (identifier) @imported))
(import_from_statement module_name: (dotted_name (identifier) @imported))
(import_from_statement name: (dotted_name (identifier) @imported))

; ---------------------------------------------------------------- conditions and flow

(if_statement condition: (_) @condition consequence: (block) @then) @branch
(elif_clause condition: (_) @condition consequence: (block) @then) @elif
(else_clause body: (block) @else) @elif
(conditional_expression . (_) @then . (_) @condition . (_) @else .) @branch
(while_statement condition: (_) @header body: (block) @loop)
(for_statement left: (_) @header right: (_) @header body: (block) @loop)
(case_clause (case_pattern) @header consequence: (block) @case)
(try_statement body: (block) @try (except_clause))
(except_clause value: (_) @header (block) @handler)
(except_clause . (block) @handler)
(with_statement body: (block) @with)
(lambda body: (_) @lambda)
(if_statement condition: [(false) (none)] consequence: (block) @dead)
((if_statement condition: (integer) @_zero consequence: (block) @dead) (#eq? @_zero "0"))
(while_statement condition: (false) body: (block) @dead)
(yield) @yield
(return_statement) @return
(return_statement (_) @content) @return
(raise_statement) @raise
(raise_statement . [(identifier) (attribute)] @error) @raise
(raise_statement . (call function: [(identifier) (attribute)] @error)) @raise
[(break_statement) (continue_statement)] @leave
[(module) (block)] @block

; ---------------------------------------------------------------- text

(comment) @comment
(string) @string
(expression_statement . (string) @doc .)
(expression_statement . (concatenated_string (string) @doc) .)

; ---------------------------------------------------------------- names that are provably only read

; Their value is taken and not handed on.
(comparison_operator [(identifier) @look (attribute attribute: (identifier) @look) (subscript value: [(identifier) @look (attribute attribute: (identifier) @look)])])
(binary_operator [(identifier) @look (attribute attribute: (identifier) @look) (subscript value: [(identifier) @look (attribute attribute: (identifier) @look)])])
(unary_operator [(identifier) @look (attribute attribute: (identifier) @look)])
(not_operator [(identifier) @look (attribute attribute: (identifier) @look)])
(if_statement condition: [(identifier) @look (attribute attribute: (identifier) @look)])
(elif_clause condition: [(identifier) @look (attribute attribute: (identifier) @look)])
(while_statement condition: [(identifier) @look (attribute attribute: (identifier) @look)])
(if_clause [(identifier) @look (attribute attribute: (identifier) @look)])
(assert_statement [(identifier) @look (attribute attribute: (identifier) @look)])
(interpolation expression: [(identifier) @look (attribute attribute: (identifier) @look) (subscript value: [(identifier) @look (attribute attribute: (identifier) @look)])])
(format_expression expression: [(identifier) @look (attribute attribute: (identifier) @look)])
(for_statement right: [(identifier) @look (attribute attribute: (identifier) @look)])
(for_in_clause right: [(identifier) @look (attribute attribute: (identifier) @look)])
(subscript subscript: [(identifier) @look (attribute attribute: (identifier) @look)])
(slice [(identifier) @look (attribute attribute: (identifier) @look)])

; Their value may be handed on: what does not change itself stays what it is.
(attribute object: [(identifier) @read (attribute attribute: (identifier) @read)])
(subscript value: [(identifier) @read (attribute attribute: (identifier) @read)])
(argument_list [(identifier) @read (attribute attribute: (identifier) @read)])
(keyword_argument value: [(identifier) @read (attribute attribute: (identifier) @read)])
(assignment right: [(identifier) @read (attribute attribute: (identifier) @read)])
(augmented_assignment right: [(identifier) @read (attribute attribute: (identifier) @read)])
(named_expression value: [(identifier) @read (attribute attribute: (identifier) @read)])
(default_parameter value: [(identifier) @read (attribute attribute: (identifier) @read)])
(typed_default_parameter value: [(identifier) @read (attribute attribute: (identifier) @read)])
(return_statement [(identifier) @read (attribute attribute: (identifier) @read)])
(raise_statement [(identifier) @read (attribute attribute: (identifier) @read)])
(yield [(identifier) @read (attribute attribute: (identifier) @read)])
(await [(identifier) @read (attribute attribute: (identifier) @read)])
(parenthesized_expression [(identifier) @read (attribute attribute: (identifier) @read)])
(boolean_operator [(identifier) @read (attribute attribute: (identifier) @read)])
(conditional_expression [(identifier) @read (attribute attribute: (identifier) @read)])
(expression_list [(identifier) @read (attribute attribute: (identifier) @read)])
(expression_statement [(identifier) @read (attribute attribute: (identifier) @read)])
(list [(identifier) @read (attribute attribute: (identifier) @read)])
(tuple [(identifier) @read (attribute attribute: (identifier) @read)])
(set [(identifier) @read (attribute attribute: (identifier) @read)])
(pair [(identifier) @read (attribute attribute: (identifier) @read)])
(list_splat [(identifier) @read (attribute attribute: (identifier) @read)])
(dictionary_splat [(identifier) @read (attribute attribute: (identifier) @read)])
(list_comprehension body: [(identifier) @read (attribute attribute: (identifier) @read)])
(set_comprehension body: [(identifier) @read (attribute attribute: (identifier) @read)])
(generator_expression body: [(identifier) @read (attribute attribute: (identifier) @read)])
(lambda body: [(identifier) @read (attribute attribute: (identifier) @read)])
(with_item value: [(identifier) @read (attribute attribute: (identifier) @read)])
(as_pattern . [(identifier) @read (attribute attribute: (identifier) @read)])
(except_clause value: [(identifier) @read (attribute attribute: (identifier) @read)])
(match_statement subject: [(identifier) @read (attribute attribute: (identifier) @read)])
(class_pattern (dotted_name (identifier) @read))
(decorator [(identifier) @read (attribute attribute: (identifier) @read)])
(type [(identifier) @read (attribute attribute: (identifier) @read)])
(generic_type . (identifier) @read)
(member_type (identifier) @read)
(union_type (type (identifier) @read))
