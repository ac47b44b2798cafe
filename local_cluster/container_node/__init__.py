"""A node that runs containers: containerd, a kubelet and a bridge network, all real.

The node has its own process, mount and network namespaces. The kernel removes its processes, mounts
and network devices with the node's first process, so nothing stays behind however the node ends.
Pods reach each other, the API server and the cluster's DNS, and nothing outside of the machine.
"""
