//go:build tools

// Package koordinator pins the program that is built from this module.
package koordinator

import _ "github.com/koordinator-sh/koordinator/cmd/koord-scheduler"
