import { describe, expect, it } from 'vitest'
import {
  customHeadersProblem,
  withCustomHeaders,
  withoutHeaderValues,
  withRedactedHeaders,
} from './custom-headers.js'

const rules = { maxHeaders: 3, maxValueLength: 10, headerPrefix: 'X-Service' }
const problemOf = (...entries: [string, string][]) =>
  customHeadersProblem(Object.fromEntries(entries), rules)

describe('custom headers', () => {
  it("can be any sendable headers except the service's", () => {
    expect(
      problemOf(['Authorization', 'Bearer é'], ['x-api-key', ''], ["!#$%&'*+.^_`|~", 'a\tb']),
    ).toBeUndefined()
    expect(problemOf(['X-Serviceable', 'x'], ['webhook', 'x'])).toBeUndefined()
  })

  it('can have any prefix if the service has none', () => {
    const own = { maxHeaders: 3, maxValueLength: 10 }
    expect(customHeadersProblem({ 'X-Service-Mine': 'x' }, own)).toBeUndefined()
  })

  it.each([
    ...[
      'X-Service-Signature',
      'x-service-anything',
      'webhook-id',
      'Webhook-Anything',
      'Content-Type',
      'content-length',
      'HOST',
    ],
    ...[
      'Connection',
      'Keep-Alive',
      'Transfer-Encoding',
      'TE',
      'Trailer',
      'Upgrade',
      'Expect',
      'Proxy-Authorization',
      'Proxy-Connection',
    ],
    ...[
      'User-Agent',
      'Accept-Encoding',
      'Content-Encoding',
      'Idempotency-Key',
      'Traceparent',
      'tracestate',
    ],
  ])('are not %s, which is ours', (name) => {
    expect(problemOf([name, 'x'])).toEqual({
      path: `headers.${name}`,
      message: 'is set by the service itself',
    })
  })

  it.each(['', 'a b', 'a\r\nb', 'a:b', 'ü', 'a\0', 'a'.repeat(129)])(
    'have no name such as %j',
    (name) => {
      expect(problemOf([name, 'x'])).toEqual({
        path: 'headers',
        message:
          "must have names of 1 to 128 characters, each a letter, a digit or one of !#$%&'*+-.^_`|~",
      })
    },
  )

  it.each(['a\r\nb: c', 'a\n', 'a\r', 'a\0b', '→', '\x7f', '\ud800'])(
    'have no value such as %j',
    (value) => {
      const message =
        'must not contain line breaks, control characters or characters beyond Latin-1'
      expect(problemOf(['X-A', value])).toEqual({ path: 'headers.X-A', message })
    },
  )

  it('are few, short and each there once', () => {
    expect(problemOf(['a', ''], ['b', ''], ['c', ''], ['d', ''])).toEqual({
      path: 'headers',
      message: 'must be at most 3',
    })
    expect(problemOf(['X-A', 'x'.repeat(10)])).toBeUndefined()
    expect(problemOf(['X-A', 'x'.repeat(11)])).toEqual({
      path: 'headers.X-A',
      message: 'must have at most 10 characters',
    })
    expect(problemOf(['X-A', '1'], ['x-a', '2'])).toEqual({
      path: 'headers.x-a',
      message: 'is there twice',
    })
  })

  it('are removed from texts: a value with or without its scheme, and a value inside another one', () => {
    const custom = {
      Authorization: 'Bearer canary-7f',
      a: '12345678',
      b: '12345678-and-more',
      short: 'seven77',
    }
    const said = 'Bearer canary-7f, canary-7f, 12345678, 12345678-and-more, seven77'
    expect(withoutHeaderValues(said, custom)).toBe(
      '[redacted], [redacted], [redacted], [redacted], seven77',
    )
  })

  it("add to the service's headers and never replace them, in any case", () => {
    const ours = { 'X-New-Event': 'e', 'webhook-id': '1' }
    const custom = JSON.parse(
      '{"x-new-event":"forged","WEBHOOK-ID":"2","Authorization":"a","__proto__":"b"}',
    ) as Record<string, string>
    const both = withCustomHeaders(ours, custom)
    expect(Object.entries(both)).toEqual([
      ['Authorization', 'a'],
      ['__proto__', 'b'],
      ...Object.entries(ours),
    ])
    expect(Object.getPrototypeOf(both)).toBe(Object.prototype)
    const redacted = Object.entries(withRedactedHeaders(ours, custom))
    expect(redacted).toEqual([
      ['Authorization', '[redacted]'],
      ['__proto__', '[redacted]'],
      ...Object.entries(ours),
    ])
  })
})
