"""Makes the files of a release: manifests, chart, bill of materials, provenance, checksums, image."""
