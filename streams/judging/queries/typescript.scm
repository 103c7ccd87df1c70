; TypeScript: what only its own grammar has. The captures are those of README.md.

; ---------------------------------------------------------------- functions

(_ return_type: (type_annotation (type) @result)) @function
(_ return_type: (type_predicate_annotation (type_predicate) @result)) @function

((function_signature name: (identifier) @name) @function (#set! "declared"))
((class_body (method_signature name: (property_identifier) @name) @function) (#set! "declared"))
(class_body (abstract_method_signature name: (property_identifier) @name) @function)
(interface_body (method_signature name: (property_identifier) @name) @function)
(type_alias_declaration value: (object_type (method_signature name: (property_identifier) @name) @function))
[(method_signature) (call_signature) (construct_signature) (function_type) (constructor_type)] @function
(class_body (decorator) @decorator . (method_definition) @function)
((method_definition parameters: (formal_parameters . (required_parameter pattern: (this)))) @function
  (#set! "kind" "rebound"))

(required_parameter pattern: (identifier) @name) @parameter
(optional_parameter pattern: (identifier) @name) @parameter
(required_parameter type: (type_annotation (type) @annotation)) @parameter
(optional_parameter type: (type_annotation (type) @annotation)) @parameter
(required_parameter value: (_) @content) @parameter
((required_parameter pattern: (rest_pattern (identifier) @name)) @parameter (#set! "variadic"))
((required_parameter pattern: [(object_pattern) (array_pattern)] @name) @parameter (#set! "variadic"))
((optional_parameter pattern: [(object_pattern) (array_pattern)] @name) @parameter (#set! "variadic"))
(required_parameter pattern: (object_pattern (shorthand_property_identifier_pattern) @bind))
((required_parameter [(accessibility_modifier) "readonly" (override_modifier)] pattern: (identifier) @name) @attribute
  (#set! "own"))
((optional_parameter [(accessibility_modifier) "readonly" (override_modifier)] pattern: (identifier) @name) @attribute
  (#set! "own"))
(required_parameter [(accessibility_modifier) "readonly"] type: (type_annotation (type) @annotation)) @attribute
(optional_parameter [(accessibility_modifier) "readonly"] type: (type_annotation (type) @annotation)) @attribute
(required_parameter value: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])

; ---------------------------------------------------------------- types

(class_declaration name: (type_identifier) @name) @type
(abstract_class_declaration name: (type_identifier) @name body: (class_body) @body) @type
(abstract_class_declaration decorator: (decorator) @decorator) @type
(export_statement declaration: (abstract_class_declaration) @type) @whole
(export_statement decorator: (decorator) @decorator declaration: (abstract_class_declaration) @type)
(class_declaration (class_heritage [(extends_clause value: (_) @base) (implements_clause (type) @base)])) @type
(abstract_class_declaration (class_heritage [(extends_clause value: (_) @base) (implements_clause (type) @base)])) @type
(class (class_heritage [(extends_clause value: (_) @base) (implements_clause (type) @base)])) @type
(class name: (type_identifier) @bind)
(interface_declaration name: (type_identifier) @name body: (interface_body) @body) @type
(interface_declaration (extends_type_clause type: (_) @base)) @type
(export_statement declaration: (interface_declaration) @type) @whole
((enum_declaration name: (identifier) @name body: (enum_body) @body) @type (#set! "kind" "enumeration"))
((enum_declaration) @type (#set! "kind" "type"))
(export_statement declaration: (enum_declaration) @type) @whole
((type_alias_declaration name: (type_identifier) @name) @type (#set! "open"))
(type_alias_declaration value: (object_type) @body) @type
((interface_declaration body: (interface_body (index_signature))) @type (#set! "open"))
((class_declaration body: (class_body (index_signature))) @type (#set! "open"))
(internal_module name: [(identifier) (string)] @name body: (_) @body) @space
(internal_module name: (nested_identifier object: (_) @owner property: (_) @name) body: (_) @body) @space
(module name: [(identifier) (string)] @name body: (_) @body) @space
(module name: (nested_identifier object: (_) @owner property: (_) @name) body: (_) @body) @space

; ---------------------------------------------------------------- values

(variable_declarator type: (type_annotation (type) @annotation)) @value
((ambient_declaration (_ (variable_declarator name: (identifier)) @value)) (#set! "declared"))
(variable_declarator name: (identifier) @owner
  value: [(as_expression (object) @table) (satisfies_expression (object) @table)])
(class_body (public_field_definition name: [
  (property_identifier) (private_property_identifier) (string) (number)] @name) @value)
((class_body (public_field_definition name: (_)) @value) (#set! "kind" "variable"))
((public_field_definition "static" "readonly") @value (#set! "kind" "constant"))
(public_field_definition type: (type_annotation (type) @annotation)) @value
(public_field_definition value: (_) @content) @value
(public_field_definition decorator: (decorator) @decorator) @value
((class_body (public_field_definition name: [(property_identifier) (private_property_identifier)] @name
    value: [(arrow_function) (function_expression) (generator_function)] @function) @whole)
  (#set! "kind" "method"))
((public_field_definition "static" value: [(arrow_function) (function_expression) (generator_function)] @function)
  (#set! "kind" "static"))
(public_field_definition value: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
((interface_body (property_signature name: [(property_identifier) (string)] @name) @value) (#set! "kind" "variable"))
((type_alias_declaration value: (object_type (property_signature name: [(property_identifier) (string)] @name) @value))
  (#set! "kind" "variable"))
(property_signature type: (type_annotation (type) @annotation)) @value
((enum_body name: [(property_identifier) (string)] @name @value) (#set! "kind" "constant"))
((enum_body (enum_assignment name: [(property_identifier) (string)] @name value: (_) @content) @value)
  (#set! "kind" "constant"))

; ---------------------------------------------------------------- imports and names

(import_statement (import_require_clause (identifier) @alias source: (string) @module)) @import
((import_statement (import_require_clause source: (string) @_module)) @import
  (#match? @_module "^.\\.") (#set! "relative"))
(import_alias (identifier) @bind)
(type_parameter name: (type_identifier) @bind)
(infer_type (type_identifier) @bind)
(mapped_type_clause name: (type_identifier) @bind)
(type_identifier) @read
(nested_type_identifier module: (identifier) @read)
(type_query [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(extends_clause value: [(identifier) @read (member_expression object: (identifier)? @read property: (_) @read)])
(enum_assignment value: [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(satisfies_expression . (identifier) @read)
