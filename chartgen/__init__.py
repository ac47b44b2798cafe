"""Generates the Helm chart `deploy/chart` from the kustomize bases and the CRDs.

It owns the mapping from manifests to templates and values. The manifests in deploy/ stay the only
source: a setting, a right or a policy is never written for the chart a second time.
"""
