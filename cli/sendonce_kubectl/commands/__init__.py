"""The commands of `kubectl campaign`, a module for each subject."""
