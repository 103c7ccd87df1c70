; Where the keys and values of JSON stand. `@pair` and `@item` are entries, `@part` is a key; the others are values.
(pair key: (string) @part) @pair
(array [(string) (number) (true) (false) (null) (object) (array)] @item)
(pair value: [(string) (number) (true) (false) (null)] @scalar)
(array [(string) (number) (true) (false) (null)] @scalar)
(document [(string) (number) (true) (false) (null)] @scalar)
(object) @mapping
(array) @list
