; JavaScript: what only its own grammar has. The captures are those of README.md.

(class_declaration name: (identifier) @name) @type
(class_declaration (class_heritage (_) @base)) @type
(class (class_heritage (_) @base)) @type
(class_heritage [(identifier) @read (member_expression object: (identifier)? @read property: (_) @read)])
(class name: (identifier) @bind)
(method_definition decorator: (decorator) @decorator) @function

(formal_parameters (identifier) @name @parameter)
(formal_parameters (assignment_pattern left: (identifier) @name right: (_) @content) @parameter)
((formal_parameters (rest_pattern (identifier) @name) @parameter) (#set! "variadic"))
((formal_parameters [(object_pattern) (array_pattern) (rest_pattern)
  (assignment_pattern left: [(object_pattern) (array_pattern)])] @name @parameter) (#set! "variadic"))

(formal_parameters (object_pattern (shorthand_property_identifier_pattern) @bind))

(class_body (field_definition property: [
  (property_identifier) (private_property_identifier) (string) (number)] @name) @value)
((class_body (field_definition property: (_)) @value) (#set! "kind" "variable"))
(field_definition value: (_) @content) @value
(field_definition decorator: (decorator) @decorator) @value
((class_body (field_definition property: [(property_identifier) (private_property_identifier)] @name
    value: [(arrow_function) (function_expression) (generator_function)] @function) @whole)
  (#set! "kind" "method"))
((field_definition "static" value: [(arrow_function) (function_expression) (generator_function)] @function)
  (#set! "kind" "static"))
(field_definition value: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
