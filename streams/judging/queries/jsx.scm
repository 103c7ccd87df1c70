; Elements in JavaScript and TypeScript. The captures are those of README.md.

(jsx_text) @string
(jsx_expression [(identifier) @read (member_expression object: (identifier)? @look property: (_) @read)])
(jsx_opening_element name: (identifier) @read)
(jsx_closing_element name: (identifier) @read)
(jsx_self_closing_element name: (identifier) @read)
(jsx_attribute (property_identifier) @keyword)
