"""The backend controllers: one process per scheduler, one pure translator each.

A backend translates the PodGangs that have its label into objects of its scheduler, and writes the
scheduler's answer into their status. It must not create pods or import the core operator; the two
share only PodGang and SchedulerBackend.
"""
