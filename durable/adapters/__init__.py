"""Adapters: the only code that speaks to a vendor. Plain functions; tools are declared above them.

What an adapter may raise, and when (`durable.errors`):

- `NotSent`: the vendor certainly did not act on this request: no connection, 429, a credential that it does
  not take.
- `VendorRefused`: a readable, definitive no to this request. It says nothing of an earlier request under the
  same key whose answer was lost; who has sent before must look up before believing in a failure.
- `InDoubt`: everything else, as soon as one byte may have left.
- `CannotSay`: a look-up that could not answer, whatever the reason. Never an absence.
"""
