"""What shows that nothing happens twice and nothing is lost. Nothing of the engine imports it.

`proof.worker` is a Celery worker that dies at a named point, `proof.story` a story of four refunds on real processes.
Faults are armed by code in the process that is to die; no setting, variable or request of the product reaches them.
"""
