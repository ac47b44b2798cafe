"""The controllers of a backend whose hosts are outside of the cluster.

They run beside the generic controllers in the same process. `gang_reconciler` carries out the steps
of a RemoteGang, `virtual_node` keeps the Node that its pods are bound to, and `assembly` wires both to
the executor. `kubelet_endpoint` answers `kubectl logs`.
"""
