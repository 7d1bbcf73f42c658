"""The `sendonce` command: runs, shows and proves campaigns from one machine."""
