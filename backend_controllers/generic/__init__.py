"""The controllers that are the same for every scheduler.

They find out what the cluster serves, register the backend, write what its translator says
and tell of gangs what their pods and the scheduler say. No module here names a scheduler.
"""
