; Where the keys and values of TOML stand. `@table` and `@element` are headers; `@part` is one part of a dotted key.
(pair) @pair
(table) @table
(table_array_element) @element
[(bare_key) (quoted_key)] @part
(array [(string) (integer) (float) (boolean) (offset_date_time) (local_date_time) (local_date) (local_time)
        (inline_table) (array)] @item)
[(string) (integer) (float) (boolean) (offset_date_time) (local_date_time) (local_date) (local_time)] @scalar
(inline_table) @mapping
(array) @list
