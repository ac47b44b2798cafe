"""`kubectl gang dashboard`: a page on loopback that shows gangs live, with the user's own rights.

Data flows one way: watches fill caches, changed objects mark documents as stale, pure functions of
`Snapshot` make the documents again, and a store hands the changed ones to every open page. Nothing
here writes to the cluster, and the page has no button that could.
"""
