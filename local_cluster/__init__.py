"""A real Kubernetes control plane on one machine, for the demo, the tests and the benchmarks.

etcd, kube-apiserver, kube-controller-manager and kube-scheduler are the real programs, built
from published Go modules; workload nodes are played by kwok; one *process node* runs the
product's own Deployments as processes. `python -m local_cluster` is the shell's way in,
`local_cluster.cluster.Cluster` Python's, and `local_cluster.pytest_plugin` the tests'.

It imports nothing of the product but its names, so that what is tested cannot lean on what
tests it. It never reads or writes the user's kubeconfig unless a context is named.
"""
