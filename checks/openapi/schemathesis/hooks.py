"""Gives each request an address of its own: the server locks one that guesses credentials."""

import ipaddress
import itertools

import schemathesis

numbers = itertools.count(int(ipaddress.ip_address("10.0.0.1")))


def with_own_address(request):
    request.headers["X-Forwarded-For"] = str(ipaddress.ip_address(next(numbers)))
    return request


@schemathesis.hook
def before_call(context, case, kwargs):
    kwargs["auth"] = with_own_address
