"""The policies that the package has, as TOML: `reference` and `strict` (docs/checks.md)."""
