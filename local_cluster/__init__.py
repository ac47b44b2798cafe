"""A real Kubernetes control plane on one machine, for the demo, the tests and the benchmarks.

etcd, kube-apiserver, kube-controller-manager and kube-scheduler are the real programs, built
from published Go modules. kwok simulates the workload nodes. One *process node* runs the product's
own Deployments as processes. Use `python -m local_cluster` from a shell,
`local_cluster.cluster.Cluster` from Python and `local_cluster.pytest_plugin` from tests.

It imports only `shared_api.names` of the product, so that the tested code is not the testing code.
It never reads or writes the user's kubeconfig unless a context is given.
"""
