//go:build tools

// Package kai pins the programs that are built from this module.
package kai

import (
	_ "github.com/kai-scheduler/KAI-scheduler/cmd/binder"
	_ "github.com/kai-scheduler/KAI-scheduler/cmd/podgrouper"
	_ "github.com/kai-scheduler/KAI-scheduler/cmd/scheduler"
)
