"""The policy: what an operator chooses about deciding, read from TOML and written as TOML."""

# pyright: reportUnsupportedDunderAll=false
__all__ = [
    "keys",
    "policy",
    "policy_toml",
    "privacy",
]
