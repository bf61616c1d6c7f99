import { describe, expect, it } from 'vitest'
import { childTrace, parseTrace, traceIdOf } from './trace.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const traceparent = `00-${TRACE}-${PARENT}-01`

describe('a traceparent (W3C Trace Context)', () => {
  it('is taken as it is', () => expect(parseTrace(traceparent)).toEqual({ traceparent }))

  it.each([
    ['', 'nothing'],
    [undefined, 'nothing at all'],
    [`${traceparent}-x`, 'more than version 00 has'],
    [traceparent.slice(1), 'a short version'],
    [`ff${traceparent.slice(2)}`, 'the forbidden version'],
    [traceparent.toUpperCase(), 'capitals'],
    [`00-${'0'.repeat(32)}-${PARENT}-01`, 'a trace id of zeros'],
    [`00-${TRACE}-${'0'.repeat(16)}-01`, 'a parent id of zeros'],
    [`00-${TRACE}-${PARENT}`, 'no flags'],
    [`00-${TRACE}-${PARENT}-1`, 'short flags'],
    [`00-${TRACE}g-${PARENT}-01`, 'a long trace id'],
    [`${traceparent}, ${traceparent}`, 'two headers'],
    [` ${traceparent}`, 'white space'],
    [`${traceparent}\n`, 'a line break'],
  ])('%j counts as none because of %s', (text, _what) =>
    expect(parseTrace(text, 'a=1')).toBeUndefined(),
  )

  it('of a later version is handed on as version 00, with the flags that we know', () => {
    expect(parseTrace(`01-${TRACE}-${PARENT}-ff-what-the-future-brings`)).toEqual({
      traceparent: `00-${TRACE}-${PARENT}-03`,
    })
    expect(parseTrace(`cc-${TRACE}-${PARENT}-00`)).toEqual({
      traceparent: `00-${TRACE}-${PARENT}-00`,
    })
    expect(parseTrace(`cc-${TRACE}-${PARENT}-00.more`)).toBeUndefined()
  })

  it('leads to children of the same trace and flags, each with a new parent id', () => {
    const trace = { traceparent, tracestate: 'a=1' }
    expect(childTrace(trace, (length) => new Uint8Array(length).fill(10))).toEqual({
      traceparent: `00-${TRACE}-${'0a'.repeat(8)}-01`,
      tracestate: 'a=1',
    })
    expect(traceIdOf(trace)).toBe(TRACE)
  })
})

describe('a tracestate', () => {
  const stateOf = (text: string) => parseTrace(traceparent, text)?.tracestate
  it.each([
    ['rojo=00f067aa0ba902b7,congo=t61rcWkgMzE', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'],
    ['a=1 , ,\tb=2,', 'a=1,b=2'],
    ['tenant@vendor=x y', 'tenant@vendor=x y'],
  ])('%j is handed on', (text, state) => expect(stateOf(text)).toBe(state))

  const many = (count: number) => Array.from({ length: count }, (_, n) => `k${n}=v`).join(',')
  it.each([
    '',
    ' , ',
    'a',
    'a=',
    '=1',
    'A=1',
    'a=1,a=2',
    'a=\x07',
    'a=b=c',
    many(33),
    `a=${'x'.repeat(257)}`,
    `a=${'x'.repeat(250)},b=${'y'.repeat(250)},c=${'z'.repeat(9)}`,
  ])('%j is not, and its traceparent is', (text) => {
    expect(parseTrace(traceparent, text)).toEqual({ traceparent })
  })
  it('has room for 512 characters', () => {
    const long = (last: number) => `a=${'x'.repeat(250)},b=${'y'.repeat(250)},c=${'z'.repeat(last)}`
    expect([stateOf(long(4)), stateOf(long(5))]).toEqual([long(4), undefined])
  })
  it('has room for 32', () => expect(stateOf(many(32))).toBe(many(32)))
})
