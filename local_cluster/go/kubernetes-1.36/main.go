// The control plane of Kubernetes 1.36.
package main

import "local-cluster/multicall"

func main() { multicall.Main() }
