// The kubelet of Kubernetes 1.36, for the node that runs containers. Its pins are those of
// kubernetes-1.36, so it shares that module's compile cache.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() { os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background()))) }
