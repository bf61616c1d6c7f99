import type { JsonObject } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { parseHttpOptions } from './http-runtime-options.js'

const url = 'https://agent.example/run'
const parse = (options: JsonObject) => parseHttpOptions(options, 'X-Service')
const problemOf = (options: JsonObject) =>
  parse(options).match(
    () => undefined,
    (problem) => problem,
  )
const headers = (name: string, value = 'x') => ({ url, headers: { [name]: value } })

describe('options of an http agent', () => {
  it('can be shown without the headers', () => {
    const parsed = parse({
      url,
      timeoutMs: 30_000,
      headers: { Authorization: 'Bearer secret', 'X-Tenant': 'Zoë' },
    })._unsafeUnwrap()
    expect(parsed.options).toEqual({ url, timeoutMs: 30_000, headers: { set: true } })
    expect(parsed.secrets).toEqual({
      headers: { Authorization: 'Bearer secret', 'X-Tenant': 'Zoë' },
    })
    expect(JSON.stringify(parsed.options)).not.toMatch(/secret|Tenant/)
  })

  it('need only a url', () => {
    expect(parse({ url })._unsafeUnwrap()).toEqual({ url, options: { url }, secrets: {} })
  })

  it.each<[JsonObject, string]>([
    [{}, 'url is required'],
    [{ url: 7 }, 'url must be a string'],
    [{ url, color: 'red' }, 'color is not an option of http agents'],
    [{ url, timeoutMs: '5' }, 'timeoutMs must be a whole number'],
    [{ url, timeoutMs: 1.5 }, 'timeoutMs must be a whole number'],
    [{ url, timeoutMs: 0 }, 'timeoutMs must be at least 1'],
    [{ url, timeoutMs: 86_400_001 }, 'timeoutMs must be at most 86400000'],
    [{ url, headers: ['a'] }, 'headers must be an object'],
    [{ url, headers: 'a: b' }, 'headers must be an object'],
    [{ url, headers: { set: true } }, 'headers.set must be a string'],
    [{ url, headers: { 'X-A': null } }, 'headers.X-A must be a string'],
  ])('%j: %s', (options, problem) => expect(problemOf(options)).toBe(problem))

  it.each(['', 'a b', 'a\r\nb', 'a:b', 'ü', 'a\0', 'a'.repeat(129)])(
    'reject the header name %j',
    (name) => {
      expect(problemOf(headers(name))).toBe(
        "headers must have names of 1 to 128 characters, each a letter, a digit or one of !#$%&'*+-.^_`|~",
      )
    },
  )

  it.each(['a\r\nb: c', 'a\nb', 'a\0b', '→', '\x7f', '\ud800'])(
    'reject the header value %j',
    (value) => {
      expect(problemOf(headers('X-A', value))).toBe(
        'headers.X-A must not contain line breaks, control characters or characters beyond Latin-1',
      )
    },
  )

  it('reject long values and too many headers', () => {
    expect(problemOf(headers('X-A', 'x'.repeat(8_192)))).toBeUndefined()
    expect(problemOf(headers('X-A', 'x'.repeat(8_193)))).toBe(
      'headers.X-A must have at most 8192 characters',
    )
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`x-${i}`, 'x']))
    expect(problemOf({ url, headers: many })).toBe('headers must be at most 32')
  })

  const ours = [
    'Content-Type',
    'content-length',
    'HOST',
    'Transfer-Encoding',
    'connection',
    'Keep-Alive',
    'upgrade',
    'Expect',
    'TE',
    'trailer',
    'accept-encoding',
    'user-agent',
  ]
  it.each([
    ...ours,
    'Idempotency-Key',
    'webhook-id',
    'Webhook-Signature',
    'webhook-timestamp',
    'X-Service-Signature',
    'x-service-anything',
  ])('reject %s, which the service sets', (name) => {
    expect(problemOf(headers(name))).toBe(`headers.${name} is set by the service itself`)
  })

  it('reject headers with the operator’s prefix', () => {
    expect(parseHttpOptions(headers('X-Acme-Event'), 'X-Acme').isErr()).toBe(true)
    expect(parseHttpOptions(headers('X-Service-Event'), 'X-Acme').isOk()).toBe(true)
  })

  it('are not changed by a header named __proto__', () => {
    const parsed = parse(
      JSON.parse(`{"url":"${url}","headers":{"__proto__":"x","X-A":"y"}}`) as JsonObject,
    )
    expect(parsed.isOk() && Object.getPrototypeOf(parsed.value.secrets['headers'])).toBe(
      Object.prototype,
    )
    expect(({} as Record<string, unknown>)['X-A']).toBeUndefined()
  })
})
