"""The controllers that are the same for every scheduler.

They discover what the cluster serves, register the backend, write the objects that its translator
returns, and write the status of gangs. No module here may name a scheduler.
"""
