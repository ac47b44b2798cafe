"""The backend controllers: one process per scheduler, one pure translator each.

A backend turns the PodGangs that carry its label into objects that its scheduler
understands and mirrors the scheduler's answer back. It never creates pods and never
imports the core operator; PodGang and SchedulerBackend are all that the two share.
"""
