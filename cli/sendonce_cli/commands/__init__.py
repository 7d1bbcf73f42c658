"""The commands of `sendonce`, one module per command or group of commands."""
