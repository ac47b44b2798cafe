// The control plane of Kubernetes 1.35.
package main

import "local-cluster/multicall"

func main() { multicall.Main() }
