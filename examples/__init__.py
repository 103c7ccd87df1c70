"""What `sluice examples` lists and copies; an installed package brings it (docs/installing.md)."""
