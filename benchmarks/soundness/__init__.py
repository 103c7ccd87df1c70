"""Whether the judge is ever wrong: facts that oracles know of real packages, held against it (README.md)."""
