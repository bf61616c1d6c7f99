import { expect, it } from 'vitest'
import { accepted, refused, unreachable } from '@org/agent-messaging-testing'
import { verdictOn } from './webhook-limit.js'

it.each([
  ['a 2xx', accepted(204), 'accepted'],
  ['a 429', refused(429), 'refused'],
  ['a 502', refused(502), 'refused'],
  ['a 503', refused(503), 'refused'],
  ['a 504', refused(504), 'refused'],
  ['a 500', refused(500), 'failed'],
  ['a 404', refused(404), 'failed'],
  ['a timeout', unreachable('timeout'), 'refused'],
  ['a refused connection', unreachable('connect'), 'refused'],
  ['a broken connection', unreachable('reset'), 'refused'],
  ['a failed TLS handshake', unreachable('tls'), 'refused'],
  ['an unknown host', unreachable('dns'), 'failed'],
  ['an interruption by the service', unreachable('interrupted'), undefined],
  ['a secret that cannot be opened', unreachable('unsealable_secret'), undefined],
] as const)('the verdict on %s', (_, outcome, verdict) => {
  expect(verdictOn(outcome)).toBe(verdict)
})
