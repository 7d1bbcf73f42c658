//go:build tools

// Package tools pins the program that installs the plugin.
package tools

import _ "sigs.k8s.io/krew/cmd/krew"
