"""The core operator: a PodCliqueSet in, PodCliques, Pods and neutral PodGangs out.

It decides what a workload consists of and when a gang may start. It refuses to know any
scheduler's API: what a scheduler needs reaches it as data in SchedulerBackend records.
"""
