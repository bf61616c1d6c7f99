import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../values/json.js'
import { answerFields, answerOfForm } from './answer-form.js'

const order: JsonObject = {
  type: 'object',
  properties: {
    number: { type: 'integer', title: 'Order' },
    size: { enum: ['S', 'L'] },
    isGift: { type: 'boolean' },
    note: { type: 'string' },
    more: { type: 'array' },
  },
  required: ['number'],
}

describe('the form of an answer', () => {
  it.each([
    [{}, ['value Answer text ']],
    [{ options: ['a', 'b'] }, ['value Answer choice a,b']],
    [{ schema: { type: 'boolean' } }, ['value Answer boolean true,false']],
    [{ schema: { anyOf: [{}] } }, ['value Answer json ']],
    [
      { schema: { type: 'object', properties: { any: true }, required: 'any' } },
      ['value.any any json '],
    ],
    [
      { schema: order },
      [
        'value.number Order number ',
        'value.size size choice S,L',
        'value.isGift isGift boolean true,false',
        'value.note note text ',
        'value.more more json ',
      ],
    ],
  ])('of %j has the fields %j', (asked, fields) => {
    const shown = answerFields(asked).map(
      ({ name, label, kind, choices }) => `${name} ${label} ${kind} ${choices.join()}`,
    )
    expect(shown).toEqual(fields)
  })

  it.each<[object, Record<string, string>, unknown]>([
    [{}, { value: '7' }, '7'],
    [{}, {}, ''],
    [{ options: ['a'] }, { value: 'a' }, 'a'],
    [{ schema: { type: 'boolean' } }, { value: 'true' }, true],
    [{ schema: { type: 'number' } }, { value: '1.5' }, 1.5],
    [{ schema: { type: 'number' } }, { value: 'many' }, 'many'],
    [{ schema: { type: 'array' } }, { value: '[1]' }, [1]],
    [
      { schema: order },
      {
        'value.number': '7',
        'value.size': 'L',
        'value.isGift': 'false',
        'value.note': '',
        stray: '',
      },
      { number: 7, size: 'L', isGift: false },
    ],
    [{ schema: order }, {}, { number: '' }],
  ])('of %j with %j gives %j', (asked, texts, value) => {
    expect(answerOfForm(asked, (name) => texts[name])).toEqual(value)
  })
})
