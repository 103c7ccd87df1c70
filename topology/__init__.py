"""The running system: Faust app, lanes, observers, command line."""
