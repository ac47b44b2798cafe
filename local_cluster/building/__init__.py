"""From committed go.mod files to programs in the per-user cache.

A build is keyed by the content of what goes into it, so a second `up` builds nothing and a
changed pin builds only what it touches. Compiling is Go's business and its cache's; this
package finds a toolchain, shows progress, and puts finished programs where they are found.
"""
