"""What every backend uses whose hosts are outside of the cluster.

`executor` is the protocol with which the far side is reached, and its values. `api` has the kinds
and projections. `translation` writes a gang as a RemoteGang and reports its progress; `unsupported`
finds what of a pod cannot be honoured there. `dialect` declares both for a backend. `steps`
decides what to do next for a gang, and `pod_status` computes the status of a pod from what runs for
it. All modules are pure.
"""
