// The control plane of Kubernetes 1.37.
package main

import "local-cluster/multicall"

func main() { multicall.Main() }
