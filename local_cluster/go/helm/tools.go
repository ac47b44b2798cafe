//go:build tools

// Package helm pins the programs that are built from this module.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
