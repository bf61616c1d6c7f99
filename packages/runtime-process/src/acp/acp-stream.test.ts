import { expect, it } from 'vitest'
import { fieldsOf } from './acp-stream.js'

const update = { content: { text: '"sessionId":"of the text"', sessionId: 'of the content' } }

it.each([
  [
    { jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update } },
    { method: 'session/update', sessionId: 's' },
  ],
  [
    { params: { _meta: { id: 1 }, sessionId: 's' }, id: 2, method: 'm' },
    { id: 2, method: 'm', sessionId: 's' },
  ],
  [{ params: { update } }, {}],
  [{ params: [{ sessionId: 's' }, 's'] }, {}],
  [{ id: 'x', result: { sessionId: 's' } }, { id: 'x' }],
  [{ id: null, error: { code: -1, id: 4 } }, {}],
  [{ id: { id: 1 }, method: ['m'], params: 'sessionId' }, {}],
])('reads the fields of %j', (message, fields) => {
  expect(fieldsOf(JSON.stringify(message))).toEqual(fields)
  expect(fieldsOf(JSON.stringify(message, null, 2))).toEqual(fields)
})

it('reads the start of a message that is cut', () => {
  const params = { sessionId: 's', update: { text: 'a "quoted" text, '.repeat(9_999) } }
  const whole = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'm', params })
  for (const length of [100, 1_000, 100_000])
    expect(fieldsOf(whole.slice(0, length))).toEqual({ id: 7, method: 'm', sessionId: 's' })
  expect(fieldsOf(whole.slice(0, 30))).toEqual({ id: 7 })
})

it('reads nothing from text that is not JSON', () => {
  for (const text of ['', 'Welcome!', '{', '{"id":', '{id:1}', '{"id"1}'])
    expect(fieldsOf(text)).toEqual({})
})
