"""The policy: what an operator chooses about deciding, read from TOML and written as TOML."""

# pyright: reportUnsupportedDunderAll=false
__all__ = ["adoption_rule", "identifiers", "keys", "policy", "privacy", "signed_policies", "toml_reader", "toml_writer"]
