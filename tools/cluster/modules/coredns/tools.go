//go:build tools

// Package dns pins the cluster's DNS server for go.sum; nothing here is compiled.
package dns

import _ "github.com/coredns/coredns"
