//go:build tools

// Package yunikorn pins the program that is built from this module.
package yunikorn

import (
	_ "github.com/apache/yunikorn-k8shim/pkg/cmd/shim"
)
